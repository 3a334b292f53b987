//! The error type of all tools: five kinds, a reason, a message, details.
//!
//! A message says what was wrong, with the value, and what to do next. Models read it at least as often as people.

use crate::{HostHint, HostTerms, excerpt};
use serde_json::{Map, Value};
use std::fmt;

/// The result of a tool.
pub type Result<T, E = ToolError> = std::result::Result<T, E>;

/// The five kinds of errors for callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The policy or the workspace does not permit the call.
    PermissionDenied,
    /// The tool, file or directory does not exist.
    NotFound,
    /// The deadline has passed; the details contain the results so far.
    Timeout,
    /// An argument is invalid; the same call can never succeed.
    InvalidInput,
    /// The call was valid, but its work failed.
    ExecutionFailed,
}

impl ErrorKind {
    /// The kind's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PermissionDenied => "permission_denied",
            Self::NotFound => "not_found",
            Self::Timeout => "timeout",
            Self::InvalidInput => "invalid_input",
            Self::ExecutionFailed => "execution_failed",
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal : $kind:ident,)*) => {
        /// Why a call failed, finer than [`ErrorKind`]. Every reason belongs to exactly one kind.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Reason { $($(#[$doc])* $name,)* }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)*];

            /// The reason's name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The kind that the reason belongs to.
            pub fn kind(self) -> ErrorKind {
                match self { $(Self::$name => ErrorKind::$kind,)* }
            }
        }
    };
}

reasons! {
    /// No tool has that name.
    UnknownTool = "unknown_tool": NotFound,
    /// No file or directory has that path.
    NoSuchFile = "no_such_file": NotFound,
    /// The workspace has been moved, or is another directory now.
    WorkspaceGone = "workspace_gone": NotFound,
    /// No skill has that name.
    NoSuchSkill = "no_such_skill": NotFound,
    /// The session's temporary directory is gone; the host creates a new one.
    NoTempDir = "no_temp_dir": ExecutionFailed,
    /// No background command of the session has that id.
    NoSuchCommand = "no_such_command": NotFound,
    /// No sub-agent has that name.
    NoSuchAgent = "no_such_agent": NotFound,
    /// Unknown, missing, ill-typed or out-of-range arguments.
    InvalidArgument = "invalid_argument": InvalidInput,
    /// A regular expression or glob that cannot be compiled.
    InvalidPattern = "invalid_pattern": InvalidInput,
    /// The text to replace does not occur.
    NoMatch = "no_match": InvalidInput,
    /// The text to replace occurs more than once.
    Ambiguous = "ambiguous": InvalidInput,
    /// The path is not a regular file.
    NotAFile = "not_a_file": InvalidInput,
    /// The path is a directory, but a file is needed.
    IsADirectory = "is_a_directory": InvalidInput,
    /// The path is not a directory, but one is needed.
    NotADirectory = "not_a_directory": InvalidInput,
    /// The file is binary.
    BinaryFile = "binary_file": InvalidInput,
    /// Text cannot be read or written in that encoding.
    InvalidEncoding = "invalid_encoding": InvalidInput,
    /// The new text contains a placeholder for existing text, which would be lost.
    Placeholder = "placeholder": InvalidInput,
    /// The file to create already exists.
    AlreadyExists = "already_exists": InvalidInput,
    /// The input exceeds a limit.
    TooLarge = "too_large": InvalidInput,
    /// The path leaves the workspace.
    OutsideWorkspace = "outside_workspace": PermissionDenied,
    /// The opened file is not the one that a rule or a person allowed.
    Changed = "changed": PermissionDenied,
    /// A rule or a person denied the call.
    Denied = "denied": PermissionDenied,
    /// The call needs an approval, and nobody can be asked.
    NeedsApproval = "needs_approval": PermissionDenied,
    /// The operating system denied access.
    AccessDenied = "access_denied": PermissionDenied,
    /// The file changed since it was read.
    Stale = "stale": ExecutionFailed,
    /// The current state does not permit the call; something else must be done first.
    BadState = "bad_state": ExecutionFailed,
    /// It needs a program that this tool never starts; the shell can.
    NeedsShell = "needs_shell": ExecutionFailed,
    /// Too many calls are running; try again later.
    Busy = "busy": ExecutionFailed,
    /// The caller cancelled, or died.
    Cancelled = "cancelled": ExecutionFailed,
    /// The port program died, or this door cannot run the tool.
    DoorLost = "door_lost": ExecutionFailed,
    /// The tool panicked, which is a bug.
    Crash = "crash": ExecutionFailed,
    /// The operating system reported an error.
    Io = "io": ExecutionFailed,
    /// A language server exited, sent invalid data, or returned an error.
    LanguageServer = "language_server": ExecutionFailed,
    /// An MCP server exited, sent invalid data, or returned an error.
    McpServer = "mcp_server": ExecutionFailed,
    /// A tool of an MCP server reported failure.
    ToolFailed = "tool_failed": ExecutionFailed,
    /// The network or the remote server failed.
    Network = "network": ExecutionFailed,
    /// The host has not configured what the tool needs.
    NotConfigured = "not_configured": ExecutionFailed,
    /// The host has no sub-agents.
    NoAgents = "no_agents": ExecutionFailed,
    /// A required sandbox layer is not available.
    IsolationUnavailable = "isolation_unavailable": ExecutionFailed,
    /// The command exceeded its memory limit.
    OutOfMemory = "out_of_memory": ExecutionFailed,
    /// What was started had more processes than it may.
    TooManyProcesses = "too_many_processes": ExecutionFailed,
    /// The deadline has passed.
    Timeout = "timeout": Timeout,
}

