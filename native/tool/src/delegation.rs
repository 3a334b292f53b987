//! Work for a sub-agent of the host, and its result.

use beamai_base::{Reason, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The task of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delegation {
    /// Its name.
    pub agent: String,
    /// What to achieve.
    pub objective: String,
}

impl Delegation {
    /// The error for a host without sub-agents.
    pub fn nobody(&self) -> ToolError {
        let message = format!(
            "there are no sub-agents here, so {:?} cannot be asked; do the work yourself",
            self.agent
        );
        ToolError::new(Reason::NoAgents, message).with("agent", self.agent.as_str())
    }
}

/// The result, from the host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationReport {
    /// What the sub-agent did and found, in its own words.
    pub summary: String,
    /// How it ended.
    #[serde(default)]
    pub state: DelegationState,
    /// The error, unless it completed.
    #[serde(default)]
    pub error: Option<String>,
    /// Name of the sub-agent; the call states it too.
    #[serde(default)]
    pub agent: String,
    /// Number of its tool calls.
    #[serde(default)]
    pub tool_calls: u64,
    /// Tokens that its model used.
    #[serde(default)]
    pub usage: TokenUsage,
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationState {
    /// It has completed the work.
    #[default]
    Completed,
    /// It failed.
    Failed,
    /// Its token, time or turn budget is used up.
    OutOfBudget,
    /// It was cancelled.
    Cancelled,
}

/// Token counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Those of the input that came from a cache.
    pub cached_tokens: u64,
    /// Sum of input and output.
    pub total_tokens: u64,
}
