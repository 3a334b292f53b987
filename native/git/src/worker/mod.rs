//! The worker: this program again, in the sandbox, doing what the git tools are asked for.
//!
//! ```text
//! port ── client::ask ──► an idle worker of the same confinement, or a new one
//!   │  a request: the task, the workspace, the limits          (frames of JSON over its standard input and output)
//!   │  ◄── which of these paths do rules deny?  ──► answers
//!   │  ◄── locks that it is about to make
//!   │  ◄── the answer
//! ```
//!
//! libgit2 takes paths, and a path can lead elsewhere by the time it is used. In the sandbox it leads nowhere that could
//! be changed: all is read-only but the repository's own directory. Files that rules deny are not hidden from a worker,
//! for a file that looks empty would be staged as empty; the port is asked for each path that is to be shown. A worker
//! starts no program: the filter of its system calls has no way to.
//!
//! One worker does one task at a time. It is kept for the next one, and ended when nobody needs it, when its call is
//! cancelled, and when it is late.

mod client;
mod confine;
mod frame;
mod idle;
mod locks;
mod server;

pub use server::worker_main;

use crate::task::Task;
use crate::work::{GitOperation, done};
use beamai_base::{Reason, ToolError};
use beamai_port_tools::git::{GitAdd, GitCommit, GitDiff, GitLog, GitStatus};
use beamai_tool::{CallContext, Interrupt, OperationBackend, Services};
use beamai_workspace::WorkspaceId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The subcommand of the port program that is a worker.
pub const COMMAND: &str = "git-worker";

/// Adds the work of the git tools, done by workers.
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

/// What a worker is asked.
#[derive(Debug, Serialize, Deserialize)]
struct WorkerRequest {
    task: Task,
    workspace: WorkspaceId,
    /// Most bytes of a text.
    content_bytes: usize,
    /// Most bytes of a file that is read.
    whole_file_bytes: u64,
    /// Milliseconds that it may take.
    remaining: Option<u64>,
    /// Whether rules keep anything from being read.
    is_guarded: bool,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
enum WorkerMessage {
    /// Which of these paths, relative to the workspace or absolute, do rules deny? A list of booleans is the answer.
    Denied(Vec<Vec<u8>>),
    /// It is about to make these files, relative to the directory that the repository's work trees share; none of them
    /// is there.
    Locks(Vec<Vec<u8>>),
    /// The result.
    Done(Value),
    /// The error.
    Failed(WorkerError),
}

/// An error between two processes.
#[derive(Debug, Serialize, Deserialize)]
struct WorkerError {
    reason: String,
    message: String,
    details: Map<String, Value>,
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
