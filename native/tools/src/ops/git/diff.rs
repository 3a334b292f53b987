//! `git_diff`.

use super::answer::Answer;
#[cfg(feature = "port")]
use super::path::path_below;
use crate::context::{CallContext, Stop};
use crate::error::Result;
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::{Need, Operand};
use crate::tool::Traits;
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows changes as a unified diff.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Diff {
    /// True for what is staged for the next commit; false for what is changed and not staged yet.
    #[serde(default)]
    pub staged: bool,
    /// Only this file or directory. Without it, the whole repository.
    #[serde(default)]
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
        super::in_port!(super::answered(self.diff(cx)), cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}

#[cfg(feature = "port")]
impl Diff {
    fn diff(&self, cx: &CallContext) -> super::fail::Outcome<Answer> {
        use super::text::diff::{Between, diff};
        let path = self.path.as_deref().map(|path| path_below(cx, path)).transpose()?;
        let repo = super::repo::Repo::open(cx, path.as_deref())?;
        let below = path.map_or_else(Vec::new, |path| repo.located.within(&path));
        let between = if self.staged { Between::CommitAndStaging } else { Between::StagingAndTree };
        diff(&repo, between, &below, cx)
    }
}
