//! `git_commit`.

use beamai_base::Result;
use beamai_policy::{CommandLine, Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commits what is staged. Never changes an existing commit.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GitCommit {
    /// The message: a subject line, then an empty line and further text if needed. Never parsed as an option.
    #[schemars(extend("self_evident" = true))]
    pub message: String,
}

/// Result of [`GitCommit`].
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct GitCommitOutput {
    /// Whether a commit was created.
    pub ok: bool,
    /// Its full hash, or null.
    pub commit: Option<String>,
    /// The line that git prints: branch, abbreviated hash, subject. If `available` is false, what to do instead.
    pub content: String,
    /// Number of files that the commit changes; absent if nothing was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Number of lines that it adds; absent if it changes too many files to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additions: Option<u64>,
    /// Number of lines that it deletes, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletions: Option<u64>,
    /// False if the workspace has no git repository that this tool can use.
    pub available: bool,
}

impl Operation for GitCommit {
    type Output = GitCommitOutput;
    const TRAITS: Traits = super::WRITES;
    const RULE: &'static str = "GitCommit";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        let quoted = self.message.replace('\'', "'\\''");
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::Command(CommandLine::plain(&format!("git commit -m '{quoted}'"))),
        })
    }

    fn run(self, cx: &CallContext) -> Result<GitCommitOutput, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::committed(result, call, page)
    }
}
