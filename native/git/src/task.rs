//! The operations of a worker, as sent between processes.

use crate::page::{LimitedText, hint, unavailable};
use crate::text::diff::{DiffRequest, diff as print_diff};
use crate::text::{branch, history, short, status};
use crate::{record, stage};
use beamai_base::{Reason, Result, ToolError};
use beamai_git_repository::{GitCall, GitError, GitResult, Repo};
use beamai_port_tools::git::path::shown;
use beamai_port_tools::git::{GitAddOutput, GitCommitOutput, GitLogOutput, GitText};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One operation with its arguments. Paths are relative to the workspace, without `.` and `..`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// `git_status`.
    Status {
        /// One line per path.
        short: bool,
        /// Lines to skip.
        offset: u64,
    },
    /// `git_diff`.
    Diff {
        /// Compare with what the next commit would contain.
        staged: bool,
        /// Number of changed lines per file instead of the lines.
        stat: bool,
        /// The commit to compare with.
        commit: Option<String>,
        /// Only changes below this path.
        path: Option<Vec<u8>>,
        /// Lines to skip.
        offset: u64,
    },
    /// `git_log`.
    Log {
        /// Maximum number of commits.
        limit: u64,
        /// Commits to skip.
        skip: u64,
        /// One line per commit.
        oneline: bool,
    },
    /// `git_add`.
    Add {
        /// The path to stage.
        path: Vec<u8>,
    },
    /// `git_commit`.
    Commit {
        /// The message as given.
        message: String,
    },
}

impl Task {
    /// The path that selects the repository.
    pub(crate) fn path(&self) -> Option<&[u8]> {
        match self {
            Self::Diff { path, .. } => path.as_deref(),
            Self::Add { path } => Some(path),
            _ => None,
        }
    }

    /// Runs the operation. Returns the result of the corresponding git tool.
    ///
    /// # Errors
    /// Those of the operation.
    pub(crate) fn run(&self, call: &GitCall) -> Result<Value> {
        match self {
            Self::Status { short, offset } => answered(status_page(*short, *offset, call), unavailable),
            Self::Diff { staged, stat, commit, path, offset } => {
                let request =
                    DiffRequest { staged: *staged, stat: *stat, commit: commit.as_deref(), offset: *offset };
                answered(diff_page(&request, path.as_deref(), call), unavailable)
            }
            Self::Log { limit, skip, oneline } => {
                let none = |why: &str| GitLogOutput { answer: unavailable(why), has_more: false };
                answered(log_page((*skip, *limit), *oneline, call), none)
            }
            Self::Add { path } => {
                let none = |why: &str| GitAddOutput { notes: vec![hint(why)], ..GitAddOutput::default() };
                answered(stage_path(path, call), none)
            }
            Self::Commit { message } => {
                let none = |why: &str| GitCommitOutput { content: hint(why), ..GitCommitOutput::default() };
                answered(commit(message, call), none)
            }
        }
    }

    /// The answer when there is no usable repository.
    pub(crate) fn unavailable(&self, why: &str) -> Result<Value> {
        match self {
            Self::Status { .. } | Self::Diff { .. } => value(&unavailable(why)),
            Self::Log { .. } => value(&GitLogOutput { answer: unavailable(why), has_more: false }),
            Self::Add { .. } => value(&GitAddOutput { notes: vec![hint(why)], ..GitAddOutput::default() }),
            Self::Commit { .. } => {
                value(&GitCommitOutput { content: hint(why), ..GitCommitOutput::default() })
            }
        }
    }
}

/// The result of an operation, or its substitute when there is no repository.
fn answered<T: Serialize>(outcome: GitResult<T>, none: impl FnOnce(&str) -> T) -> Result<Value> {
    match outcome {
        Ok(result) => value(&result),
        Err(GitError::Unavailable(why)) => value(&none(&why)),
        Err(GitError::Error(error)) => Err(error),
    }
}

fn value(result: &impl Serialize) -> Result<Value> {
    serde_json::to_value(result)
        .map_err(|error| ToolError::new(Reason::Crash, format!("the result cannot be serialized: {error}")))
}

fn status_page(is_short: bool, offset: u64, call: &GitCall) -> GitResult<GitText> {
    let repo = Repo::open(call, None)?;
    let staging = repo.staging(call)?;
    let mut page = LimitedText::new(call.limits.content_bytes).without_first(offset);
    let status = status::StatusReport::read(&repo, &staging, call, &mut page)?;
    match is_short {
        true => short::print(&status, &mut page),
        false => status.print(&mut page)?,
    }
    repo.replacements().into_iter().for_each(|note| page.note(note));
    Ok(page.answer())
}

fn diff_page(request: &DiffRequest<'_>, path: Option<&[u8]>, call: &GitCall) -> GitResult<GitText> {
    let repo = Repo::open(call, path)?;
    let below = repo.located.within(path.unwrap_or_default());
    print_diff(&repo, request, &below, call)
}

fn log_page((skip, limit): (u64, u64), oneline: bool, call: &GitCall) -> GitResult<GitLogOutput> {
    let repo = Repo::open(call, None)?;
    let mut page = LimitedText::new(call.limits.content_bytes);
    let mut has_more = false;
    match repo.head()? {
        Some(head) => has_more = history::print(&repo, head, (skip, limit), oneline, call, &mut page)?,
        None => page.line(&branch::without_commits(&repo)?),
    }
    repo.replacements().into_iter().for_each(|note| page.note(note));
    Ok(GitLogOutput { answer: page.answer(), has_more })
}

fn stage_path(path: &[u8], call: &GitCall) -> GitResult<GitAddOutput> {
    let repo = Repo::open(call, Some(path))?;
    let below = repo.located.within(path);
    let staged = stage::stage(&repo, &below, call)?;
    let mut room = call.limits.content_bytes;
    let mut files = Vec::new();
    for file in staged.files.iter().map(|file| shown(&repo.located.outside(file))) {
        let Some(left) = room.checked_sub(file.len()) else { break };
        room = left;
        files.push(file);
    }
    let truncated = files.len() < staged.files.len();
    Ok(GitAddOutput { ok: true, files, truncated, available: true, notes: staged.notes })
}

fn commit(message: &str, call: &GitCall) -> GitResult<GitCommitOutput> {
    let repo = Repo::open(call, None)?;
    let recorded = record::record(&repo, message, call)?;
    let lines = recorded.lines;
    Ok(GitCommitOutput {
        ok: true,
        commit: Some(recorded.id.to_string()),
        content: recorded.line,
        files: Some(recorded.files as u64),
        additions: lines.map(|(added, _)| added as u64),
        deletions: lines.map(|(_, deleted)| deleted as u64),
        available: true,
    })
}
