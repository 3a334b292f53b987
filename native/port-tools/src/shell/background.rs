//! Looking at commands in the background, and ending them.

use super::output::BackgroundOutput;
use beamai_base::Result;
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Door, ExecutionClass, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Tells how far a command in the background is, and what it has written since the last call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ShellPoll {
    /// The id that shell_exec gave for the command.
    pub id: String,
}

/// Kills a command in the background with everything that it started.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ShellKill {
    /// The id that shell_exec gave for the command.
    pub id: String,
}

/// What both ask leave for: whoever was allowed to start the command may look at it and end it.
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
        Ok(harmless(Self::RULE))
    }

    fn run(self, cx: &CallContext) -> Result<BackgroundOutput, Interrupt> {
        cx.services.run(self, cx)
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
