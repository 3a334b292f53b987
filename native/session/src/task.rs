//! Delegation of work to a sub-agent.
//!
//! The core runs no agents: an operation stops with the task, the host has a sub-agent do it and makes the same call
//! again, with the [`DelegationReport`].

mod for_model;

use beamai_base::{Reason, Result, ToolError, excerpt};
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::delegation::{Delegation, DelegationReport, DelegationState, TokenUsage};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum length of an agent's name in characters.
const NAME: usize = 64;

/// Delegates a task to a sub-agent.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SubAgentTask {
    /// Name of the sub-agent.
    #[schemars(extend("self_evident" = true))]
    pub agent: String,
    /// Everything it needs to know: it does not see this conversation.
    pub objective: String,
}

/// What [`SubAgentTask`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SubAgentOutput {
    /// What the sub-agent did and found, in its own words; if it did not complete, its progress.
    pub summary: String,
    /// How it ended: completed, failed, out_of_budget or cancelled.
    pub state: DelegationState,
    /// The error, unless it completed.
    pub error: Option<String>,
    /// Number of its tool calls.
    pub tool_calls: u64,
    /// Tokens that its model used.
    pub usage: TokenUsage,
}

impl From<DelegationReport> for SubAgentOutput {
    fn from(
        DelegationReport { summary, state, error, tool_calls, usage, agent: _ }: DelegationReport,
    ) -> Self {
        Self { summary, state, error, tool_calls, usage }
    }
}

impl Operation for SubAgentTask {
    type Output = SubAgentOutput;
    const TRAITS: Traits =
        Traits { read_only: false, destructive: true, idempotent: false, open_world: true, ..Traits::PURE };
    const RULE: &'static str = "Task";
    const WAITS: bool = true;

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        self.check()?;
        let operand = Operand::Name(self.agent.clone());
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand,
        })
    }

    fn run(self, cx: &CallContext) -> Result<SubAgentOutput, Interrupt> {
        self.check()?;
        match &cx.report {
            Some(report) => Ok(report.clone().into()),
            None => Err(Interrupt::Delegate(Delegation { agent: self.agent, objective: self.objective })),
        }
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::done(result, call, page)
    }
}

impl SubAgentTask {
    fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(ToolError::new(Reason::InvalidArgument, message));
        let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if self.agent.is_empty() || !self.agent.chars().all(is_name) || self.agent.chars().count() > NAME {
            return refuse(format!(
                "agent {:?} is not a name: up to {NAME} letters, digits, \"_\", \"-\" and \".\"",
                excerpt(&self.agent)
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
    use super::SubAgentTask;
    use beamai_tool::{Tool, ToolBinding};

    #[test]
    fn a_sub_agent_may_take_any_time_and_is_asked_about() {
        let task = ToolBinding::<SubAgentTask>::new("task", "");
        assert!(task.waits() && task.requires_permission());
        assert_eq!(task.rule(), "Task");
    }
}
