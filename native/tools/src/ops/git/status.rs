//! `git_status`.

use super::answer::Answer;
use crate::context::{CallContext, Stop};
use crate::error::Result;
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::{Need, Operand};
use crate::tool::Traits;
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows what is staged, what is changed and what is untracked.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Status {
    /// True for one line a path, as `git status --short` prints it; false for the long form with branch, upstream
    /// and what is under way.
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
        super::in_port!(super::answered(self.status(cx)), cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}

#[cfg(feature = "port")]
impl Status {
    fn status(&self, cx: &CallContext) -> super::fail::Outcome<Answer> {
        use super::text::{long, short};
        let repo = super::repo::Repo::open(cx, None)?;
        let staging = repo.staging()?;
        let mut page = super::answer::Page::new(cx.limits.content_bytes);
        let status = long::Status::read(&repo, &staging, cx, &mut page)?;
        match self.short {
            true => short::print(&status, &mut page),
            false => status.print(&mut page)?,
        }
        Ok(page.answer())
    }
}
