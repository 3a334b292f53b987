//! The work of each git tool.

use crate::fail::{Fail, Outcome};
use crate::page::{Page, hint, unavailable};
use crate::repo::Repo;
use crate::text::diff::{Between, diff as print_diff};
use crate::text::{branch, history, long, short};
use crate::{record, stage};
use beamai_port_tools::git::path::{path_below, shown};
use beamai_port_tools::git::{Add, Added, Answer, Commit, Committed, Diff, History, Log, Status};
use beamai_tool::{CallContext, Stop};

/// `git_status`.
pub(crate) fn status(call: Status, cx: &CallContext) -> Result<Answer, Stop> {
    answered(status_page(&call, cx))
}

fn status_page(call: &Status, cx: &CallContext) -> Outcome<Answer> {
    let repo = Repo::open(cx, None)?;
    let staging = repo.staging()?;
    let mut page = Page::new(cx.limits.content_bytes);
    let status = long::Status::read(&repo, &staging, cx, &mut page)?;
    match call.short {
        true => short::print(&status, &mut page),
        false => status.print(&mut page)?,
    }
    Ok(page.answer())
}

/// `git_diff`.
pub(crate) fn diff(call: Diff, cx: &CallContext) -> Result<Answer, Stop> {
    answered(diff_page(&call, cx))
}

fn diff_page(call: &Diff, cx: &CallContext) -> Outcome<Answer> {
    let path = call.path.as_deref().map(|path| path_below(cx, path)).transpose()?;
    let repo = Repo::open(cx, path.as_deref())?;
    let below = path.map_or_else(Vec::new, |path| repo.located.within(&path));
    let between = if call.staged { Between::CommitAndStaging } else { Between::StagingAndTree };
    print_diff(&repo, between, &below, cx)
}

/// `git_log`.
pub(crate) fn log(call: Log, cx: &CallContext) -> Result<History, Stop> {
    let mut has_more = false;
    let answer = answered(log_page(&call, cx, &mut has_more))?;
    Ok(History { answer, has_more })
}

fn log_page(call: &Log, cx: &CallContext, has_more: &mut bool) -> Outcome<Answer> {
    let repo = Repo::open(cx, None)?;
    let mut page = Page::new(cx.limits.content_bytes);
    match repo.head()? {
        Some(head) => *has_more = history::print(&repo, head, call.limit, call.oneline, cx, &mut page)?,
        None => page.line(&branch::without_commits(&repo)?),
    }
    Ok(page.answer())
}

/// `git_add`.
pub(crate) fn add(call: Add, cx: &CallContext) -> Result<Added, Stop> {
    match stage_path(&call, cx) {
        Ok(added) => Ok(added),
        Err(Fail::Unavailable(why)) => Ok(Added { notes: vec![hint(&why)], ..Added::default() }),
        Err(Fail::Error(error)) => Err(error.into()),
    }
}

fn stage_path(call: &Add, cx: &CallContext) -> Outcome<Added> {
    let path = path_below(cx, &call.path)?;
    let repo = Repo::open(cx, Some(&path))?;
    let below = repo.located.within(&path);
    let staged = stage::stage(&repo, &below, cx)?;
    let mut room = cx.limits.content_bytes;
    let mut files = Vec::new();
    for file in staged.files.iter().map(|file| shown(&repo.located.outside(file))) {
        let Some(left) = room.checked_sub(file.len()) else { break };
        room = left;
        files.push(file);
    }
    let truncated = files.len() < staged.files.len();
    Ok(Added { ok: true, files, truncated, available: true, notes: staged.notes })
}

/// `git_commit`.
pub(crate) fn commit(call: Commit, cx: &CallContext) -> Result<Committed, Stop> {
    let recorded = Repo::open(cx, None).and_then(|repo| record::record(&repo, &call.message, cx));
    match recorded {
        Ok((id, content)) => {
            Ok(Committed { ok: true, commit: Some(id.to_string()), content, available: true })
        }
        Err(Fail::Unavailable(why)) => Ok(Committed { content: hint(&why), ..Committed::default() }),
        Err(Fail::Error(error)) => Err(error.into()),
    }
}

/// A text, or why there is none.
fn answered(outcome: Outcome<Answer>) -> Result<Answer, Stop> {
    match outcome {
        Ok(answer) => Ok(answer),
        Err(Fail::Unavailable(why)) => Ok(unavailable(&why)),
        Err(Fail::Error(error)) => Err(error.into()),
    }
}
