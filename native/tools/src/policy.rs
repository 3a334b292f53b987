//! The one judge: may this call run, must somebody be asked, is it refused?
//!
//! Deny beats ask beats allow; what no rule names falls to the default mode. The judge never does anything:
//! an operation says what it [`Need`]s, the policy answers with a [`Verdict`], and the engine acts on it.

use crate::error::{Reason, Result, ToolError};
use serde::Deserialize;

/// What happens to a call that no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// What only reads, or touches only the session, runs; everything else asks.
    #[default]
    Auto,
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// A policy as it is written down.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyText {
    /// Rules for what runs unasked.
    pub allow: Vec<String>,
    /// Rules for what is asked about.
    pub ask: Vec<String>,
    /// Rules for what is refused.
    pub deny: Vec<String>,
    /// Mode for the rest.
    pub default: Mode,
}

/// A policy that has been checked.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
    default: Mode,
}

/// A rule: the canonical name of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    tool: String,
}

/// What an operation asks leave for.
#[derive(Debug, Clone)]
pub struct Need {
    /// Canonical name of the operation in rules, such as `Bash`.
    pub rule: String,
    /// Rules that refuse, or ask about, the operation too: `Read` for whatever discloses contents, `Edit` and
    /// `Write` for whatever changes them.
    pub touches: &'static [&'static str],
    /// Rules that allow the operation besides its own.
    pub allowed_by: &'static [&'static str],
    /// Whether it only reads or touches only the session, and so runs by default.
    pub is_safe: bool,
    /// What it works on.
    pub operand: Operand,
}

/// What an operation works on, as rules and people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// Nothing that can be named.
    None,
    /// A path relative to the workspace, links followed.
    File(String),
    /// A path likewise, for a program that may run the project's own code.
    Project(String),
    /// A shell command.
    Command(String),
    /// The name of a skill or an agent.
    Name(String),
    /// A request over the network.
    Url {
        /// What is done with the address: [`FETCH`], or a method and whatever else a person should know of it, such
        /// as `send POST to`.
        action: String,
        /// The address, without credentials.
        url: String,
    },
    /// A question to a search engine.
    Query(String),
}

/// What is done with an address by a call that only reads it.
pub const FETCH: &str = "fetch";

impl Operand {
    /// The operand as a detail of questions and errors: key and text.
    pub fn detail(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::None | Self::Name(_) => None,
            Self::File(file) | Self::Project(file) => Some(("file", file)),
            Self::Command(command) => Some(("command", command)),
            Self::Url { url, .. } => Some(("url", url)),
            Self::Query(query) => Some(("query", query)),
        }
    }
}

impl Need {
    /// The need with its operand: `Bash(git status)`. Approvals for a session hold for this text.
    pub fn subject(&self) -> String {
        match &self.operand {
            Operand::None => self.rule.clone(),
            Operand::File(text)
            | Operand::Project(text)
            | Operand::Command(text)
            | Operand::Name(text)
            | Operand::Query(text) => format!("{}({text})", self.rule),
            Operand::Url { action, url } if action == FETCH => format!("{}({url})", self.rule),
            Operand::Url { action, url } => format!("{}({action} {url})", self.rule),
        }
    }

    /// What would be done, for the person who is asked.
    pub fn question(&self, tool: &str) -> String {
        match &self.operand {
            Operand::None => format!("{tool} wants to run"),
            Operand::Name(name) => format!("{tool} wants to use {name}"),
            Operand::File(path) if self.is_safe => format!("{tool} wants to read {path}"),
            Operand::File(path) => format!("{tool} wants to change {path}"),
            Operand::Project(path) => {
                format!(
                    "{tool} wants to read {path} with a program that may run code of the project it is in"
                )
            }
            Operand::Command(command) => format!("{tool} wants to run: {command}"),
            Operand::Url { action, url } => format!("{tool} wants to {action} {url}"),
            Operand::Query(query) => format!("{tool} wants to search the web for: {query}"),
        }
    }
}

/// All that one call asks leave for; mostly a single need.
#[derive(Debug, Clone)]
pub struct Needs {
    /// The first.
    pub first: Need,
    /// The others, in the call's order.
    pub more: Vec<Need>,
}

