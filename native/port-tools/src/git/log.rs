//! `git_log`.

use super::answer::Answer;
use beamai_base::Result;
use beamai_policy::{Need, Operand};
use beamai_tool::{
    CallContext, Operation, Stop, Traits,
    for_model::{Fields, ModelCall, Page},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shows the commits that lead to the current one, youngest first.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Log {
    /// Maximum number of commits to show.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 1000), extend("self_evident" = true))]
    pub limit: u64,
    /// True for one line a commit: the abbreviated hash and the subject.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub oneline: bool,
}

fn twenty() -> u64 {
    20
}

/// What [`Log`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct History {
    /// The text and what is to be said of it.
    #[serde(flatten)]
    pub answer: Answer,
    /// Whether there are older commits than those shown.
    pub has_more: bool,
}

impl Operation for Log {
    type Output = History;
    const TRAITS: Traits = super::READS;
    const RULE: &'static str = "GitLog";

    fn need(&self, _: &CallContext) -> Result<Need> {
        let read = &["Read"];
        let operand = Operand::None;
        Ok(Need { rule: Self::RULE.into(), touches: read, allowed_by: read, is_safe: true, operand })
    }

    fn run(self, cx: &CallContext) -> Result<History, Stop> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}
