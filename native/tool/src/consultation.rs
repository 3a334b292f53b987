//! What an operation asks the host's chat model, and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question to a chat model. It needs no tools and no history to be answered.
#[derive(Debug, Clone, Serialize)]
pub struct Consultation {
    /// What the model is told to be.
    pub system: String,
    /// What it is asked, with all the material that it needs.
    pub prompt: String,
    /// What the operation has so far. The host sends it back as it is.
    pub so_far: Value,
}

/// What came of a [`Consultation`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consulted {
    /// What the model said, or why it said nothing.
    pub reply: Reply,
    /// The operation's own part, as it was sent out.
    pub so_far: Value,
}

/// What a chat model said.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Its answer.
    Answer(String),
    /// Why there is none.
    Failed(String),
}
