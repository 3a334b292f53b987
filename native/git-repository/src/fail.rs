//! Errors of git operations.

use beamai_base::{Reason, ToolError};

/// An error, or the reason why there is no usable repository.
#[derive(Debug)]
pub enum GitError {
    /// There is no usable repository. The text completes "… because".
    Unavailable(String),
    /// Anything else.
    Error(ToolError),
}

/// Result of a git operation before it is converted to an answer.
pub type GitResult<T> = Result<T, GitError>;

impl GitError {
    /// An error because of the repository's state.
    pub fn state(message: impl Into<String>) -> Self {
        Self::Error(ToolError::new(Reason::BadState, message))
    }

    /// git would read a file that this process cannot.
    pub fn unreadable(path: impl std::fmt::Display) -> ToolError {
        let message = format!(
            "{path} cannot be read by this tool: its mode, a permission rule or the list of secrets prevents it, and git \
             depends on it; use the shell tool for git"
        );
        ToolError::new(Reason::AccessDenied, message).file(path.to_string())
    }

    /// git would create a file where this process cannot.
    fn unwritable(path: &str) -> ToolError {
        let message = format!(
            "{path} cannot be created by this tool: the mode of its directory, or a permission rule about files there, \
             prevents it; use the shell tool for git"
        );
        ToolError::new(Reason::AccessDenied, message).file(path)
    }

    /// The operation would need a program that these tools never start.
    pub fn needs_shell(message: impl Into<String>) -> ToolError {
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
        let is_not_permitted = error.message().ends_with("Permission denied");
        let named = error.message().split('\'').nth(1).unwrap_or("a file");
        Self::Error(match error.code() {
            git2::ErrorCode::Locked if is_not_permitted => Self::unreadable(named),
            _ if is_not_permitted && error.message().starts_with("failed to create") => {
                Self::unwritable(named)
            }
            git2::ErrorCode::Locked => ToolError::new(
                Reason::Busy,
                format!("{message}; another git process is using the repository; try again later"),
            ),
            git2::ErrorCode::NotFound if error.class() == git2::ErrorClass::Odb => ToolError::new(
                Reason::NeedsShell,
                format!(
                    "{message}; a partial clone lacks objects until the git program fetches them: do the same with git in \
                     the shell (shell_exec, bash), with the network"
                ),
            ),
            _ => ToolError::new(Reason::Io, message),
        })
    }
}
