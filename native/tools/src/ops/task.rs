//! Work that is given to a sub-agent.
//!
//! The core runs no agents: an operation stops with what is to be done, the host has one of its sub-agents do it and
//! makes the same call again, with the [`Report`].

mod for_model;

use crate::context::{CallContext, Stop};
use crate::error::{Reason, Result, ToolError};
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::{Need, Operand};
use crate::tool::Traits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest name of an agent in characters.
const NAME: usize = 64;

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
pub struct Report {
    /// What the sub-agent did and found, in its own words.
    pub summary: String,
    /// How it ended.
    #[serde(default)]
    pub state: State,
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
    pub usage: Usage,
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
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
pub struct Usage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Of those read, how many came from a cache.
    pub cached_tokens: u64,
    /// Read and written.
    pub total_tokens: u64,
}

/// Has a sub-agent do something.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Task {
    /// Name of the sub-agent.
    pub agent: String,
    /// What it is to achieve, with everything that it needs to know: it sees nothing of this conversation.
    pub objective: String,
}

/// What [`Task`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Done {
    /// What the sub-agent did and found, in its own words; where it did not complete, how far it came.
    pub summary: String,
    /// How it ended: completed, failed, out_of_budget or cancelled.
    pub state: State,
    /// Why, unless it completed.
    pub error: Option<String>,
    /// How many calls of tools it made.
    pub tool_calls: u64,
    /// What its model used.
    pub usage: Usage,
}

impl From<Report> for Done {
    fn from(Report { summary, state, error, tool_calls, usage, agent: _ }: Report) -> Self {
        Self { summary, state, error, tool_calls, usage }
    }
}

impl Operation for Task {
    type Output = Done;
    const TRAITS: Traits =
        Traits { read_only: false, destructive: true, idempotent: false, open_world: true, ..Traits::THINKS };
    const RULE: &'static str = "Task";
    const WAITS: bool = true;

    fn need(&self, _: &CallContext) -> Result<Need> {
        self.check()?;
        let operand = Operand::Name(self.agent.clone());
        Ok(Need { rule: Self::RULE.into(), touches: &[], allowed_by: &[], is_safe: false, operand })
    }

    fn run(self, cx: &CallContext) -> Result<Done, Stop> {
        self.check()?;
        match &cx.report {
            Some(report) => Ok(report.clone().into()),
            None => Err(Stop::Delegate(Delegation { agent: self.agent, objective: self.objective })),
        }
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        for_model::done(result, call, page)
    }
}

impl Task {
    fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(ToolError::new(Reason::InvalidArgument, message));
        let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if self.agent.is_empty() || !self.agent.chars().all(is_name) || self.agent.chars().count() > NAME {
            return refuse(format!(
                "agent {:?} is not a name: up to {NAME} letters, digits, \"_\", \"-\" and \".\"",
                self.agent
            ));
        }
        if self.objective.trim().is_empty() {
            return refuse("objective is empty; say what is to be achieved".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue;

    #[test]
    fn a_sub_agent_may_take_any_time_and_is_asked_about() {
        let task = catalogue::find("task", None).unwrap();
        assert!(task.waits() && task.requires_permission());
        assert_eq!(
            (task.rule(), &crate::engine::listing(&**task)["timeout"]),
            ("Task", &serde_json::Value::Null)
        );
    }
}
