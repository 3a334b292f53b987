//! `git_commit`.

use beamai_base::Result;
use beamai_policy::{CommandLine, Need, Operand};
use beamai_tool::{
    CallContext, Operation, Stop, Traits,
    for_model::{Fields, ModelCall, Page},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Records what is staged as a new commit. Never changes an old one.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Commit {
    /// The message: a subject line, and after an empty line whatever else is to be said. It is text whatever it
    /// starts with, never an option.
    #[schemars(extend("self_evident" = true))]
    pub message: String,
}

/// What [`Commit`] returns.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Committed {
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

impl Operation for Commit {
    type Output = Committed;
    const TRAITS: Traits = super::WRITES;
    const RULE: &'static str = "GitCommit";

    fn need(&self, _: &CallContext) -> Result<Need> {
        let quoted = self.message.replace('\'', "'\\''");
        Ok(Need {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::Command(CommandLine::plain(&format!("git commit -m '{quoted}'"))),
        })
    }

    fn run(self, cx: &CallContext) -> Result<Committed, Stop> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}
