//! Permission rules: whether a call is allowed, needs approval, or is denied.
//!
//! Deny rules take precedence over ask rules, and ask rules over allow rules; without a matching rule the default mode
//! decides. A rule is a tool's canonical name, optionally with a pattern in parentheses: for a command, a path, an address
//! or a name. This crate has no side effects: an operation states its [`PermissionRequest`]s, the policy answers with a
//! [`Judgement`], and the engine acts on it.

mod arguments;
mod bytes;
mod command_glob;
mod command_mistakes;
mod denied_paths;
mod guard;
mod lifted_paths;
mod mode;
mod named_files;
mod network;
mod path_mistakes;
mod pattern;
mod permission_request;
mod redirect_policy;
mod repository;
mod rule;
mod rule_effect;
mod secret_paths;
mod shell;
pub mod starts;
mod text;
mod url;
mod verdict;
mod words;

pub use denied_paths::DeniedPaths;
pub use guard::{ReadGuard, ReadGuards};
pub use mode::PolicyMode;
pub use network::{NETWORK, NetworkPolicy, NetworkVerdict};
pub use permission_request::{CommandLine, FETCH, FilePath, Operand, PermissionRequest, PermissionRequests};
pub use redirect_policy::RedirectPolicy;
pub use starts::{DeniedStarts, StartRules, StartVerdict};
pub use text::{Examples, PolicyText, RuleText, SETTINGS_PARTS, check_parts};
pub use verdict::{Judgement, Verdict};

use beamai_base::{Entry, PathWay, Result};
use beamai_isolation::{SandboxMode, SandboxSettings, secrets};
use beamai_path_rules::PathRoots;
use beamai_workspace::{Workspace, decode_path};
use denied_paths::about_reading;
use guard::FileGuard;
use lifted_paths::LiftedPaths;
use pattern::RulePattern;
use rule::{PermissionRule, RuleNames};
use secret_paths::{SecretPaths, naming};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A policy that has been checked.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    allow: Vec<PermissionRule>,
    ask: Vec<PermissionRule>,
    deny: Vec<PermissionRule>,
    default: PolicyMode,
    roots: PathRoots,
    secrets: SecretPaths,
    lifted: LiftedPaths,
    /// Variables of the host that commands get.
    passed: Vec<String>,
    /// Whether a sandbox enforces deny rules for files, so that they need not be judged by the words of a command.
    is_enforced: bool,
    denied_starts: DeniedStarts,
}

impl Policy {
    /// Checks a policy's rules and their examples. `rules` are the canonical names, `rule_of` gives that of a built-in
    /// tool.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule, an example that it does not hold for, a name that looks misspelt,
    /// and the name of a tool where its canonical name is meant.
    pub fn new(
        text: &PolicyText,
        rules: &[&str],
        rule_of: &dyn Fn(&str) -> Option<String>,
        workspace: &Workspace,
    ) -> Result<Self> {
        let (names, roots) = (RuleNames { rules, rule_of }, PathRoots::of(workspace));
        let list = |texts: &[RuleText]| {
            texts
                .iter()
                .map(|text| PermissionRule::new(&text.examples(), &names, &roots))
                .collect::<Result<_>>()
        };
        let text = text.whole(rules, rule_of)?;
        let (allow, ask, deny): (Vec<PermissionRule>, Vec<PermissionRule>, Vec<PermissionRule>) =
            (list(&text.allow)?, list(&text.ask)?, list(&text.deny)?);
        ask.iter().chain(&deny).try_for_each(PermissionRule::check_reach)?;
        let commands: Vec<_> = allow.iter().filter_map(PermissionRule::command).collect();
        allow.iter().try_for_each(|rule| rule.check_effect(&commands, &roots))?;
        let denied_starts = DeniedStarts::by(&deny, &roots);
        Ok(Self { allow, ask, deny, default: text.default, roots, denied_starts, ..Self::default() })
    }