impl From<Need> for Needs {
    fn from(first: Need) -> Self {
        Self { first, more: vec![] }
    }
}

impl Needs {
    /// Needs that the question to a person names one by one.
    const NAMED: usize = 50;

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Need> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// Their subjects in one text: `Edit(a), Write(b)`.
    pub fn subject(&self) -> String {
        self.iter().map(Need::subject).collect::<Vec<_>>().join(", ")
    }

    /// What would be done, for the person who is asked.
    pub fn question(&self, tool: &str) -> String {
        if self.more.is_empty() {
            return self.first.question(tool);
        }
        let named = self.iter().take(Self::NAMED).map(Need::subject).collect::<Vec<_>>().join(", ");
        match (1 + self.more.len()).saturating_sub(Self::NAMED) {
            0 => format!("{tool} wants to do all of: {named}"),
            rest => format!("{tool} wants to do all of: {named}, and {rest} more"),
        }
    }
}

/// The judge's answer, with the rule that decided; `None` where the default mode did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow(Option<String>),
    /// Somebody must be asked.
    Ask(Option<String>),
    /// It is refused.
    Deny(Option<String>),
}

impl Verdict {
    /// The verdict's name and the rule behind it.
    pub fn parts(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Allow(rule) => ("allow", rule.as_deref()),
            Self::Ask(rule) => ("ask", rule.as_deref()),
            Self::Deny(rule) => ("deny", rule.as_deref()),
        }
    }

    fn gravity(&self) -> u8 {
        match self {
            Self::Allow(_) => 0,
            Self::Ask(_) => 1,
            Self::Deny(_) => 2,
        }
    }
}

impl Policy {
    /// Checks a policy's rules.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule, a rule with a pattern, and the name of a tool where its
    /// canonical name is meant. `canonical` gives the canonical name of a built-in tool.
    pub fn new(text: &PolicyText, canonical: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let rules =
            |texts: &[String]| texts.iter().map(|text| Rule::parse(text, &canonical)).collect::<Result<_>>();
        Ok(Self {
            allow: rules(&text.allow)?,
            ask: rules(&text.ask)?,
            deny: rules(&text.deny)?,
            default: text.default,
        })
    }

    /// Whether a call could be asked about at all, given whether its tool requires permission.
    pub fn may_ask(&self, requires_permission: bool) -> bool {
        !self.ask.is_empty()
            || self.default == Mode::Ask
            || (self.default == Mode::Auto && requires_permission)
    }

    /// Answers several needs at once: the worst verdict, with the need that it is about.
    pub fn judge_all<'n>(&self, needs: &'n Needs) -> (Verdict, &'n Need) {
        let mut worst = (self.judge(&needs.first), &needs.first);
        for need in &needs.more {
            let verdict = self.judge(need);
            if verdict.gravity() > worst.0.gravity() {
                worst = (verdict, need);
            }
        }
        worst
    }

    /// Answers a need.
    pub fn judge(&self, need: &Need) -> Verdict {
        let own = || std::iter::once(need.rule.as_str());
        let refusing = || own().chain(need.touches.iter().copied());
        let allowing = || own().chain(need.allowed_by.iter().copied());
        if let Some(rule) = find(&self.deny, refusing()) {
            Verdict::Deny(Some(rule))
        } else if let Some(rule) = find(&self.ask, refusing()) {
            Verdict::Ask(Some(rule))
        } else if let Some(rule) = find(&self.allow, allowing()) {
            Verdict::Allow(Some(rule))
        } else {
            self.by_default(need)
        }
    }

    fn by_default(&self, need: &Need) -> Verdict {
        match (self.default, need.is_safe) {
            (Mode::Allow, _) | (Mode::Auto, true) => Verdict::Allow(None),
            (Mode::Ask, _) | (Mode::Auto, false) => Verdict::Ask(None),
            (Mode::Deny, _) => Verdict::Deny(None),
        }
    }
}

fn find<'a>(rules: &[Rule], names: impl Iterator<Item = &'a str>) -> Option<String> {
    if rules.is_empty() {
        return None;
    }
    names.into_iter().find(|name| rules.iter().any(|rule| rule.tool == *name)).map(str::to_owned)
}

