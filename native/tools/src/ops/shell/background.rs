//! Looking at commands in the background, and ending them.

use super::output::BackgroundOutput;
use crate::context::{CallContext, Stop};
use crate::error::Result;
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::{Need, Operand};
use crate::tool::{Door, Pace, Traits};
use schemars::JsonSchema;
use serde::Deserialize;

#[cfg(not(all(feature = "port", target_os = "linux")))]
use super::not_here;
#[cfg(all(feature = "port", target_os = "linux"))]
use super::run;

/// Tells how far a command in the background is, and what it has written since the last call.
#[derive(Debug, Deserialize, JsonSchema)]
#[cfg_attr(
    not(all(feature = "port", target_os = "linux")),
    allow(dead_code, reason = "described everywhere, run by the port only")
)]
pub struct ShellPoll {
    /// The id that shell_exec gave for the command.
    id: String,
}

/// Kills a command in the background with everything that it started.
#[derive(Debug, Deserialize, JsonSchema)]
#[cfg_attr(
    not(all(feature = "port", target_os = "linux")),
    allow(dead_code, reason = "described everywhere, run by the port only")
)]
pub struct ShellKill {
    /// The id that shell_exec gave for the command.
    id: String,
}

/// What both ask leave for: whoever was allowed to start the command may look at it and end it.
fn harmless(rule: &str) -> Need {
    Need { rule: rule.into(), touches: &[], allowed_by: &[], is_safe: true, operand: Operand::None }
}

impl Operation for ShellPoll {
    type Output = BackgroundOutput;
    const TRAITS: Traits = Traits { idempotent: false, door: Door::Port, ..Traits::READS };
    const RULE: &'static str = "BashOutput";

    fn need(&self, _: &CallContext) -> Result<Need> {
        Ok(harmless(Self::RULE))
    }

    #[cfg(all(feature = "port", target_os = "linux"))]
    fn run(self, cx: &CallContext) -> Result<BackgroundOutput, Stop> {
        Ok(run::poll(&self.id, cx)?)
    }

    #[cfg(not(all(feature = "port", target_os = "linux")))]
    fn run(self, _: &CallContext) -> Result<BackgroundOutput, Stop> {
        Err(not_here())
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
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
        pace: Pace::Long,
        session: false,
        asks_user: false,
    };
    const RULE: &'static str = "KillShell";
    const ASKS: bool = false;

    fn need(&self, _: &CallContext) -> Result<Need> {
        Ok(harmless(Self::RULE))
    }

    #[cfg(all(feature = "port", target_os = "linux"))]
    fn run(self, cx: &CallContext) -> Result<BackgroundOutput, Stop> {
        Ok(run::kill(&self.id, cx)?)
    }

    #[cfg(not(all(feature = "port", target_os = "linux")))]
    fn run(self, _: &CallContext) -> Result<BackgroundOutput, Stop> {
        Err(not_here())
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::polled(result, call, page)
    }
}
