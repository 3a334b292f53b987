//! What deny rules say of starts: they hold for every program, whoever starts it.

use super::called;
use crate::{
    rule::PermissionRule,
    words::{Certainty, CommandPattern},
};
use beamai_isolation::{HeldStart, ProgramStart, StartCoverage, StartDecision, StartJudge};
use std::sync::Arc;

/// The deny rules that are about commands.
#[derive(Debug, Clone, Default)]
pub struct DeniedStarts(Vec<(String, CommandPattern)>);

impl DeniedStarts {
    pub(crate) fn by(denied: &[PermissionRule]) -> Self {
        Self(patterns(denied))
    }

    /// The judge of programs that a host starts by its own choice; none where no rule denies any.
    pub fn judge(&self) -> Option<Arc<dyn StartJudge>> {
        (!self.is_empty()).then(|| Arc::new(self.clone()) as Arc<dyn StartJudge>)
    }

    /// Whether no rule denies any start.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules as they are written.
    pub fn rules(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(rule, _)| rule)
    }

    /// The rule that denies a start. One that may hold, for all that is known of the arguments, does.
    pub fn rule(&self, start: &ProgramStart) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let forms = called::denied_forms(start);
        let denies = |(_, pattern): &&(String, CommandPattern)| {
            forms.iter().any(|words| pattern.holds(words) > Certainty::No)
        };
        self.0.iter().find(denies).map(|(rule, _)| &**rule)
    }
}

/// For programs that a host starts by its own choice, such as language servers: only what rules deny is kept from
/// them.
impl StartJudge for DeniedStarts {
    fn decide(&self, start: &ProgramStart) -> StartDecision {
        match self.rule(start) {
            Some(_) => StartDecision::Refuse,
            None => StartDecision::Start(StartCoverage::Everything),
        }
    }

    /// Nothing is asked.
    fn hold(&self, _: ProgramStart, held: Box<dyn HeldStart>) {
        held.refuse();
    }
}

/// The patterns of commands among rules, with the rules' texts.
pub(super) fn patterns(rules: &[PermissionRule]) -> Vec<(String, CommandPattern)> {
    rules.iter().filter_map(|rule| Some((rule.text.clone(), rule.command()?.clone()))).collect()
}
