//! Judges a shell command: every program that it runs, and every file that its redirections open.

use super::Policy;
use super::arguments::Arguments;
use super::lifted_paths::LiftedPaths;
use super::mode::PolicyMode;
use super::named_files::{FileRule, MatchedWords, NamedFiles, SeenFiles, any_in_directory};
use super::pattern::RulePattern;
use super::permission_request::CommandLine;
use super::repository;
use super::rule::PermissionRule;
use super::starts::has;
use super::verdict::{Judgement, Verdict};
use super::words::{Certainty, CommandPattern};
use beamai_bash_reader::{
    Analysis, CodePath, Doubt, DoubtCondition, FIND_EXEC, Invocation, InvocationKind, Word, analyse,
    is_message, trimmed,
};
use beamai_isolation::is_in_environment;
use beamai_path_rules::{PathRoots, clean, is_outside, literal_pattern, literal_patterns};
use beamai_workspace::{decode_path, encode_path};
use std::path::{Path, PathBuf};

/// Programs that neither read nor write the files that their arguments name.
const BLIND: &str = "echo printf export unset read kill sleep cd pushd popd exit return true false : wait";

/// Programs that do not write to the files that their arguments name.
const READERS: &str = "cat head tail more grep egrep fgrep rg wc ls stat diff cmp od hexdump strings sha256sum sha1sum md5sum \
                       cksum test [ cut du basename dirname realpath";

/// A command to judge.
pub(super) struct CommandCase<'a> {
    policy: &'a Policy,
    line: &'a CommandLine,
    pub(super) found: Analysis,
    /// The directories that it may run in; `None` if one of them is unknown.
    pub(super) directories: Option<Vec<PathBuf>>,
    /// If everything is allowed unless denied: the rule that says so.
    open: Option<Option<String>>,
    seen: SeenFiles,
}

/// Judges a command.
pub(super) fn judge(policy: &Policy, line: &CommandLine) -> Judgement {
    let open = open(policy);
    let bare = |rules: &[PermissionRule], tools: &[&str]| {
        let mut bare = rules.iter().filter(|rule| rule.pattern.is_none());
        bare.find(|rule| tools.contains(&&*rule.tool)).map(|rule| rule.text.clone())
    };
    const ALL: [&str; 4] = ["Bash", "Read", "Edit", "Write"];
    // A bare deny of a file tool means every file, and the sandbox enforces it.
    if let Some(rule) = bare(&policy.deny, &["Bash"]) {
        return Verdict::Deny(Some(rule)).into();
    }
    let asked = bare(&policy.ask, &ALL);
    let is_of_command = |rule: &PermissionRule| rule.pattern.is_some() && rule.tool == "Bash";
    let bears =
        |rules: &[PermissionRule]| rules.iter().any(|rule| is_of_command(rule) || rule.files().is_some());
    let case = || CommandCase::of(policy, line);
    match (asked, bears(&policy.deny) || bears(&policy.ask), &open) {
        (Some(rule), false, _) => Verdict::Ask(Some(rule)).into(),
        (Some(rule), true, _) => case().refused().unwrap_or_else(|| Verdict::Ask(Some(rule)).into()),
        (None, false, Some(rule)) => Verdict::Allow(rule.clone()).into(),
        (None, _, _) => case().judge(),
    }
}

/// The bare rule `Bash`, or the mode `allow`.
pub(super) fn open(policy: &Policy) -> Option<Option<String>> {
    let rule = policy.allow.iter().find(|rule| rule.tool == "Bash" && rule.pattern.is_none());
    rule.map(|rule| Some(rule.text.clone())).or_else(|| (policy.default == PolicyMode::Allow).then_some(None))
}

/// The allow rule for a tool that covers all these paths.
fn path_rule<'p>(policy: &'p Policy, paths: &[PathBuf], tool: &str) -> Option<&'p str> {
    let covers = |rule: &&PermissionRule| match &rule.pattern {
        _ if rule.tool != tool || !repository::covers_all(rule, paths) => false,
        None => true,
        Some(RulePattern::Path(pattern)) => paths.iter().all(|path| pattern.matches(path, &policy.roots)),
        Some(_) => false,
    };
    policy.allow.iter().find(covers).map(|rule| &*rule.text)
}

