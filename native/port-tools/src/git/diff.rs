//! `git_diff`.

use super::answer::Answer;
use beamai_base::Result;
use beamai_policy::{Need, Operand};
use beamai_tool::{
    CallContext, Operation, Stop, Traits,
    for_model::{Fields, ModelCall, Page},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows changes as a unified diff.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Diff {
    /// Staged changes instead of unstaged ones.
    #[serde(default)]
    pub staged: bool,
    /// Only this file or directory. Without it, the whole repository.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub path: Option<String>,
}

impl Operation for Diff {
    type Output = Answer;
    const TRAITS: Traits = super::READS;
    const RULE: &'static str = "GitDiff";

    fn need(&self, cx: &CallContext) -> Result<Need> {
        let operand = match &self.path {
            Some(path) => Operand::File(super::path::named(cx, path)?),
            None => Operand::None,
        };
        let read = &["Read"];
        Ok(Need { rule: Self::RULE.into(), touches: read, allowed_by: read, is_safe: true, operand })
    }

    fn run(self, cx: &CallContext) -> Result<Answer, Stop> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}
