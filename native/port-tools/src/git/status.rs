//! `git_status`.

use super::answer::Answer;
use beamai_base::Result;
use beamai_policy::{Need, Operand};
use beamai_tool::{
    CallContext, Operation, Stop, Traits,
    for_model::{Fields, ModelCall, Page},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows what is staged, what is changed and what is untracked.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Status {
    /// One line per file.
    #[serde(default)]
    pub short: bool,
}

impl Operation for Status {
    type Output = Answer;
    const TRAITS: Traits = super::READS;
    const RULE: &'static str = "GitStatus";

    fn need(&self, _: &CallContext) -> Result<Need> {
        Ok(Need {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: true,
            operand: Operand::None,
        })
    }

    fn run(self, cx: &CallContext) -> Result<Answer, Stop> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}