/// Whether rules let a shell write to a file that its path leads to while the command runs.
pub(super) fn may_write(policy: &Policy, file: &Path) -> bool {
    let file = policy.roots.meant(Path::new(""), file);
    let holds = |rule: &PermissionRule, lifted| {
        let to_write = rule.tool != "Read";
        let rule = rule.files().map(|pattern| FileRule { pattern, to_write, lifted, has_directories: false });
        to_write && rule.is_some_and(|rule| rule.matches(&file, &policy.roots))
    };
    !policy.ask.iter().any(|rule| holds(rule, None))
        && !policy.deny.iter().any(|rule| holds(rule, Some(&policy.lifted)))
        && path_rule(policy, std::slice::from_ref(&file), "Write").is_some()
}

impl<'a> CommandCase<'a> {
    /// A command given as text.
    pub(super) fn of(policy: &'a Policy, line: &'a CommandLine) -> Self {
        let has_own_home = line.variables.iter().any(|name| name == "HOME");
        Self::with(policy, line, analyse(&line.command, policy.roots.tilde().filter(|_| !has_own_home)))
    }

    /// The analysis of something that a command starts.
    pub(super) fn with(policy: &'a Policy, line: &'a CommandLine, found: Analysis) -> Self {
        let open = open(policy);
        let start = clean(&decode_path(&line.directory));
        let mut directories = Some(vec![start.clone()]);
        for word in &found.directories {
            match (word.text(), &mut directories) {
                (Some(text), Some(known)) if known.len() < 16 => {
                    let from = if found.is_sequence() { known.len() - 1 } else { 0 };
                    let changed =
                        known[from..].iter().flat_map(|base| changed_to(base, &text, &policy.roots));
                    let changed: Vec<PathBuf> = changed.collect();
                    known.extend(changed);
                    // Paths from there lead through descriptors and processes.
                    let is_open = |path: &PathBuf| path.starts_with("/proc") || path.starts_with("/dev");
                    if known.iter().any(is_open) {
                        directories = None;
                    }
                }
                _ => directories = None,
            }
        }
        Self { policy, line, found, directories, open, seen: SeenFiles::default() }
    }

    fn judge(&self) -> Judgement {
        if let Some(refused) = self.refused() {
            return refused;
        }
        if let Some(asked) = self.asked() {
            return asked;
        }
        self.allowed()
    }

    /// The deny rule that certainly matches.
    fn refused(&self) -> Option<Judgement> {
        self.held(&self.policy.deny, Certainty::Surely, Some(&self.policy.lifted))
            .map(|(rule, part)| Judgement::on(Verdict::Deny(Some(rule.text.clone())), &part, None))
    }

    /// The ask rule that matches, or the ask or deny rule that may match.
    fn asked(&self) -> Option<Judgement> {
        let ask = |rule: &PermissionRule, part: &str, why| {
            Judgement::on(Verdict::Ask(Some(rule.text.clone())), part, why)
        };
        if let Some((rule, part)) = self.held(&self.policy.ask, Certainty::Maybe, None) {
            return Some(ask(rule, &part, None));
        }
        if let (Some(rule), Some(_)) = (self.hidden_ask(), self.whole_rule()) {
            return Some(ask(rule, "", Some("what it asks about may be hidden in it".to_owned())));
        }
        let (rule, part) = self.held(&self.policy.deny, Certainty::Maybe, Some(&self.policy.lifted))?;
        let why = "what it denies may be hidden in it".to_owned();
        Some(ask(rule, &part, Some(why)))
    }

    /// The ask rule that a text which cannot be analysed may be about. No allow rule takes precedence over it. For
    /// programs, the exec guard asks when they start.
    fn hidden_ask(&self) -> Option<&PermissionRule> {
        let is_unseen = |rule: &&PermissionRule| match rule.files() {
            Some(_) => true,
            None => !self.policy.is_enforced && rule.command().is_some(),
        };
        self.is_doubtful().then(|| self.policy.ask.iter().find(is_unseen)).flatten()
    }

    /// Whether its text cannot be analysed, or has a builtin that can do more than its name says.
    pub(super) fn is_doubtful(&self) -> bool {
        self.found.doubts.iter().any(|doubt| !self.is_waived(doubt))
            || self.found.programs.iter().any(|program| program.hazard.is_some())
    }

