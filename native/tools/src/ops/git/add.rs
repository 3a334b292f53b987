//! `git_add`.

#[cfg(feature = "port")]
use super::path::path_below;
use crate::context::{CallContext, Stop};
use crate::error::Result;
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::{Need, Operand};
use crate::tool::Traits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stages the present content of a file or directory for the next commit; deletions too.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Add {
    /// File or directory to stage; "." for everything. A plain path: no wildcards, no options.
    pub path: String,
}

/// What [`Add`] returns.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Added {
    /// Whether the path is staged now.
    pub ok: bool,
    /// Files whose staged content changed, deleted ones included.
    pub files: Vec<String>,
    /// Whether `files` leaves some out because the list would be too long; they are staged all the same.
    pub truncated: bool,
    /// False where the workspace has no git repository that this tool may use.
    pub available: bool,
    /// What was left alone and why; where `available` is false, what to do instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Operation for Add {
    type Output = Added;
    const TRAITS: Traits = Traits { idempotent: true, ..super::WRITES };
    const RULE: &'static str = "GitAdd";

    fn need(&self, cx: &CallContext) -> Result<Need> {
        let operand = Operand::File(super::path::named(cx, &self.path)?);
        Ok(Need { rule: Self::RULE.into(), touches: &[], allowed_by: &[], is_safe: false, operand })
    }

    fn run(self, cx: &CallContext) -> Result<Added, Stop> {
        super::in_port!(self.answered(cx), cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::added(result, call, page)
    }
}

#[cfg(feature = "port")]
impl Add {
    fn answered(&self, cx: &CallContext) -> Result<Added, Stop> {
        match self.add(cx) {
            Ok(added) => Ok(added),
            Err(super::fail::Fail::Unavailable(why)) => {
                Ok(Added { notes: vec![super::answer::hint(&why)], ..Added::default() })
            }
            Err(super::fail::Fail::Error(error)) => Err(error.into()),
        }
    }

    fn add(&self, cx: &CallContext) -> super::fail::Outcome<Added> {
        let path = path_below(cx, &self.path)?;
        let repo = super::repo::Repo::open(cx, Some(&path))?;
        let below = repo.located.within(&path);
        let staged = super::stage::stage(&repo, &below, cx)?;
        let mut room = cx.limits.content_bytes;
        let mut files = Vec::new();
        for file in staged.files.iter().map(|file| super::path::shown(&repo.located.outside(file))) {
            let Some(left) = room.checked_sub(file.len()) else { break };
            room = left;
            files.push(file);
        }
        let truncated = files.len() < staged.files.len();
        Ok(Added { ok: true, files, truncated, available: true, notes: staged.notes })
    }
}
