//! Work that a sub-agent of the host does, and what came of it.

use beamai_base::{Reason, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a sub-agent is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delegation {
    /// Its name.
    pub agent: String,
    /// What is to be achieved.
    pub objective: String,
}

impl Delegation {
    /// The error of a host that has no sub-agents.
    pub fn nobody(&self) -> ToolError {
        let message = format!(
            "there are no sub-agents, so {:?} cannot be asked; the host names them in the kernel's option agents, and \
             the chat model that they use in the context's model; do the work yourself",
            self.agent
        );
        ToolError::new(Reason::NoAgents, message).with("agent", self.agent.as_str())
    }
}

/// What came of it, from the host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationReport {
    /// What the sub-agent did and found, in its own words.
    pub summary: String,
    /// How it ended.
    #[serde(default)]
    pub state: DelegationState,
    /// Why, unless it completed.
    #[serde(default)]
    pub error: Option<String>,
    /// Name of the sub-agent, which the call has, too.
    #[serde(default)]
    pub agent: String,
    /// How many calls of tools it made.
    #[serde(default)]
    pub tool_calls: u64,
    /// What its model used.
    #[serde(default)]
    pub usage: TokenUsage,
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationState {
    /// It has done the work.
    #[default]
    Completed,
    /// It could not go on.
    Failed,
    /// Its tokens, its time or its turns were used up.
    OutOfBudget,
    /// It was told to stop.
    Cancelled,
}

/// Tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Of those read, how many came from a cache.
    pub cached_tokens: u64,
    /// Read and written.
    pub total_tokens: u64,
}