    /// The first rule that matches with at least this certainty and is not lifted, and the part that it matches.
    fn held<'r>(
        &self,
        rules: &'r [PermissionRule],
        least: Certainty,
        lifted: Option<&LiftedPaths>,
    ) -> Option<(&'r PermissionRule, String)> {
        let arguments = self.arguments();
        rules.iter().find_map(|rule| {
            let to_write = rule.tool != "Read";
            let part = match (&rule.pattern, rule.files()) {
                (Some(RulePattern::Command(pattern)), _) => self.part_of_command(pattern, &arguments, least),
                (_, Some(pattern)) => {
                    // Where the sandbox keeps a file, nothing that only the run shows is asked about.
                    let is_enforced = lifted.is_some() && self.policy.is_enforced;
                    let is_kept = is_enforced && pattern.is_of_workspace(to_write, &self.policy.roots);
                    let least = if is_kept { Certainty::Surely } else { least };
                    let has_directories = !is_enforced;
                    self.part_of_path(FileRule { pattern, to_write, lifted, has_directories }, least)
                }
                _ => None,
            };
            Some((rule, part?))
        })
    }

    /// The arguments of each program.
    fn arguments(&self) -> Vec<Arguments> {
        self.found.programs.iter().map(|program| Arguments::of(&program.words[1..])).collect()
    }

    fn part_of_command(
        &self,
        pattern: &CommandPattern,
        arguments: &[Arguments],
        least: Certainty,
    ) -> Option<String> {
        if pattern.is_whole(&self.line.command) {
            return Some(self.line.command.clone());
        }
        let mut programs = self.found.programs.iter().zip(arguments);
        let found =
            programs.find(|(program, arguments)| pattern.holds(&program.words[0], arguments) >= least);
        found.map(|(program, _)| program.shown())
    }

    fn part_of_path(&self, rule: FileRule<'_>, least: Certainty) -> Option<String> {
        // After too many comparisons nothing is certain, and anything may be.
        if self.seen.is_over() {
            return (least <= Certainty::Maybe).then(String::new);
        }
        let redirected = match rule.to_write {
            false => self.found.reads.iter().chain(&self.found.inputs).collect::<Vec<_>>(),
            true => self.found.writes.iter().collect(),
        };
        let words = MatchedWords::new(self.named_files(), rule);
        if let Some(file) = redirected.into_iter().find(|file| words.denotes(file) >= least) {
            return Some(file.shown());
        }
        // For a rule about all files of the workspace, any word matches. Where the sandbox keeps them, words are not judged.
        let roots = &self.policy.roots;
        if self.policy.is_enforced && rule.lifted.is_some() && rule.pattern.keeps_workspace(roots) {
            return None;
        }
        let touching = |program: &&Invocation| {
            let base = program.system_name().unwrap_or_default();
            let is_other = program.standing == InvocationKind::Wrapper && !matches!(&*base, "xargs" | "env");
            let is_free = has(BLIND, &base)
                || rule.to_write
                    && (has(READERS, &base) && !is_filtering(&base, &program.words)
                        || is_printing(&base, &program.words));
            // A program is read when it starts, not written. One without a path is none of these files.
            let is_path = |word: &Word| word.text().is_none_or(|text| text.contains('/'));
            let is_used =
                |at, word: &Word| !is_note(program, at) && (at > 0 || !rule.to_write && is_path(word));
            let names = |(at, word): (usize, &Word)| is_used(at, word) && words.denotes(word) >= least;
            !is_other && !is_free && program.words.iter().enumerate().any(names)
        };
        self.found.programs.iter().find(touching).map(Invocation::shown)
    }

    fn named_files(&self) -> NamedFiles<'_> {
        NamedFiles::new(&self.policy.roots, self.directories.as_deref(), &self.seen)
    }

    /// Whether rules cover all of it.
    pub(super) fn is_covered(&self) -> bool {
        self.asked().is_none() && self.uncovered_parts(&mut None).is_empty()
    }

    /// The parts that no rule covers, and the first rule that covers any part.
    fn uncovered_parts(&self, rule: &mut Option<String>) -> Vec<Judgement> {
        let mut open = Vec::new();
        let is_whole = self.whole_rule();
        for program in
            self.found.programs.iter().filter(|program| program.standing != InvocationKind::Wrapper)
        {
            match self.covering(program).or(is_whole) {
                Some(text) => _ = rule.get_or_insert_with(|| text.to_owned()),
                None if program.standing == InvocationKind::Harmless => {}
                None if self.hazard(program).is_none() && self.open.is_some() => {}
                None => open.push(self.uncovered(program)),
            }
        }
        if is_whole.is_none() {
            open.extend(self.doubts());
        }
        open.extend(self.found.writes.iter().filter_map(|file| self.unwritten(file, rule)));
        open.extend(self.found.reads.iter().filter_map(|file| self.unread(file)));
        open
    }

    /// The verdict if no deny or ask rule matches: whether rules allow every part.
    fn allowed(&self) -> Judgement {
        let mut rule = None;
        let mut open = self.uncovered_parts(&mut rule);
        let is_whole = self.whole_rule();
        let alone = || self.found.programs.iter().find_map(|program| self.covering(program));
        let rule = rule.or_else(|| is_whole.or_else(alone).map(str::to_owned));
        match (open.is_empty(), &self.open) {
            (true, Some(by)) => Verdict::Allow(rule.or_else(|| by.clone())).into(),
            (true, None) if rule.is_some() => Verdict::Allow(rule).into(),
            // A harmless builtin needs no rule beside other commands, but does if it is the whole command.
            (true, None) => match self.found.programs.first() {
                Some(program) => self.uncovered(program),
                None => self.by_default("", None),
            },
            (false, _) => {
                // Rules for some parts do not help.
                let is_complete = open.iter().all(|judgement| !judgement.wanted.is_empty());
                let mut wanted: Vec<String> =
                    open.iter().filter(|_| is_complete).flat_map(|part| part.wanted.clone()).collect();
                // A rule for exactly the command needs no other, but for files.
                let whole = self.exact_rule();
                if wanted.contains(&whole) {
                    wanted.retain(|rule| !rule.starts_with("Bash("));
                    wanted.insert(0, whole);
                }
                Judgement { wanted, ..open.swap_remove(0) }
            }
        }
    }

    /// The rule that is exactly this command.
    pub(super) fn whole_rule(&self) -> Option<&str> {
        let is_whole = |rule: &&PermissionRule| matches!(&rule.pattern, Some(RulePattern::Command(pattern)) if pattern.is_whole(&self.line.command));
        self.policy
            .allow
            .iter()
            .find(is_whole)
            .filter(|_| self.line.variables.is_empty())
            .map(|rule| &*rule.text)
    }

    /// The text of [`Self::whole_rule`].
    fn exact_rule(&self) -> String {
        format!("Bash({})", trimmed(&self.line.command))
    }

    /// The rule that covers a program.
    fn covering(&self, program: &Invocation) -> Option<&str> {
        let arguments = Arguments::of(&program.words[1..]);
        let is_plain = self.hazard(program).is_none();
        let covers = |rule: &&PermissionRule| match &rule.pattern {
            Some(RulePattern::Command(pattern)) => {
                (is_plain || pattern.is_exact()) && pattern.allows_words(&program.words[0], &arguments)
            }
            _ => false,
        };
        self.policy.allow.iter().find(covers).map(|rule| &*rule.text)
    }

    /// Why a program can do more than its words say. Where no guard decides about starts, `find` may get `-exec` from
    /// an expansion.
    fn hazard(&self, program: &Invocation) -> Option<String> {
        let may_start = |word: &Word| {
            let is_any = word.has_unknown() && word.may_split();
            word.text().is_none() && (is_any || FIND_EXEC.iter().any(|exec| word.may_be(exec)))
        };
        let is_hidden = !self.policy.is_enforced
            && program.system_name().is_some_and(|name| name == "find")
            && program.words.iter().any(may_start);
        let why = || "what find starts may be hidden in it".to_owned();
        program.hazard.clone().or_else(|| is_hidden.then(why))
    }

    fn uncovered(&self, program: &Invocation) -> Judgement {
        let shown = program.shown();
        let mut judgement = self.by_default(&shown, self.hazard(program));
        let known: Vec<String> =
            program.words.iter().map_while(|word| word.text().map(|_| word.shown())).collect();
        let rule = match known.len() {
            count if count == program.words.len() => format!("Bash({shown})"),
            // A rule for a name covers no hazard.
            count if count == 0 || judgement.why.is_some() => self.exact_rule(),
            _ => format!("Bash({}:*)", known.join(" ")),
        };
        judgement.wanted = vec![rule];
        judgement
    }

    fn doubts(&self) -> Vec<Judgement> {
        let is_evaluated = |name: &str| self.found.evaluated().any(|known| known == name);
        let telling =
            self.line.variables.iter().filter(|name| self.found.is_telling(name) || is_evaluated(name));
        let telling =
            telling.map(|name| (String::new(), format!("the variable {name} can change what is run")));
        let found = self.found.doubts.iter().filter(|doubt| !self.is_waived(doubt));
        let found = found.map(|doubt| (doubt.part.clone(), doubt.why.clone()));
        let lost = match &self.directories {
            // Only file rules matter, and words are compared with them in all directories.
            _ if self.open.is_some() => None,
            None => Some((String::new(), "the directory that it changes to is not known".to_owned())),
            Some(all) if all.iter().any(|path| is_outside(path)) => {
                Some((String::new(), "it may change to a directory outside the workspace".to_owned()))
            }
            Some(_) => None,
        };
        let doubt = |(part, why): (String, String)| {
            // For a command that cannot be analysed, only a rule with exactly its text helps, or bare `Bash`.
            let helps = self.hidden_ask().is_none();
            let wanted = helps.then(|| self.exact_rule()).into_iter().collect();
            Judgement { wanted, ..self.by_default(&part, Some(why)) }
        };
        telling.chain(found).chain(lost).map(doubt).collect()
    }

    /// Whether a doubt can be ignored under these rules and with these variables.
    fn is_waived(&self, doubt: &Doubt) -> bool {
        match &doubt.unless {
            Some(DoubtCondition::CodePath(code_path)) => self.may_run_any_code(code_path),
            Some(DoubtCondition::NotInEnvironment(name)) => {
                !is_in_environment(name)
                    && !self.policy.passed.contains(name)
                    && !self.line.variables.contains(name)
            }
            None => false,
        }
    }

    /// Whether a rule lets an interpreter run any code.
    fn may_run_any_code(&self, CodePath { interpreter, any_code }: &CodePath) -> bool {
        let begins = |way: &&&[&str]| {
            let words = [interpreter.as_str()].into_iter().chain(way.iter().copied()).map(Word::literal);
            let words: Vec<Word> = words.chain([Word::unknown()]).collect();
            let arguments = Arguments::of(&words[1..]);
            let allows = |pattern: &CommandPattern| pattern.allows_words(&words[0], &arguments);
            self.policy.allow.iter().filter_map(PermissionRule::command).any(allows)
        };
        self.open.is_some() || any_code.iter().any(|way| begins(&way))
    }

    /// What needs approval for a file that is written.
    fn unwritten(&self, file: &Word, rule: &mut Option<String>) -> Option<Judgement> {
        if self.open.is_some() {
            return None;
        }
        let covering = match self.policy.is_enforced {
            true => self.some_write_rule(file),
            false => self.path_rule(file, "Write"),
        };
        if let Some(covering) = covering {
            rule.get_or_insert_with(|| covering.to_owned());
            return None;
        }
        let shown = file.shown();
        let why = "a redirection writes to a file, which rules for commands do not cover".to_owned();
        let mut judgement = self.by_default(&format!("> {shown}"), Some(why));
        judgement.wanted = self.wanted_for_file(file, "Write");
        Some(judgement)
    }

    /// The rule for the file alone that a redirection opens. There is none where it may be one of several, or is
    /// outside the workspace.
    fn wanted_for_file(&self, file: &Word, tool: &str) -> Vec<String> {
        let (roots, is_held) = (&self.policy.roots, tool == "Write" && self.policy.is_enforced);
        let Some(text) = file.text() else {
            let is_inside = is_held && self.named_files().paths(&any_in_directory(file)).is_some();
            return vec![if is_inside { "Write(**)" } else { "Bash" }.to_owned()];
        };
        let directories = self.directories.as_deref().unwrap_or_default();
        let (mut paths, is_one) = match (directories, self.named_files().paths(&text)) {
            // After a change of the directory, it is most likely the last one.
            ([_, .., last], _) if is_held => (vec![roots.meant(last, &text), roots.leads(last, &text)], true),
            (_, Some(paths)) => (paths, directories.len() == 1),
            (_, None) if is_held && text.starts_with('/') => (vec![roots.meant(Path::new(""), &text)], true),
            (_, None) => return Vec::new(),
        };
        paths.sort();
        paths.dedup();
        // A rule for a directory would be about all that is in it.
        let is_directory = |path: &PathBuf| roots.top().is_some_and(|top| top.join(path).is_dir());
        paths.retain(|path| !is_directory(path));
        let pattern = match &paths[..] {
            [path] => literal_pattern(&encode_path(path)),
            // Its path leads through links.
            [one, other] if is_one => literal_patterns(&encode_path(one), &encode_path(other)),
            _ => return Vec::new(),
        };
        vec![format!("{tool}({pattern})")]
    }

    /// What needs approval for a file that the shell itself reads.
    fn unread(&self, file: &Word) -> Option<Judgement> {
        let is_inside = file.text().is_some_and(|text| self.named_files().paths(&text).is_some());
        let is_free = self.policy.default == PolicyMode::Auto && is_inside;
        if self.open.is_some() || is_free || self.path_rule(file, "Read").is_some() {
            return None;
        }
        let shown = file.shown();
        let mut judgement = self.by_default(&format!("< {shown}"), None);
        judgement.wanted = self.wanted_for_file(file, "Read");
        Some(judgement)
    }

    /// The allow rule for a tool that covers a file.
    fn path_rule(&self, file: &Word, tool: &str) -> Option<&str> {
        path_rule(self.policy, &self.named_files().paths(&file.text()?)?, tool)
    }

    /// The allow rule that covers a file that a redirection may write. Where it leads is judged again when the shell
    /// opens it, so that it suffices if a rule covers where it leads now from one of the directories.
    fn some_write_rule(&self, file: &Word) -> Option<&str> {
        let text = file.text().unwrap_or_else(|| any_in_directory(file));
        let Some(paths) = self.named_files().paths(&text) else { return self.outer_write_rule(&text) };
        // From each directory there are two, as it is named and where it leads.
        let mut leading = paths.chunks(2).filter_map(<[PathBuf]>::last);
        leading.find_map(|path| path_rule(self.policy, std::slice::from_ref(path), "Write"))
    }

    /// The allow rule that covers a file outside the workspace, by its absolute path. The sandbox has no more than the
    /// temporary directory there, and what the host lets commands write.
    fn outer_write_rule(&self, text: &str) -> Option<&str> {
        let path = self.policy.roots.meant(Path::new(""), text);
        text.starts_with('/').then(|| path_rule(self.policy, &[path], "Write"))?
    }

    /// The mode's verdict on a part that no rule covers. It never allows what is not understood.
    fn by_default(&self, part: &str, why: Option<String>) -> Judgement {
        let verdict = match self.policy.default {
            PolicyMode::Deny => Verdict::Deny(None),
            PolicyMode::Allow if why.is_none() => Verdict::Allow(None),
            _ => Verdict::Ask(None),
        };
        Judgement::on(verdict, part, why)
    }
}

