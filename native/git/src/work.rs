//! The work of each git tool.

use crate::fail::{GitError, GitResult};
use crate::page::{LimitedText, hint, unavailable};
use crate::repo::Repo;
use crate::text::diff::{DiffSides, diff as print_diff};
use crate::text::{branch, history, long, short};
use crate::{record, stage};
use beamai_port_tools::git::path::{path_below, shown};
use beamai_port_tools::git::{
    GitAdd, GitAddOutput, GitCommit, GitCommitOutput, GitDiff, GitLog, GitLogOutput, GitStatus, GitText,
};
use beamai_tool::{CallContext, Interrupt};

/// `git_status`.
pub(crate) fn status(call: GitStatus, cx: &CallContext) -> Result<GitText, Interrupt> {
    answered(status_page(&call, cx))
}

fn status_page(call: &GitStatus, cx: &CallContext) -> GitResult<GitText> {
    let repo = Repo::open(cx, None)?;
    let staging = repo.staging()?;
    let mut page = LimitedText::new(cx.limits.content_bytes);
    let status = long::StatusReport::read(&repo, &staging, cx, &mut page)?;
    match call.short {
        true => short::print(&status, &mut page),
        false => status.print(&mut page)?,
    }
    Ok(page.answer())
}

/// `git_diff`.
pub(crate) fn diff(call: GitDiff, cx: &CallContext) -> Result<GitText, Interrupt> {
    answered(diff_page(&call, cx))
}

fn diff_page(call: &GitDiff, cx: &CallContext) -> GitResult<GitText> {
    let path = call.path.as_deref().map(|path| path_below(cx, path)).transpose()?;
    let repo = Repo::open(cx, path.as_deref())?;
    let below = path.map_or_else(Vec::new, |path| repo.located.within(&path));
    let between = if call.staged { DiffSides::CommitAndStaging } else { DiffSides::StagingAndTree };
    print_diff(&repo, between, &below, cx)
}

/// `git_log`.
pub(crate) fn log(call: GitLog, cx: &CallContext) -> Result<GitLogOutput, Interrupt> {
    let mut has_more = false;
    let answer = answered(log_page(&call, cx, &mut has_more))?;
    Ok(GitLogOutput { answer, has_more })
}

fn log_page(call: &GitLog, cx: &CallContext, has_more: &mut bool) -> GitResult<GitText> {
    let repo = Repo::open(cx, None)?;
    let mut page = LimitedText::new(cx.limits.content_bytes);
    match repo.head()? {
        Some(head) => *has_more = history::print(&repo, head, call.limit, call.oneline, cx, &mut page)?,
        None => page.line(&branch::without_commits(&repo)?),
    }
    Ok(page.answer())
}

/// `git_add`.
pub(crate) fn add(call: GitAdd, cx: &CallContext) -> Result<GitAddOutput, Interrupt> {
    match stage_path(&call, cx) {
        Ok(added) => Ok(added),
        Err(GitError::Unavailable(why)) => {
            Ok(GitAddOutput { notes: vec![hint(&why)], ..GitAddOutput::default() })
        }
        Err(GitError::Error(error)) => Err(error.into()),
    }
}

fn stage_path(call: &GitAdd, cx: &CallContext) -> GitResult<GitAddOutput> {
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
    Ok(GitAddOutput { ok: true, files, truncated, available: true, notes: staged.notes })
}

/// `git_commit`.
pub(crate) fn commit(call: GitCommit, cx: &CallContext) -> Result<GitCommitOutput, Interrupt> {
    let recorded = Repo::open(cx, None).and_then(|repo| record::record(&repo, &call.message, cx));
    match recorded {
        Ok((id, content)) => {
            Ok(GitCommitOutput { ok: true, commit: Some(id.to_string()), content, available: true })
        }
        Err(GitError::Unavailable(why)) => {
            Ok(GitCommitOutput { content: hint(&why), ..GitCommitOutput::default() })
        }
        Err(GitError::Error(error)) => Err(error.into()),
    }
}

/// A text, or why there is none.
fn answered(outcome: GitResult<GitText>) -> Result<GitText, Interrupt> {
    match outcome {
        Ok(answer) => Ok(answer),
        Err(GitError::Unavailable(why)) => Ok(unavailable(&why)),
        Err(GitError::Error(error)) => Err(error.into()),
    }
}
