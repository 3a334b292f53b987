//! Whether an allow rule about commands can allow anything. One for what a wrapper starts cannot: `timeout 60 make`
//! needs a rule for `make`. Nor can one for more than exactly one command, if that runs code which is not looked at
//! (`bash -x:*`).

use super::words::CommandPattern;
use beamai_bash_reader::{Invocation, InvocationKind, Word, analyse};

/// Stands for a further word, which may be any program.
const ANY: &str = "x";

/// The programs of a command that a rule is about.
struct RuleSample<'a> {
    pattern: &'a CommandPattern,
    wrapper: &'a str,
    /// Of the rule's own words.
    alone: Vec<Invocation>,
    /// Of these words and [`ANY`].
    followed: Vec<Invocation>,
}

/// Checks that a pattern allows something beside all patterns of allow rules.
///
/// # Errors
/// The problem, as the end of a sentence.
pub(super) fn check_effect(
    pattern: &CommandPattern,
    all: &[&CommandPattern],
    home: Option<&str>,
) -> Result<(), String> {
    let Some(words) = pattern.sample() else { return Ok(()) };
    let spelled = |words: &[String]| {
        let words = words.iter().map(|word| Word::literal(word).shown());
        analyse(&words.collect::<Vec<_>>().join(" "), home).programs
    };
    let followed = spelled(&[&words[..], &[ANY.to_owned()]].concat());
    let sample = RuleSample { pattern, wrapper: &words[0], alone: spelled(&words), followed };
    sample.check_inner(all)?;
    // A rule for a wrapper alone says what holds without it, that it may start what other rules allow.
    let is_bare = words.len() == 1 && sample.alone.first().is_none_or(is_wrapper);
    if is_bare || sample.covers_a_part() { Ok(()) } else { sample.check_rest() }
}

impl RuleSample<'_> {
    /// Whether the pattern covers any program of the sample.
    fn covers_a_part(&self) -> bool {
        let mut all = self.alone.iter().chain(&self.followed);
        all.any(|program| !is_wrapper(program) && program.hazard.is_none() && self.pattern.allows(program))
    }

    /// Fails if the rule's words have a program within that no rule covers.
    fn check_inner(&self, all: &[&CommandPattern]) -> Result<(), String> {
        let is_uncovered = |program: &&Invocation| {
            program.standing == InvocationKind::Judged
                && program.hazard.is_none()
                && name(program).is_some_and(|name| name != self.wrapper)
                && !all.iter().any(|rule| rule.allows(program))
        };
        let Some(inner) = self.alone.iter().find(is_uncovered) else { return Ok(()) };
        let verb = if self.covers_a_part() { "add" } else { "write" };
        let shown = inner.shown();
        let rule = shown.trim_end_matches(" \u{2026}");
        Err(format!("{} covers nothing that it starts; {verb} Bash({rule}:*)", self.wrapper))
    }

    /// Fails if what follows the words is a program, or there is a hazard.
    fn check_rest(&self) -> Result<(), String> {
        if self.followed.iter().any(|program| name(program).as_deref() == Some(ANY)) {
            return Err(format!(
                "{} covers nothing that it starts; write a rule for each program that it may start",
                self.wrapper
            ));
        }
        let mut all = self.alone.iter().chain(&self.followed);
        match all.find_map(|program| program.hazard.as_deref()) {
            Some(hazard) => Err(format!(
                "it would allow nothing, because {hazard}; write exactly one command, without :* and wildcards"
            )),
            None => Ok(()),
        }
    }
}

fn is_wrapper(program: &Invocation) -> bool {
    program.standing == InvocationKind::Wrapper
}

fn name(program: &Invocation) -> Option<String> {
    program.words[0].text()
}