/// The directories that `cd` can change to: as its text says, last, and before that where it leads with `-P`.
fn changed_to(base: &Path, text: &str, roots: &PathRoots) -> impl Iterator<Item = PathBuf> {
    let (meant, leads) = (roots.meant(base, text), roots.leads(base, text));
    Some(leads).filter(|leads| *leads != meant).into_iter().chain([meant])
}

/// Whether a program is ripgrep that may start another one on the files that it reads (`--pre=rm`).
fn is_filtering(base: &str, words: &[Word]) -> bool {
    let starts = |text: &str| text.starts_with("--pre") || text.starts_with("--hostname-bin");
    base == "rg"
        && words[1..].iter().any(|word| word.text().map_or(word.may_begin_option(), |text| starts(&text)))
}

/// Whether a program is `sed` that only prints lines, as in `sed -n 1,50p file`.
fn is_printing(base: &str, words: &[Word]) -> bool {
    let [_, option, script, files @ ..] = words else { return false };
    let is_print = |text: &str| {
        text.ends_with('p') && text.trim_end_matches('p').bytes().all(|byte| b"0123456789,$".contains(&byte))
    };
    base == "sed"
        && option.text().as_deref() == Some("-n")
        && script.text().is_some_and(|text| is_print(&text))
        && files.iter().all(|file| file.text().is_some_and(|text| !text.starts_with('-')))
}

/// Whether a word is a message for git, as in `git commit -m`, which names no file.
fn is_note(program: &Invocation, at: usize) -> bool {
    at > 0 && program.system_name().as_deref() == Some("git") && is_message(&program.words[1..], at - 1)
}
