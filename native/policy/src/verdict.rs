//! What the judge answers.

use beamai_text::literal;

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

    pub(super) fn gravity(&self) -> u8 {
        match self {
            Self::Allow(_) => 0,
            Self::Ask(_) => 1,
            Self::Deny(_) => 2,
        }
    }
}

/// A verdict and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The part of a command that decided.
    pub part: Option<String>,
    /// Why, where the rule alone does not say it.
    pub why: Option<String>,
    /// Rules that would allow what is asked about.
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

    /// What decided, in words: `, for the part rm x, because …`; empty where the rule says it all.
    pub fn because(&self) -> String {
        let part =
            self.part.as_ref().map(|part| format!(", for the part {}", literal(part))).unwrap_or_default();
        let why = self.why.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
        part + &why
    }
}