    /// The policy for a host with this sandbox: tools refuse the secrets that the sandbox hides from commands and
    /// changes of the user's own settings, file rules that the sandbox enforces are not judged by the words of
    /// commands, and words may name what it shows or makes writable. Variables that it passes on are not a command's
    /// own.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: &SandboxSettings) -> Self {
        let Some(workspace) = self.roots.workspace() else { return self };
        let absolute = |paths: &[String]| -> Vec<PathBuf> {
            paths.iter().map(|path| workspace.path().join(decode_path(path))).collect()
        };
        let (readable, writable) = (absolute(&sandbox.readable), absolute(&sandbox.writable));
        let secrets = SecretPaths::within(workspace, readable.iter().chain(&writable));
        let lifted = LiftedPaths::new(&readable, &writable, &self.roots);
        let own = own_settings_in(workspace, &writable);
        self.deny.extend(own.iter().filter_map(|path| PermissionRule::against_changes(path, &self.roots)));
        let passed = sandbox.env.clone();
        Self { secrets, lifted, passed, is_enforced: sandbox.mode == SandboxMode::Required, ..self }
    }

    /// This policy as links lead now: a deny or ask rule whose path leads through links is also about what it leads to,
    /// and so is a place of secrets. The same policy if there is nothing of the kind.
    #[must_use]
    pub fn now(self: &Arc<Self>) -> Arc<Self> {
        let followed = |rules: &[PermissionRule]| -> Vec<PermissionRule> {
            rules.iter().filter_map(|rule| rule.followed(&self.roots)).collect()
        };
        let (ask, deny, secrets) = (followed(&self.ask), followed(&self.deny), self.secrets.now());
        if ask.is_empty() && deny.is_empty() && secrets.is_none() {
            return Arc::clone(self);
        }
        let mut policy = Self::clone(self);
        policy.ask.extend(ask);
        policy.deny.extend(deny);
        policy.secrets = secrets.unwrap_or(policy.secrets);
        Arc::new(policy)
    }

    /// This policy with a further allow rule, which must be about this canonical name.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule and for one that is about something else.
    fn with_rule_about(&self, name: &str, rule: &str) -> Result<Self> {
        let names = RuleNames { rules: &[name], rule_of: &|_| None };
        let text = Examples { rule: rule.to_owned(), matching: Vec::new(), no_match: Vec::new() };
        let mut policy = self.clone();
        policy.allow.retain(|known| known.text != rule);
        policy.allow.push(PermissionRule::new(&text, &names, &self.roots)?);
        Ok(policy)
    }

    /// Whether further allow rules, also about files, would allow all of these requests.
    pub fn would_allow(&self, rules: &[String], permissions: &PermissionRequests) -> bool {
        let own = permissions.iter().map(|permission| &*permission.rule);
        let names: Vec<&str> = own.chain(["Read", "Edit", "Write"]).collect();
        let names = RuleNames { rules: &names, rule_of: &|_| None };
        let parsed = rules.iter().map(|rule| {
            let text = Examples { rule: rule.clone(), matching: Vec::new(), no_match: Vec::new() };
            PermissionRule::new(&text, &names, &self.roots)
        });
        let Ok(parsed) = parsed.collect::<Result<Vec<_>>>() else { return false };
        let mut policy = self.clone();
        policy.allow.extend(parsed);
        matches!(policy.judge_all(permissions).0.verdict, Verdict::Allow(_))
    }

    /// Whether any rule or mode could ask about a call, given whether its tool requires permission.
    pub fn may_ask(&self, requires_permission: bool) -> bool {
        !self.ask.is_empty()
            || self.default == PolicyMode::Ask
            || (self.default == PolicyMode::Auto && requires_permission)
    }

    /// The files that tools must leave out.
    pub fn read_guards(&self) -> ReadGuards {
        let rules = self.deny.iter().chain(&self.ask);
        let about_files = rules.filter(|rule| matches!(rule.pattern, Some(RulePattern::Path(_))));
        // Those that change files are judged for each file by name.
        let of_tools = about_files.filter(|rule| !["Read", "Edit", "Write"].contains(&&*rule.tool));
        let of_tools = of_tools.map(|rule| (rule.tool.clone(), self.read_guard(&rule.tool)));
        ReadGuards::new(self.read_guard("Read"), of_tools.collect())
    }

    /// The files of `Read` rules, and those of rules about this tool.
    fn read_guard(&self, tool: &str) -> ReadGuard {
        let patterns = |rules| about_reading(rules, tool).map(|(_, pattern)| pattern.clone()).collect();
        let named = naming(&self.allow, |rule| rule.tool == "Read").cloned().collect();
        let secrets = (self.secrets.clone(), named);
        ReadGuard::new(patterns(&self.deny), patterns(&self.ask), secrets, self.roots.clone())
    }

    /// Applies a call's permissions to the files that it opens through this workspace. `hidden` are the files that the
    /// call's searches leave out.
    pub fn hold(
        self: &Arc<Self>,
        permissions: &PermissionRequests,
        hidden: &ReadGuard,
        workspace: &Workspace,
        is_approved: bool,
    ) {
        let rules = self.allow.iter().chain(&self.ask).chain(&self.deny);
        let is_about_paths = |rule: &PermissionRule| matches!(rule.pattern, Some(RulePattern::Path(_)));
        // Without rules about paths, a call that only reads needs no check.
        let depends =
            is_approved || !hidden.is_open() || permissions.iter().any(|permission| !permission.is_safe);
        if depends || rules.into_iter().any(is_about_paths) {
            workspace.set_guard(Arc::new(FileGuard::new(Arc::clone(self), permissions, hidden.clone())));
        }
    }

    /// The paths and programs that the sandbox must deny to commands.
    pub fn denied_paths(&self) -> DeniedPaths {
        DeniedPaths::of_commands(self)
    }

    /// The paths and programs that the sandbox must deny to servers that a tool with this canonical name uses.
    pub fn denied_to_servers(&self, tool: &str) -> DeniedPaths {
        DeniedPaths::of_servers(self, tool)
    }

    /// The deny rules for program starts.
    pub fn denied_starts(&self) -> &DeniedStarts {
        &self.denied_starts
    }

    /// Judges several permission requests: the strictest verdict, with the request it is about.
    pub fn judge_all<'n>(&self, permissions: &'n PermissionRequests) -> (Judgement, &'n PermissionRequest) {
        let mut worst = (self.judge(&permissions.first), &permissions.first);
        for permission in &permissions.more {
            let judgement = self.judge(permission);
            if judgement.verdict.gravity() > worst.0.verdict.gravity() {
                worst = (judgement, permission);
            }
        }
        worst
    }

    /// A description of the requests for the person who is asked. It begins with those that need approval, because it
    /// does not name all of many.
    pub fn question(&self, tool: &str, permissions: &PermissionRequests) -> String {
        let asks = |permission: &PermissionRequest| matches!(self.judge(permission).verdict, Verdict::Ask(_));
        permissions.sorted(asks).question(tool)
    }

    /// Judges one permission request.
    pub fn judge(&self, permission: &PermissionRequest) -> Judgement {
        match &permission.operand {
            Operand::Command(line) if permission.rule == "Bash" => shell::judge(self, line),
            _ => match self.secrets.refuse(permission, &self.allow, &self.roots) {
                Some(place) => Judgement::on_secret(place),
                None => self.verdict(permission).into(),
            },
        }
    }

    fn verdict(&self, permission: &PermissionRequest) -> Verdict {
        let is_own = |rule: &PermissionRule| rule.is_about(&permission.rule);
        let touches = |rule: &&PermissionRule| {
            (is_own(rule) || permission.touches.contains(&&*rule.tool))
                && rule
                    .pattern
                    .as_ref()
                    .is_none_or(|pattern| pattern.touches(&permission.operand, &self.roots))
        };
        let covers = |rule: &&PermissionRule| {
            (is_own(rule) || permission.allowed_by.contains(&&*rule.tool))
                && pattern::covers_repository(rule, &permission.operand)
                && rule
                    .pattern
                    .as_ref()
                    .is_none_or(|pattern| pattern.covers(&permission.operand, &self.roots))
        };
        let text = |rule: &PermissionRule| Some(rule.text.clone());
        if let Some(rule) = self.deny.iter().find(touches) {
            Verdict::Deny(text(rule))
        } else if let Some(rule) = self.ask.iter().find(touches) {
            Verdict::Ask(text(rule))
        } else if let Some(rule) = self.allow.iter().find(covers) {
            Verdict::Allow(text(rule))
        } else {
            self.by_default(permission)
        }
    }

    fn by_default(&self, permission: &PermissionRequest) -> Verdict {
        match (self.default, permission.is_safe) {
            (PolicyMode::Allow, _) | (PolicyMode::Auto, true) => Verdict::Allow(None),
            (PolicyMode::Ask, _) | (PolicyMode::Auto, false) => Verdict::Ask(None),
            (PolicyMode::Deny, _) => Verdict::Deny(None),
        }
    }
}