impl Rule {
    fn parse(text: &str, canonical: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let malformed = |why: String| {
            ToolError::new(Reason::InvalidArgument, format!("permission rule {text:?} is not valid: {why}"))
                .with("rule", text)
        };
        let name = text.split('(').next().unwrap_or_default();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) {
            return Err(malformed("write Tool, such as Bash or Read".into()));
        }
        if name != text {
            let why = if text.ends_with(')') {
                "rules with a pattern are not supported yet; use the tool's name alone"
            } else {
                "the parenthesis is not closed"
            };
            return Err(malformed(why.into()));
        }
        match canonical(name) {
            Some(canonical) if canonical != name => Err(malformed(format!(
                "rules use canonical names; write {canonical}, which holds for {name} too"
            ))),
            _ => Ok(Self { tool: name.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str], ask: &[&str], deny: &[&str], default: Mode) -> Policy {
        let own = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
        let text = PolicyText { allow: own(allow), ask: own(ask), deny: own(deny), default };
        Policy::new(&text, |name| (name == "shell_exec").then(|| "Bash".to_owned())).unwrap()
    }

    fn need(rule: &str, is_safe: bool) -> Need {
        Need { rule: rule.into(), touches: &["Read"], allowed_by: &[], is_safe, operand: Operand::None }
    }

    #[test]
    fn deny_beats_ask_beats_allow() {
        let all = policy(&["Bash"], &["Bash"], &["Bash"], Mode::Allow);
        assert_eq!(all.judge(&need("Bash", true)), Verdict::Deny(Some("Bash".into())));
        let two = policy(&["Bash"], &["Bash"], &[], Mode::Allow);
        assert_eq!(two.judge(&need("Bash", true)), Verdict::Ask(Some("Bash".into())));
    }

    #[test]
    fn a_rule_on_what_is_touched_refuses_but_does_not_allow() {
        assert_eq!(
            policy(&[], &[], &["Read"], Mode::Allow).judge(&need("Bash", false)),
            Verdict::Deny(Some("Read".into()))
        );
        assert_eq!(policy(&["Read"], &[], &[], Mode::Auto).judge(&need("Bash", false)), Verdict::Ask(None));
    }

    #[test]
    fn the_default_mode_decides_what_no_rule_names() {
        assert_eq!(policy(&[], &[], &[], Mode::Auto).judge(&need("X", true)), Verdict::Allow(None));
        assert_eq!(policy(&[], &[], &[], Mode::Auto).judge(&need("X", false)), Verdict::Ask(None));
        assert_eq!(policy(&[], &[], &[], Mode::Deny).judge(&need("X", true)), Verdict::Deny(None));
    }

    #[test]
    fn of_several_needs_the_worst_verdict_counts() {
        let needs = Needs { first: need("Edit", false), more: vec![need("Write", false), need("X", true)] };
        assert_eq!(needs.subject(), "Edit, Write, X");
        let judged = |allow: &[&str], ask: &[&str], deny: &[&str]| {
            let (verdict, need) = policy(allow, ask, deny, Mode::Auto).judge_all(&needs);
            (verdict, need.rule.clone())
        };
        assert_eq!(judged(&["Edit"], &[], &[]), (Verdict::Ask(None), "Write".into()));
        assert_eq!(
            judged(&["Edit", "Write"], &[], &[]),
            (Verdict::Allow(Some("Edit".into())), "Edit".into())
        );
        let denied = Verdict::Deny(Some("X".into()));
        assert_eq!(judged(&["Edit"], &["Write"], &["X"]), (denied, "X".into()));
    }

    #[test]
    fn a_malformed_rule_is_an_error_at_load() {
        for bad in ["", "Bash(git", "Bash(git:*)", "(x)", "a b", "shell_exec"] {
            let text = PolicyText { allow: vec![bad.to_owned()], ..PolicyText::default() };
            let error =
                Policy::new(&text, |name| (name == "shell_exec").then(|| "Bash".to_owned())).unwrap_err();
            assert_eq!(error.reason, Reason::InvalidArgument, "{bad}");
        }
    }
}
