//! `git_log`.

use super::answer::Answer;
use crate::context::{CallContext, Stop};
use crate::error::Result;
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::{Need, Operand};
use crate::tool::Traits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shows the commits that lead to the current one, youngest first.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Log {
    /// Most commits to show.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: u64,
    /// True for one line a commit: the abbreviated hash and the subject.
    #[serde(default)]
    pub oneline: bool,
}

fn twenty() -> u64 {
    20
}

/// What [`Log`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct History {
    /// The text and what is to be said of it.
    #[serde(flatten)]
    pub answer: Answer,
    /// Whether there are older commits than those shown.
    pub has_more: bool,
}

impl Operation for Log {
    type Output = History;
    const TRAITS: Traits = super::READS;
    const RULE: &'static str = "GitLog";

    fn need(&self, _: &CallContext) -> Result<Need> {
        let read = &["Read"];
        let operand = Operand::None;
        Ok(Need { rule: Self::RULE.into(), touches: read, allowed_by: read, is_safe: true, operand })
    }

    fn run(self, cx: &CallContext) -> Result<History, Stop> {
        super::in_port!(self.answered(cx), cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::printed(result, call, page)
    }
}

#[cfg(feature = "port")]
impl Log {
    fn answered(&self, cx: &CallContext) -> Result<History, Stop> {
        let mut has_more = false;
        let answer = super::answered(self.log(cx, &mut has_more))?;
        Ok(History { answer, has_more })
    }

    fn log(&self, cx: &CallContext, has_more: &mut bool) -> super::fail::Outcome<Answer> {
        use super::text::{branch, history};
        let repo = super::repo::Repo::open(cx, None)?;
        let mut page = super::answer::Page::new(cx.limits.content_bytes);
        match repo.head()? {
            Some(head) => *has_more = history::print(&repo, head, self.limit, self.oneline, cx, &mut page)?,
            None => page.line(&branch::without_commits(&repo)?),
        }
        Ok(page.answer())
    }
}
