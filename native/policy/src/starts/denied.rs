//! Deny rules for starts. They hold for every program, whichever process starts it.

use super::called;
use super::program_rule::{self, ProgramRule};
use crate::rule::PermissionRule;
use beamai_isolation::{GuardJudge, HeldStart, ProgramStart, StartCoverage, StartDecision};
use beamai_path_rules::PathRoots;
use std::sync::Arc;

/// The deny rules that are about commands.
#[derive(Debug, Clone, Default)]
pub struct DeniedStarts {
    rules: Arc<Vec<PermissionRule>>,
    roots: PathRoots,
}

impl DeniedStarts {
    pub(crate) fn by(denied: &[PermissionRule], roots: &PathRoots) -> Self {
        let rules = denied.iter().filter(|rule| rule.command().is_some()).cloned().collect();
        Self { rules: Arc::new(rules), roots: roots.clone() }
    }

    /// The judge for programs that the host itself chose to start; `None` if there are no such deny rules.
    pub fn judge(&self) -> Option<Arc<dyn GuardJudge>> {
        (!self.is_empty()).then(|| Arc::new(self.prepared()) as Arc<dyn GuardJudge>)
    }

    /// Whether there are no such rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules' texts.
    pub fn rules(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().map(|rule| &rule.text)
    }

    /// The rules, with the files that their names lead to now.
    pub(super) fn prepared(&self) -> PreparedRules {
        PreparedRules(program_rule::prepared(&self.rules, &self.roots))
    }
}

/// Deny or ask rules, prepared for the starts of one command.
#[derive(Debug, Clone)]
pub(super) struct PreparedRules(Vec<ProgramRule>);

impl PreparedRules {
    pub(super) fn of(rules: &[PermissionRule], roots: &PathRoots) -> Self {
        Self(program_rule::prepared(rules, roots))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rule that matches a start. One that may match, given incomplete arguments, counts.
    pub(super) fn rule(&self, start: &ProgramStart) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let forms = called::denied_forms(start);
        self.0.iter().find(|rule| called::is_meant_by(rule, &forms, start)).map(|rule| &*rule.text)
    }
}

/// For programs that the host itself chose to start, such as language servers: they may start everything that no rule
/// denies.
impl GuardJudge for PreparedRules {
    fn decide(&self, start: &ProgramStart) -> StartDecision {
        match self.rule(start) {
            Some(_) => StartDecision::Refuse,
            None => StartDecision::Start(StartCoverage::Everything),
        }
    }

    fn admits(&self, start: &ProgramStart) -> bool {
        self.rule(start).is_none()
    }

    /// Never called with a start to ask about: no decision above is to hold one.
    fn hold(&self, _: ProgramStart, held: Box<dyn HeldStart>) {
        held.refuse();
    }
}
