//! Polling and killing background commands.

use super::output::BackgroundOutput;
use beamai_base::{Reason, Result, ToolError, excerpt};
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Door, ExecutionClass, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

/// Returns the status of a background command, and its output since the last call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ShellPoll {
    /// Regular expression: only matching lines of the output are returned. Other lines are dropped, also for later
    /// calls.
    #[schemars(extend("unlisted" = true))]
    pub filter: Option<String>,
    /// The id that shell_exec returned for the command.
    #[schemars(extend("self_evident" = true))]
    pub id: String,
}

/// Kills a background command and everything that it started.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ShellKill {
    /// The id that shell_exec returned for the command.
    #[schemars(extend("self_evident" = true))]
    pub id: String,
}

impl ShellPoll {
    fn pattern(&self) -> Result<Option<Regex>> {
        let read = |text: &String| {
            Regex::new(text).map_err(|error| {
                // The library's message repeats the pattern in its first lines.
                let error = error.to_string();
                let why = error.lines().last().unwrap_or_default();
                let message =
                    format!("filter {:?} is not a regular expression: {}", excerpt(text), excerpt(why));
                ToolError::new(Reason::InvalidPattern, message)
            })
        };
        self.filter.as_ref().map(read).transpose()
    }
}

/// The permission of both: a caller that was allowed to start the command may poll and kill it.
fn harmless(rule: &str) -> PermissionRequest {
    PermissionRequest {
        rule: rule.into(),
        touches: &[],
        allowed_by: &[],
        is_safe: true,
        operand: Operand::None,
    }
}

impl Operation for ShellPoll {
    type Output = BackgroundOutput;
    const TRAITS: Traits = Traits { idempotent: false, door: Door::Port, ..Traits::READS };
    const RULE: &'static str = "BashOutput";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        self.pattern()?;
        Ok(harmless(Self::RULE))
    }

    fn run(self, cx: &CallContext) -> Result<BackgroundOutput, Interrupt> {
        let pattern = self.pattern()?;
        let mut output = cx.services.run(self, cx)?;
        if let Some(pattern) = pattern {
            output.keep_lines(&pattern);
        }
        Ok(output)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::polled(result, call, page)
    }
}

impl Operation for ShellKill {
    type Output = BackgroundOutput;
    const TRAITS: Traits = Traits {
        read_only: false,
        destructive: true,
        idempotent: true,
        open_world: false,
        door: Door::Port,
        pace: ExecutionClass::Long,
        session: false,
        asks_user: false,
    };
    const RULE: &'static str = "KillShell";
    const ASKS: bool = false;

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(harmless(Self::RULE))
    }

    fn run(self, cx: &CallContext) -> Result<BackgroundOutput, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::polled(result, call, page)
    }
}
