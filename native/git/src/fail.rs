//! Why a git operation ended early.

use beamai_base::{Reason, ToolError};

/// An error, or the finding that there is no repository to work on.
#[derive(Debug)]
pub(super) enum GitError {
    /// No repository that may be used; the text completes "… because".
    Unavailable(String),
    /// Anything else.
    Error(ToolError),
}

/// What git operations return before they are answered.
pub(super) type GitResult<T> = Result<T, GitError>;

impl GitError {
    /// The state of the repository does not permit the call.
    pub(super) fn state(message: impl Into<String>) -> Self {
        Self::Error(ToolError::new(Reason::BadState, message))
    }

    /// The work would need a program that is never started here.
    pub(super) fn needs_shell(message: impl Into<String>) -> ToolError {
        ToolError::new(Reason::NeedsShell, message)
    }
}

impl From<ToolError> for GitError {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

impl From<git2::Error> for GitError {
    fn from(error: git2::Error) -> Self {
        let message = format!("git: {}", error.message());
        Self::Error(match error.code() {
            git2::ErrorCode::Locked => ToolError::new(
                Reason::Busy,
                format!("{message}; another git process is at work in the repository: try again later"),
            ),
            _ => ToolError::new(Reason::Io, message),
        })
    }
}
