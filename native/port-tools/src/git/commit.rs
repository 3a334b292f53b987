//! `git_commit`.

use beamai_base::Result;
use beamai_policy::{CommandLine, Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Records what is staged as a new commit. Never changes an old one.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GitCommit {
    /// The message: a subject line, and after an empty line whatever else is to be said. It is text whatever it
    /// starts with, never an option.
    #[schemars(extend("self_evident" = true))]
    pub message: String,
}

/// What [`GitCommit`] returns.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct GitCommitOutput {
    /// Whether there is a new commit.
    pub ok: bool,
    /// Its full hash, or null.
    pub commit: Option<String>,
    /// The line that git prints: branch, abbreviated hash, subject. Where `available` is false, what to do
    /// instead.
    pub content: String,
    /// False where the workspace has no git repository that this tool may use.
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
        super::for_model::printed(result, call, page)
    }
}
