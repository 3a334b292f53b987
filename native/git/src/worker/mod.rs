//! The worker: this program, started again in the sandbox, which runs the operations of the git tools.
//!
//! ```text
//! port ── client::ask ──► an idle worker of the same confinement, or a new one
//!  │  request: task, workspace, limits          (JSON frames over the worker's standard input and output)
//!  │  ◄── which of these paths do rules deny?  ──► answer
//!  │  ◄── lock files that it is about to create  ──► a keeper knows of them
//!  │  ◄── result
//! ```
//!
//! libgit2 works with paths, and a path can be exchanged before it is used. In the sandbox that is harmless: everything
//! is read-only except the repository's own directory. Files that rules deny look as they are to a worker, since a file
//! that looks empty would be staged as empty, but Landlock keeps it from reading them, whatever leads libgit2 there; and the
//! port is asked about each path before it is shown. A worker cannot start programs: its system call filter forbids it.
//!
//! A worker runs one task at a time. It is kept for the next one, and killed when it has been idle for some time, when
//! its call is cancelled, and when it misses its deadline.

mod client;
mod confine;
mod frame;
mod idle;
mod keeper;
mod locks;
mod server;

pub use keeper::{KEEPER, keeper_main};
pub use server::worker_main;

use crate::task::Task;
use crate::work::{GitOperation, done};
use beamai_base::{Reason, ToolError};
use beamai_git_repository::HostSettings;
use beamai_port_tools::git::{GitAdd, GitCommit, GitDiff, GitLog, GitStatus};
use beamai_tool::{CallContext, Interrupt, OperationBackend, Services};
use beamai_workspace::WorkspaceId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The subcommand of the port program that runs a worker.
pub const COMMAND: &str = "git-worker";

/// Registers the git tools' backends, running in workers.
#[must_use]
pub fn serve(services: Services) -> Services {
    services
        .with(OperationBackend(by_worker::<GitStatus>))
        .with(OperationBackend(by_worker::<GitDiff>))
        .with(OperationBackend(by_worker::<GitLog>))
        .with(OperationBackend(by_worker::<GitAdd>))
        .with(OperationBackend(by_worker::<GitCommit>))
}

fn by_worker<O: GitOperation>(operation: O, cx: &CallContext) -> Result<O::Output, Interrupt> {
    done(operation, cx, client::ask)
}

/// A request to a worker.
#[derive(Debug, Serialize, Deserialize)]
struct WorkerRequest {
    task: Task,
    workspace: WorkspaceId,
    /// Maximum bytes of output text.
    content_bytes: usize,
    /// Maximum size of a file that is read.
    whole_file_bytes: u64,
    /// Milliseconds until the call's deadline.
    remaining: Option<u64>,
    /// Whether rules deny reading anything.
    is_guarded: bool,
    /// The host's settings. The same in all its requests.
    settings: HostSettings,
    /// Absolute paths that the worker must not read. The same in all its requests.
    hidden: Vec<Vec<u8>>,
}

/// A message from a worker.
#[derive(Debug, Serialize, Deserialize)]
enum WorkerMessage {
    /// Asks which of these paths (relative to the workspace, or absolute outside of it) rules deny. Answered with a
    /// list of booleans.
    Denied(Vec<Vec<u8>>),
    /// Announces files that it is about to create, relative to the common directory; none of them exists. Answered with
    /// `true`.
    Locks(Vec<Vec<u8>>),
    /// The result.
    Done(Value),
    /// The error.
    Failed(WorkerError),
}

/// An error, as sent between processes.
#[derive(Debug, Serialize, Deserialize)]
struct WorkerError {
    reason: String,
    message: String,
    details: Map<String, Value>,
}

/// The error if another directory has taken the place of one that a worker is to use.
fn exchanged() -> ToolError {
    ToolError::new(Reason::Stale, "the repository's directory changed while it was opened; try again")
}

impl From<ToolError> for WorkerError {
    fn from(error: ToolError) -> Self {
        let reason = error.reason.as_str().to_owned();
        Self { reason, message: error.message, details: *error.details }
    }
}

impl From<WorkerError> for ToolError {
    fn from(failed: WorkerError) -> Self {
        let known = Reason::ALL.iter().find(|reason| reason.as_str() == failed.reason);
        let mut error = Self::new(known.copied().unwrap_or(Reason::Crash), failed.message);
        *error.details = failed.details;
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_same_on_the_other_side() {
        let error = ToolError::new(Reason::NeedsShell, "no").with("files", vec!["a"]).file("x");
        let text = serde_json::to_string(&WorkerError::from(error.clone())).unwrap();
        assert_eq!(ToolError::from(serde_json::from_str::<WorkerError>(&text).unwrap()), error);
    }
}
