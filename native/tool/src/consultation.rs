//! Questions of an operation to the host's chat model, and the replies.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question to a chat model. It needs neither tools nor history.
#[derive(Debug, Clone, Serialize)]
pub struct Consultation {
    /// The system prompt.
    pub system: String,
    /// The prompt, with all the material that it needs.
    pub prompt: String,
    /// The operation's state so far. The host sends it back unchanged.
    pub so_far: Value,
}

/// The result of a [`Consultation`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consulted {
    /// The model's reply, or why there is none.
    pub reply: Reply,
    /// The operation's state, as it was sent.
    pub so_far: Value,
}

/// The reply of a chat model.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The answer.
    Answer(String),
    /// Why there is no answer.
    Failed(String),
}