/// What must not change so that nothing in a workspace or at a writable path becomes the user's own settings, also
/// through links: the directory of the settings, or the file, if the directory is not all there is to it.
fn own_settings_in(workspace: &Workspace, writable: &[PathBuf]) -> Vec<PathBuf> {
    let end = |path: &Path| PathWay::of(path, Entry::at).end;
    let roots = workspace.root_paths().into_iter().chain(writable.iter().map(PathBuf::as_path));
    let roots: Vec<PathBuf> = roots.flat_map(|root| [end(root), root.to_owned()]).collect();
    let mut kept = Vec::new();
    for file in secrets::own_settings() {
        let Some(directory) = file.parent() else { continue };
        let (file_end, directory_end) = (end(&file), end(directory));
        if !roots.iter().any(|root| file.starts_with(root) || file_end.starts_with(root)) {
            continue;
        }
        let has_root =
            roots.iter().any(|root| root.starts_with(directory) || root.starts_with(&directory_end));
        kept.extend((!has_root).then(|| directory.to_owned()));
        // Where a link leads to the file, its target is elsewhere.
        let is_elsewhere = file_end.parent() != Some(&directory_end);
        kept.extend((has_root || is_elsewhere).then(|| file.clone()));
    }
    kept
}

#[cfg(test)]
mod tests;
