//! `git_diff`.

use super::answer::GitText;
use beamai_base::Result;
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows changes as a unified diff.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GitDiff {
    /// Staged changes instead of unstaged ones.
    #[serde(default)]
    pub staged: bool,
    /// Only this file or directory. Without it, the whole workspace.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub path: Option<String>,
    /// Changed lines per file only.
    #[serde(default)]
    pub stat: bool,
    /// Compare with this commit, such as HEAD~2.
    #[serde(default)]
    pub commit: Option<String>,
    /// Lines of the text to skip first.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub offset: u64,
}

impl Operation for GitDiff {
    type Output = GitText;
    const TRAITS: Traits = super::READS;
    const RULE: &'static str = "GitDiff";

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        let path = super::path::named(cx, self.path.as_deref().unwrap_or("."))?;
        Ok(super::reading(Self::RULE, Operand::File(path)))
    }

    fn run(self, cx: &CallContext) -> Result<GitText, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}
