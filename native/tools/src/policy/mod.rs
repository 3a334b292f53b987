//! The one judge: may this call run, must somebody be asked, is it refused?
//!
//! Deny beats ask beats allow; what no rule names falls to the default mode. A rule is a tool's canonical name, perhaps
//! with a pattern in parentheses: of a command, of a path, of an address, of a name. The judge never does anything: an
//! operation says what it [`Need`]s, the policy answers with a [`Judgement`], and the engine acts on it.

mod guard;
mod mode;
mod need;
mod path;
mod pattern;
mod repository;
mod rule;
mod sealed;
mod shell;
pub mod starts;
mod text;
mod url;
mod verdict;
mod way;
mod words;

pub use guard::ReadGuard;
pub use mode::Mode;
pub use need::{CommandLine, FETCH, FilePath, Need, Needs, Operand};
pub use sealed::Sealed;
pub use starts::{DeniedStarts, StartRules, StartVerdict};
pub use text::{Examples, PolicyText, RuleText};
pub use verdict::{Judgement, Verdict};
pub use way::Way;

use crate::error::Result;
use crate::workspace::Workspace;
use path::Roots;
use pattern::Pattern;
use rule::{Names, Rule};

/// A policy that has been checked.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
    default: Mode,
    roots: Roots,
    denied_starts: DeniedStarts,
}

impl Policy {
    /// Checks a policy's rules and their examples. `rules` are the canonical names, `rule_of` gives that of a built-in
    /// tool.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule, an example that it does not hold for, a name that looks like a slip,
    /// and the name of a tool where its canonical name is meant.
    pub fn new(
        text: &PolicyText,
        rules: &[&str],
        rule_of: &dyn Fn(&str) -> Option<String>,
        workspace: &Workspace,
    ) -> Result<Self> {
        let (names, roots) = (Names { rules, rule_of }, Roots::of(workspace));
        let list = |texts: &[RuleText]| {
            texts.iter().map(|text| Rule::new(&text.examples(), &names, &roots)).collect::<Result<_>>()
        };
        let text = text.whole(rules, rule_of)?;
        let (allow, ask, deny): (Vec<Rule>, Vec<Rule>, Vec<Rule>) =
            (list(&text.allow)?, list(&text.ask)?, list(&text.deny)?);
        let denied_starts = DeniedStarts::by(&deny);
        Ok(Self { allow, ask, deny, default: text.default, roots, denied_starts })
    }

    /// Whether a call could be asked about at all, given whether its tool requires permission.
    pub fn may_ask(&self, requires_permission: bool) -> bool {
        !self.ask.is_empty()
            || self.default == Mode::Ask
            || (self.default == Mode::Auto && requires_permission)
    }

    /// What searches must leave out.
    pub fn read_guard(&self) -> ReadGuard {
        let patterns = |rules: &[Rule]| {
            let rules = rules.iter().filter(|rule| rule.tool == "Read");
            let pattern = |rule: &Rule| match &rule.pattern {
                Some(Pattern::Path(pattern)) => Some(pattern.clone()),
                _ => None,
            };
            rules.filter_map(pattern).collect()
        };
        ReadGuard::new(patterns(&self.deny), patterns(&self.ask), self.roots.clone())
    }

    /// What the sandbox must keep from programs.
    pub fn sealed(&self) -> Sealed {
        Sealed::by(&self.deny, &self.roots, self.denied_starts.clone())
    }

    /// What deny rules say of the starts of programs.
    pub(crate) fn denied_starts(&self) -> &DeniedStarts {
        &self.denied_starts
    }

    /// Answers several needs at once: the worst verdict, with the need that it is about.
    pub fn judge_all<'n>(&self, needs: &'n Needs) -> (Judgement, &'n Need) {
        let mut worst = (self.judge(&needs.first), &needs.first);
        for need in &needs.more {
            let judgement = self.judge(need);
            if judgement.verdict.gravity() > worst.0.verdict.gravity() {
                worst = (judgement, need);
            }
        }
        worst
    }

    /// Answers a need.
    pub fn judge(&self, need: &Need) -> Judgement {
        match &need.operand {
            Operand::Command(line) if need.rule == "Bash" => shell::judge(self, line),
            _ => self.verdict(need).into(),
        }
    }

    fn verdict(&self, need: &Need) -> Verdict {
        let is_own = |rule: &Rule| rule.is_about(&need.rule);
        let touches = |rule: &&Rule| {
            (is_own(rule) || need.touches.contains(&&*rule.tool))
                && rule.pattern.as_ref().is_none_or(|pattern| pattern.touches(&need.operand, &self.roots))
        };
        let covers = |rule: &&Rule| {
            (is_own(rule) || need.allowed_by.contains(&&*rule.tool))
                && pattern::covers_repository(rule, &need.operand)
                && rule.pattern.as_ref().is_none_or(|pattern| pattern.covers(&need.operand, &self.roots))
        };
        let text = |rule: &Rule| Some(rule.text.clone());
        if let Some(rule) = self.deny.iter().find(touches) {
            Verdict::Deny(text(rule))
        } else if let Some(rule) = self.ask.iter().find(touches) {
            Verdict::Ask(text(rule))
        } else if let Some(rule) = self.allow.iter().find(covers) {
            Verdict::Allow(text(rule))
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

#[cfg(test)]
mod tests;
