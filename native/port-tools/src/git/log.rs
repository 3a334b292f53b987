//! `git_log`.

use super::answer::GitText;
use beamai_base::Result;
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shows the ancestors of the current commit, newest first.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GitLog {
    /// Maximum number of commits to show.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 1000), extend("self_evident" = true))]
    pub limit: u64,
    /// Number of commits to skip first.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub skip: u64,
    /// True for one line per commit: the abbreviated hash and the subject.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub oneline: bool,
}

fn twenty() -> u64 {
    20
}

/// Result of [`GitLog`].
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct GitLogOutput {
    /// The text, with notes.
    #[serde(flatten)]
    pub answer: GitText,
    /// Whether there are older commits.
    pub has_more: bool,
}

impl Operation for GitLog {
    type Output = GitLogOutput;
    const TRAITS: Traits = super::READS;
    const RULE: &'static str = "GitLog";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(super::reading(Self::RULE, Operand::None))
    }

    fn run(self, cx: &CallContext) -> Result<GitLogOutput, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::logged(result, call, page)
    }
}
