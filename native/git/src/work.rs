//! Converts each git tool call to a task, for a worker or for this process.

use crate::kept::refuse_kept;
use crate::stage::refuse_nested;
use crate::task::Task;
use beamai_base::{Reason, Result, ToolError};
use beamai_git_repository::GitCall;
use beamai_port_tools::git::path::path_below;
use beamai_port_tools::git::{GitAdd, GitCommit, GitDiff, GitLog, GitStatus};
use beamai_tool::{CallContext, Interrupt, Operation, OperationBackend, Services};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Runs a task.
pub(crate) type TaskRunner = fn(&Task, &CallContext) -> Result<Value>;

/// An operation of the git tools.
pub(crate) trait GitOperation: Operation<Output: DeserializeOwned> {
    /// Converts the arguments to a task.
    ///
    /// # Errors
    /// For paths outside of the workspace, or in another repository.
    fn task(self, cx: &CallContext) -> Result<Task>;
}

impl GitOperation for GitStatus {
    fn task(self, _: &CallContext) -> Result<Task> {
        Ok(Task::Status { short: self.short, offset: self.offset })
    }
}

impl GitOperation for GitDiff {
    fn task(self, cx: &CallContext) -> Result<Task> {
        let path = self.path.as_deref().map(|path| path_below(cx, path)).transpose()?;
        let Self { staged, stat, commit, offset, .. } = self;
        Ok(Task::Diff { staged, stat, commit, path, offset })
    }
}

impl GitOperation for GitLog {
    fn task(self, _: &CallContext) -> Result<Task> {
        Ok(Task::Log { limit: self.limit, skip: self.skip, oneline: self.oneline })
    }
}

impl GitOperation for GitAdd {
    fn task(self, cx: &CallContext) -> Result<Task> {
        let path = path_below(cx, &self.path)?;
        refuse_nested(&path, &cx.workspace.unguarded())?;
        Ok(Task::Add { path })
    }
}

impl GitOperation for GitCommit {
    fn task(self, _: &CallContext) -> Result<Task> {
        Ok(Task::Commit { message: self.message })
    }
}

/// Registers the git tools' backends, running in this process.
#[must_use]
pub fn serve_here(services: Services) -> Services {
    services
        .with(OperationBackend(here::<GitStatus>))
        .with(OperationBackend(here::<GitDiff>))
        .with(OperationBackend(here::<GitLog>))
        .with(OperationBackend(here::<GitAdd>))
        .with(OperationBackend(here::<GitCommit>))
}

fn here<O: GitOperation>(operation: O, cx: &CallContext) -> Result<O::Output, Interrupt> {
    done(operation, cx, |task, cx| task.run(&GitCall::here(cx)))
}

/// Runs a task and parses its result.
pub(crate) fn done<O: GitOperation>(
    operation: O,
    cx: &CallContext,
    doer: TaskRunner,
) -> Result<O::Output, Interrupt> {
    let task = operation.task(cx)?;
    refuse_kept(&task, cx)?;
    let answer = doer(&task, cx)?;
    let unread = |error| ToolError::new(Reason::Crash, format!("an answer of git cannot be read: {error}"));
    Ok(serde_json::from_value(answer).map_err(unread)?)
}
