//! What one operation may use: the workspace, its time and limits, and a judge that tells which paths rules deny.
//!
//! The same code runs in a worker and, where there is none, in the calling process. Each has its own judge.

use crate::repo::HostSettings;
use beamai_base::{CancelToken, Reason, Result, ToolError};
use beamai_tool::{CallContext, Limits};
use beamai_workspace::Workspace;
use std::time::Instant;

/// The environment of one operation.
pub struct GitCall {
    /// The workspace, without an access guard.
    pub workspace: Workspace,
    /// Limits on input and output, in bytes.
    pub limits: Limits,
    /// Which paths rules deny reading.
    pub denied: DeniedReads,
    /// The host's settings of git as the port sees them, who may see more than this process.
    pub host: HostSettings,
    /// Whether the sandbox confines this process, so that links cannot lead to other directories.
    pub is_confined: bool,
    cancel: CancelToken,
    deadline: Option<Instant>,
    /// Is told about lock files before they are created.
    teller: Option<Teller>,
}

/// Is told about lock files before they are created. Paths are relative to the common directory.
type Teller = Box<dyn Fn(&[Vec<u8>]) -> Result<()>>;

/// Tells which paths rules deny reading.
pub struct DeniedReads(Option<Judge>);

/// Tells for each path (relative to the workspace, or absolute outside of it) whether it must be left out.
type Judge = Box<dyn Fn(&[Vec<u8>]) -> Result<Vec<bool>>>;

impl GitCall {
    /// The environment of an operation in this process.
    pub fn here(cx: &CallContext) -> Self {
        Self {
            workspace: cx.workspace.unguarded(),
            limits: cx.limits.clone(),
            denied: DeniedReads::here(cx),
            host: HostSettings::now(),
            is_confined: false,
            cancel: cx.cancel.clone(),
            deadline: cx.deadline,
            teller: None,
        }
    }

    /// An environment that cannot be cancelled: to stop the operation, the parent ends this process.
    pub fn alone(
        workspace: Workspace,
        limits: Limits,
        denied: DeniedReads,
        host: HostSettings,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            workspace,
            limits,
            denied,
            host,
            is_confined: false,
            cancel: CancelToken::new(),
            deadline,
            teller: None,
        }
    }

    /// Sets whether this process is confined.
    pub fn confined(self, is_confined: bool) -> Self {
        Self { is_confined, ..self }
    }

    /// Sets the function that is told about lock files.
    pub fn telling(self, teller: impl Fn(&[Vec<u8>]) -> Result<()> + 'static) -> Self {
        Self { teller: Some(Box::new(teller)), ..self }
    }

    /// Announces that these lock files, none of which exists, are about to be created.
    ///
    /// # Errors
    /// If nobody receives the announcement any more.
    pub fn tell_locks(&self, paths: &[Vec<u8>]) -> Result<()> {
        self.teller.as_ref().map_or(Ok(()), |teller| teller(paths))
    }

    /// Checks for cancellation and timeout.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::new(Reason::Cancelled, "the call was cancelled"));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(out_of_time()),
            _ => Ok(()),
        }
    }
}

/// The timeout error.
pub fn out_of_time() -> ToolError {
    ToolError::new(Reason::Timeout, "time ran out; narrow the request or give it a longer timeout")
}

impl DeniedReads {
    /// Denies nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// What the rules of a call deny.
    pub fn here(cx: &CallContext) -> Self {
        if cx.guard.is_open() {
            return Self::none();
        }
        let guard = cx.guard.clone();
        Self::by(move |paths| Ok(paths.iter().map(|path| guard.hides_bytes(path)).collect()))
    }

    /// Asks this judge.
    pub fn by(judge: impl Fn(&[Vec<u8>]) -> Result<Vec<bool>> + 'static) -> Self {
        Self(Some(Box::new(judge)))
    }

    /// Whether nothing is denied.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Whether each path must be left out.
    ///
    /// # Errors
    /// If the judge cannot be asked.
    pub fn of(&self, paths: &[Vec<u8>]) -> Result<Vec<bool>> {
        match &self.0 {
            Some(judge) if !paths.is_empty() => judge(paths),
            _ => Ok(vec![false; paths.len()]),
        }
    }
}
