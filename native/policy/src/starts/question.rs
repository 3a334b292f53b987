//! The question about a start that no rule allows: why it is asked, which files it may write, and which rules would
//! allow it.

use super::called;
use super::shown::{ASKED, is_long, written};
use super::{CommandApproval, StartRules, StartVerdict, is_script};
use crate::mode::PolicyMode;
use crate::rule_effect::check_effect;
use crate::words::CommandPattern;
use beamai_bash_reader::{InvocationKind, Word, is_shell, started};
use beamai_isolation::ProgramStart;
use std::collections::BTreeSet;

impl StartRules {
    /// The verdict on a start that the command's text does not show. No rule for the program helps.
    pub(super) fn unforeseen(&self, start: &ProgramStart) -> StartVerdict {
        if self.policy().default == PolicyMode::Deny {
            return StartVerdict::Refuse(None);
        }
        let why = Some("the command's text did not show it".to_owned());
        StartVerdict::Ask { wanted: Vec::new(), rule: None, why: self.with_unseen_writes(start, why) }
    }

    /// The verdict if no rule allows a start.
    pub(super) fn asked(
        &self,
        start: &ProgramStart,
        rule: Option<String>,
        why: Option<String>,
    ) -> StartVerdict {
        if self.policy().default == PolicyMode::Deny && rule.is_none() {
            return StartVerdict::Refuse(None);
        }
        // Rules for the programs of a shell's text do not cover the files that it opens, in a directory that is not
        // known here.
        let is_opening = is_shell(&called::base(&start.called)) && !self.read(start).opens_nothing();
        let wanted = match is_opening && self.approval == CommandApproval::Parts {
            _ if rule.is_some() => Vec::new(),
            true if self.is_shown(start) => vec![format!("Bash({})", self.line.command)],
            true => Vec::new(),
            false => wanted(start),
        };
        StartVerdict::Ask { wanted, rule, why: self.with_unseen_writes(start, why) }
    }

    /// The reason for a question, with the files that a shell's text redirects into if the question does not show all
    /// of the text.
    fn with_unseen_writes(&self, start: &ProgramStart, why: Option<String>) -> Option<String> {
        let all: Vec<String> = why.into_iter().chain(self.unseen_writes(start)).collect();
        (!all.is_empty()).then(|| all.join(", and "))
    }

    /// The files that a shell's text redirects into, where the question does not show all of the text.
    fn unseen_writes(&self, start: &ProgramStart) -> Option<String> {
        if !is_long(&written(start)) {
            return None;
        }
        if called::applet(start).is_some() {
            return Some("it may redirect into any file, and be another program".to_owned());
        }
        if !is_shell(&called::base(&start.called)) {
            return None;
        }
        if !start.has_all_arguments {
            return Some("it may redirect into any file, because not all of it was read".to_owned());
        }
        let found = self.read(start);
        if !found.is_certain() {
            return Some("it may redirect into any file, because it cannot be analysed".to_owned());
        }
        let files: Vec<&Word> = found.writes.iter().collect();
        if files.is_empty() {
            return None;
        }
        // The question shows the directory that it starts in.
        if !found.directories.is_empty() || files.iter().any(|file| file.text().is_none()) {
            return Some("it redirects into files that only the run shows".to_owned());
        }
        Some(format!("it redirects into {}", listed(&files)))
    }
}

/// Files as a list, of which the last ones are counted where there are too many.
fn listed(files: &[&Word]) -> String {
    let mut list = String::new();
    for (at, file) in files.iter().enumerate() {
        let shown = file.shown();
        if at > 0 && list.len() + shown.len() > ASKED {
            return format!("{list} and {} other files that are not shown", files.len() - at);
        }
        list = if at == 0 { shown } else { format!("{list}, {shown}") };
    }
    list
}

/// The rules that would allow a start: by its name, and its first argument if that looks like a subcommand.
fn wanted(start: &ProgramStart) -> Vec<String> {
    // A rule cannot name it, or does not cover it under another name.
    if start.called.to_str().is_none() || !called::is_called_by_its_name(start) {
        return Vec::new();
    }
    let is_plain = |text: &String| {
        text.starts_with(|char: char| char.is_ascii_alphanumeric())
            && text.chars().all(|char| char.is_ascii_alphanumeric() || "-_./:".contains(char))
            && !text.contains(":*")
    };
    let name = match start.is_writable {
        true => start.called.to_string_lossy().into_owned(),
        false => called::base(&start.called),
    };
    let given = called::arguments(start);
    let inner = started(&[vec![name.clone()], given.clone()].concat());
    if is_shell(&name) && !is_script(&given) {
        // Rules for the programs of its text, since these are judged; none helps where it is not certain which they are.
        if inner.programs.len() < 2 || !inner.is_certain() {
            return Vec::new();
        }
        let judged = inner.programs[1..].iter().filter(|program| program.standing == InvocationKind::Judged);
        let names =
            judged.filter_map(|program| Some(format!("Bash({}:*)", Word::literal(&program.name()?).shown())));
        return names.collect::<BTreeSet<_>>().into_iter().collect();
    }
    let sub = given.into_iter().next().filter(is_plain);
    let words = [Some(Word::literal(&name).shown()), sub].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let rule = Some(format!("{words}:*")).filter(|text| has_effect(text));
    rule.map(|text| format!("Bash({text})")).into_iter().collect()
}

/// Whether a rule about commands can allow anything.
fn has_effect(text: &str) -> bool {
    CommandPattern::new(text, None).is_ok_and(|pattern| check_effect(&pattern, &[&pattern], None).is_ok())
}
