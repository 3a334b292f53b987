//! `git_add`.

use beamai_base::Result;
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stages a file or directory for the next commit, including deletions.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GitAdd {
    /// "." for everything; no wildcards.
    pub path: String,
}

/// Result of [`GitAdd`].
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct GitAddOutput {
    /// Whether the path is staged now.
    pub ok: bool,
    /// Files whose staged content changed, including deleted ones.
    pub files: Vec<String>,
    /// Whether `files` is incomplete because the list would be too long; all of them are staged.
    pub truncated: bool,
    /// False if the workspace has no git repository that this tool can use.
    pub available: bool,
    /// What was skipped and why; if `available` is false, what to do instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Operation for GitAdd {
    type Output = GitAddOutput;
    const TRAITS: Traits = Traits { idempotent: true, ..super::WRITES };
    const RULE: &'static str = "GitAdd";

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        let operand = Operand::File(super::path::named(cx, &self.path)?);
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &["Read"],
            allowed_by: &[],
            is_safe: false,
            operand,
        })
    }

    fn run(self, cx: &CallContext) -> Result<GitAddOutput, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::added(result, call, page)
    }
}
