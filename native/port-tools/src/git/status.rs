//! `git_status`.

use super::answer::GitText;
use beamai_base::Result;
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows staged, changed and untracked files.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GitStatus {
    /// One line per file.
    #[serde(default)]
    pub short: bool,
    /// Lines of the text to skip first.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub offset: u64,
}

impl Operation for GitStatus {
    type Output = GitText;
    const TRAITS: Traits = super::READS;
    const RULE: &'static str = "GitStatus";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: true,
            operand: Operand::None,
        })
    }

    fn run(self, cx: &CallContext) -> Result<GitText, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}