/// An error as the caller gets it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The name under which the tool was called; empty until the engine sets it.
    pub tool: String,
    /// The reason.
    pub reason: Reason,
    /// What was wrong and what to do next.
    pub message: String,
    /// Data for programs: the file, the most similar lines, the output so far.
    pub details: Box<Map<String, Value>>,
    /// What the host can configure to make the call possible.
    pub hint: Option<Box<HostHint>>,
}

/// Key in an error's details, and in a result: what the host can configure to make the call possible. An error's
/// message ends with the same text, which is not meant for models.
pub const CONFIGURE: &str = "configure";

impl ToolError {
    /// An error without details.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { tool: String::new(), reason, message: message.into(), details: Box::default(), hint: None }
    }

    /// Adds one detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds what the host can configure to make the call possible.
    #[must_use]
    pub fn hint(self, hint: HostHint) -> Self {
        Self { hint: Some(Box::new(hint)), ..self }
    }

    /// Appends the hint, if there is one, to the message and to the details, in the terms of this host.
    #[must_use]
    pub fn in_terms(mut self, terms: HostTerms) -> Self {
        let Some(hint) = self.hint.take() else { return self };
        let hint = hint.in_terms(terms);
        self.message = format!("{}. {hint}", self.message.trim_end_matches('.'));
        self.with(CONFIGURE, hint)
    }

    /// Sets the file that the error is about.
    #[must_use]
    pub fn file(self, path: impl fmt::Display) -> Self {
        self.with("file", path.to_string())
    }

    /// The error's kind.
    pub fn kind(&self) -> ErrorKind {
        self.reason.kind()
    }

    /// An operating system error about `path`, with the matching reason. `action` completes "cannot …".
    pub fn io(action: &str, path: impl fmt::Display, error: impl Into<std::io::Error>) -> Self {
        let error = error.into();
        let (reason, advice) = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::NOENT) => {
                (Reason::NoSuchFile, "; check the path, or search for it by its name")
            }
            Some(rustix::io::Errno::NOTDIR) => (Reason::NotADirectory, "; a part of the path is a file"),
            Some(rustix::io::Errno::ISDIR) => (Reason::IsADirectory, "; name a file in it"),
            Some(rustix::io::Errno::XDEV) => (Reason::OutsideWorkspace, "; use a path inside the workspace"),
            Some(rustix::io::Errno::LOOP) => {
                (Reason::InvalidArgument, "; the path is a loop of symbolic links")
            }
            Some(rustix::io::Errno::NAMETOOLONG) => (Reason::InvalidArgument, "; use a shorter path"),
            Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
                (Reason::AccessDenied, "; the operating system does not permit it")
            }
            Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => {
                (Reason::Busy, "; too many open files: try again later")
            }
            _ => (Reason::Io, ""),
        };
        let path = path.to_string();
        let message = format!("cannot {action} {}: {}{advice}", excerpt(&path), describe(&error));
        Self::new(reason, message).file(path)
    }

    /// The error as a JSON object with the keys `tool`, `error_type`, `message`, `details`.
    pub fn to_value(&self) -> Value {
        let mut details = Map::new();
        details.insert("reason".to_owned(), self.reason.as_str().into());
        details.extend((*self.details).clone());
        serde_json::json!({
            "tool": self.tool,
            "error_type": self.kind().as_str(),
            "message": self.message,
            "details": details,
        })
    }
}

/// For conversions that cannot fail.
impl From<std::convert::Infallible> for ToolError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The operating system's text without Rust's "(os error N)".
pub fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}
