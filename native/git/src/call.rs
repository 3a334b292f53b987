//! What one operation may use: the workspace, its time, its limits, and who says what rules keep from being read.
//!
//! An operation runs in the worker, or, where there is none, in the process that was called. It is the same code; only
//! the answer to "may this path be shown" comes from elsewhere.

use beamai_base::{CancelToken, Reason, Result, ToolError};
use beamai_tool::{CallContext, Limits};
use beamai_workspace::Workspace;
use std::time::Instant;

/// What one operation may use.
pub(crate) struct GitCall {
    /// The workspace, without a guard.
    pub(crate) workspace: Workspace,
    /// Bounds on input and output, in bytes.
    pub(crate) limits: Limits,
    /// What rules keep from being read.
    pub(crate) denied: DeniedReads,
    /// Whether the Linux kernel keeps this process from reading and writing elsewhere, whatever links lead to.
    pub(crate) is_confined: bool,
    cancel: CancelToken,
    deadline: Option<Instant>,
    /// Hears of lock files that are about to be made.
    teller: Option<Teller>,
}

/// Hears of lock files that are about to be made, as paths relative to the directory that work trees share.
type Teller = Box<dyn Fn(&[Vec<u8>]) -> Result<()>>;

/// Says which paths rules keep from being read.
pub(crate) struct DeniedReads(Option<Judge>);

/// Answers for each path, relative to the workspace or absolute outside of it, whether it must be left out.
type Judge = Box<dyn Fn(&[Vec<u8>]) -> Result<Vec<bool>>>;

impl GitCall {
    /// The call of a context, for an operation that runs in this process.
    pub(crate) fn here(cx: &CallContext) -> Self {
        let guard = cx.guard.clone();
        let judge = move |paths: &[Vec<u8>]| Ok(paths.iter().map(|path| guard.hides_bytes(path)).collect());
        Self {
            workspace: cx.workspace.unguarded(),
            limits: cx.limits.clone(),
            denied: if cx.guard.is_open() { DeniedReads::none() } else { DeniedReads::by(judge) },
            is_confined: false,
            cancel: cx.cancel.clone(),
            deadline: cx.deadline,
            teller: None,
        }
    }

    /// A call that nobody cancels: whoever asked for it ends this process instead.
    pub(crate) fn alone(
        workspace: Workspace,
        limits: Limits,
        denied: DeniedReads,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            workspace,
            limits,
            denied,
            is_confined: false,
            cancel: CancelToken::new(),
            deadline,
            teller: None,
        }
    }

    /// The same call in a process that is confined, or is not.
    pub(crate) fn confined(self, is_confined: bool) -> Self {
        Self { is_confined, ..self }
    }

    /// The same call, which says what lock files it is about to make.
    pub(crate) fn telling(self, teller: impl Fn(&[Vec<u8>]) -> Result<()> + 'static) -> Self {
        Self { teller: Some(Box::new(teller)), ..self }
    }

    /// Says that these lock files are about to be made, none of which is there.
    ///
    /// # Errors
    /// When nobody hears it any more.
    pub(crate) fn tell_locks(&self, paths: &[Vec<u8>]) -> Result<()> {
        self.teller.as_ref().map_or(Ok(()), |teller| teller(paths))
    }

    /// Fails when the call was cancelled or its time is over.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::new(Reason::Cancelled, "the call was cancelled"));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(out_of_time()),
            _ => Ok(()),
        }
    }
}

/// The error of a call whose time is over.
pub(crate) fn out_of_time() -> ToolError {
    ToolError::new(Reason::Timeout, "time ran out; narrow the request or give it a longer timeout")
}

impl DeniedReads {
    /// Nothing is kept from being read.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// This judge is asked.
    pub(crate) fn by(judge: impl Fn(&[Vec<u8>]) -> Result<Vec<bool>> + 'static) -> Self {
        Self(Some(Box::new(judge)))
    }

    /// Whether nothing is kept from being read.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Whether each path must be left out.
    ///
    /// # Errors
    /// When whoever knows cannot be asked.
    pub(crate) fn of(&self, paths: &[Vec<u8>]) -> Result<Vec<bool>> {
        match &self.0 {
            Some(judge) if !paths.is_empty() => judge(paths),
            _ => Ok(vec![false; paths.len()]),
        }
    }
}
