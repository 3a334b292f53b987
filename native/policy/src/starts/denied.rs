//! Deny rules for starts. They hold for every program, whichever process starts it.

use super::called;
use crate::{rule::PermissionRule, words::CommandPattern};
use beamai_isolation::{HeldStart, ProgramStart, StartCoverage, StartDecision, StartJudge};
use std::sync::Arc;

/// The deny rules that are about commands.
#[derive(Debug, Clone, Default)]
pub struct DeniedStarts(Vec<(String, CommandPattern)>);

impl DeniedStarts {
    pub(crate) fn by(denied: &[PermissionRule]) -> Self {
        Self(patterns(denied))
    }

    /// The judge for programs that the host itself chose to start; `None` if there are no such deny rules.
    pub fn judge(&self) -> Option<Arc<dyn StartJudge>> {
        (!self.is_empty()).then(|| Arc::new(self.clone()) as Arc<dyn StartJudge>)
    }

    /// Whether there are no such rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules' texts.
    pub fn rules(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(rule, _)| rule)
    }

    /// The rule that denies a start. A rule that may match, given incomplete arguments, counts.
    pub fn rule(&self, start: &ProgramStart) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let forms = called::denied_forms(start);
        let mut rules = self.0.iter();
        rules.find(|(_, pattern)| called::is_meant_by(pattern, &forms, start)).map(|(rule, _)| &**rule)
    }
}

/// For programs that the host itself chose to start, such as language servers: they may start everything that no rule
/// denies.
impl StartJudge for DeniedStarts {
    fn decide(&self, start: &ProgramStart) -> StartDecision {
        match self.rule(start) {
            Some(_) => StartDecision::Refuse,
            None => StartDecision::Start(StartCoverage::Everything),
        }
    }

    /// Never called with a start to ask about: no decision above is to hold one.
    fn hold(&self, _: ProgramStart, held: Box<dyn HeldStart>) {
        held.refuse();
    }
}

/// The command patterns among rules, with the rules' texts.
pub(super) fn patterns(rules: &[PermissionRule]) -> Vec<(String, CommandPattern)> {
    rules.iter().filter_map(|rule| Some((rule.text.clone(), rule.command()?.clone()))).collect()
}
