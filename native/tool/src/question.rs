//! Questions to a person, and the answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Suffix of the label of a recommended choice.
pub const RECOMMENDED: &str = " (Recommended)";

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// 1 to 5 words.
    pub label: String,
    /// What it means.
    #[schemars(extend("self_evident" = true))]
    pub description: String,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The question, a full sentence.
    #[schemars(extend("self_evident" = true))]
    pub question: String,
    /// Short label, at most 12 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// 2 to 4, the recommended one first; none for free text.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Whether several choices can be selected.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub multi_select: bool,
}

/// The result of asking, from the host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "answers")]
pub enum Answers {
    /// By question: labels or free text; several for a multiple choice.
    Answered(BTreeMap<String, Answer>),
    /// The person refused; earlier answers are discarded.
    Cancelled,
    /// There is nobody to ask.
    NoFrontend,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// A label or a text.
    One(String),
    /// Several labels or texts.
    Several(Vec<String>),
}

impl Answer {
    /// The answer with the label of this choice if the person was shown the marked one.
    pub fn unmarked(self, recommended: Option<&Choice>) -> Self {
        let label = |text: String| match recommended {
            Some(choice) if text.strip_suffix(RECOMMENDED) == Some(&choice.label) => choice.label.clone(),
            _ => text,
        };
        match self {
            Self::One(text) => Self::One(label(text)),
            Self::Several(texts) => Self::Several(texts.into_iter().map(label).collect()),
        }
    }

    /// The answer as one text.
    pub fn text(self) -> String {
        match self {
            Self::One(text) => text,
            Self::Several(texts) => texts.join(", "),
        }
    }
}
