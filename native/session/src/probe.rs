//! Operations of the dialect `probe`, for tests of the doors.

use beamai_base::Result;
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{CallContext, Interrupt, Operation, Traits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

fn harmless() -> Result<PermissionRequest> {
    Ok(PermissionRequest {
        rule: "Probe".into(),
        touches: &[],
        allowed_by: &[],
        is_safe: true,
        operand: Operand::None,
    })
}

/// Does nothing.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Noop {
    /// Returned unchanged.
    #[serde(default)]
    echo: Option<String>,
}

/// What [`Noop`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Echo {
    /// The argument, or null.
    echo: Option<String>,
}

impl Operation for Noop {
    type Output = Echo;
    const TRAITS: Traits = Traits::PURE;
    const RULE: &'static str = "Probe";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        harmless()
    }

    fn run(self, _: &CallContext) -> Result<Echo, Interrupt> {
        Ok(Echo { echo: self.echo })
    }
}

/// Waits.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Sleep {
    /// Milliseconds to wait.
    #[schemars(range(min = 0))]
    duration: u64,
}

/// What [`Sleep`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Slept {
    /// Milliseconds waited.
    slept: u64,
}

impl Operation for Sleep {
    type Output = Slept;
    const TRAITS: Traits = Traits::SEARCHES;
    const RULE: &'static str = "Probe";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        harmless()
    }

    fn run(self, cx: &CallContext) -> Result<Slept, Interrupt> {
        let end = Instant::now() + Duration::from_millis(self.duration);
        while Instant::now() < end {
            cx.check()?;
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(10)));
            cx.report(serde_json::json!({"left": u64::try_from(left.as_millis()).unwrap_or(u64::MAX)}));
        }
        Ok(Slept { slept: self.duration })
    }
}

/// Crashes.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Panic {}

impl Operation for Panic {
    type Output = Echo;
    const TRAITS: Traits = Traits::READS;
    const RULE: &'static str = "Probe";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        harmless()
    }

    fn run(self, _: &CallContext) -> Result<Echo, Interrupt> {
        panic!("asked to crash")
    }
}
