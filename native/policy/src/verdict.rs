//! Verdicts.

use super::PermissionRequest;
use beamai_base::{HostHint, excerpt};
use beamai_text::literal;
use std::path::Path;

/// The verdict, with the deciding rule; `None` if the default mode decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call is allowed.
    Allow(Option<String>),
    /// The call needs approval.
    Ask(Option<String>),
    /// The call is denied.
    Deny(Option<String>),
}

impl Verdict {
    /// The verdict's name and its rule.
    pub fn parts(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Allow(rule) => ("allow", rule.as_deref()),
            Self::Ask(rule) => ("ask", rule.as_deref()),
            Self::Deny(rule) => ("deny", rule.as_deref()),
        }
    }

    pub(super) fn gravity(&self) -> u8 {
        match self {
            Self::Allow(_) => 0,
            Self::Ask(_) => 1,
            Self::Deny(_) => 2,
        }
    }
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The deciding part of a command.
    pub part: Option<String>,
    /// The reason, if the rule alone does not give it.
    pub why: Option<String>,
    /// Rules that would allow the call.
    pub wanted: Vec<String>,
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, part: None, why: None, wanted: vec![] }
    }
}

impl Judgement {
    /// A verdict on a part of a command.
    pub(super) fn on(verdict: Verdict, part: &str, why: Option<String>) -> Self {
        let part = (!part.is_empty()).then(|| part.to_owned());
        Self { verdict, part, why, wanted: vec![] }
    }

    /// The denial of a place of secrets.
    pub(super) fn on_secret(place: &Path) -> Self {
        let place = place.display();
        let why = format!("{place} is a place of secrets, which tools leave alone");
        Self { wanted: vec![format!("Read({place})")], ..Self::on(Verdict::Deny(None), "", Some(why)) }
    }

    /// How the host allows a request that is denied.
    pub fn hint(&self, permission: &PermissionRequest) -> HostHint {
        let remove = |rule: &str| {
            HostHint::new(
                format!("The rule {rule} is in the permissions of the kernel"),
                format!("The rule {rule} is in an option --deny, or in the settings"),
            )
        };
        match (self.verdict.parts().1, self.wanted.as_slice()) {
            (Some(rule), _) => remove(rule),
            (None, []) => HostHint::allow([&*permission.wanted()]),
            (None, wanted) => HostHint::allow(wanted.iter().map(String::as_str)),
        }
    }

    /// The reason in words, such as `, for the part rm x, because …`; empty if the rule says it all.
    pub fn because(&self) -> String {
        let part = self
            .part
            .as_ref()
            .map(|part| format!(", for the part {}", literal(&excerpt(part))))
            .unwrap_or_default();
        let why = self.why.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
        part + &why
    }
}
