//! What one call may use: workspace, time, cancel token, limits.

use crate::{
    Consultation, Consulted, SeenFiles, Services, Session, SkillSettings, WebSettings,
    delegation::{Delegation, DelegationReport},
    lsp_settings::LspSettings,
    question::{Answers, Question},
};
use beamai_base::{CancelToken, Reason, Result, ToolError};
use beamai_isolation::SandboxSettings;
use beamai_policy::{DeniedPaths, ReadGuard, RedirectPolicy, StartRules};
use beamai_workspace::Workspace;
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bounds on what one call reads and returns. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most bytes of text that a file tool returns in one answer.
    pub content_bytes: usize,
    /// Most bytes that a command's stdout, and its stderr, may put into the answer.
    pub output_bytes: usize,
    /// Most bytes of the file that holds a command's output where the answer has no room for it.
    pub output_file_bytes: u64,
    /// Files up to this size are read to their end for a hash and a line count.
    pub whole_file_bytes: u64,
    /// Most bytes of a diff in an answer.
    pub diff_bytes: usize,
    /// Largest image that is returned.
    pub image_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            content_bytes: 1 << 20,
            output_bytes: 64 << 10,
            output_file_bytes: 64 << 20,
            whole_file_bytes: 64 << 20,
            diff_bytes: 64 << 10,
            image_bytes: 5 << 20,
        }
    }
}

/// Receives progress messages of a running call.
pub type Progress = Arc<dyn Fn(serde_json::Value) + Send + Sync>;

/// Everything a tool may use while it runs.
#[derive(Clone)]
pub struct CallContext {
    /// The only way to files.
    pub workspace: Workspace,
    /// What searches must leave out.
    pub guard: ReadGuard,
    /// What rules say of where redirects lead.
    pub redirect_policy: RedirectPolicy,
    /// What rules keep from programs that are started.
    pub denied_paths: Arc<DeniedPaths>,
    /// What rules say of what this call's command starts; `None` where nothing of that has to be decided.
    pub starts: Option<Arc<StartRules>>,
    /// Whether the host can have somebody asked while the call runs. Questions come with its progress.
    pub asks_starts: bool,
    /// Raised when the caller cancels or is gone.
    pub cancel: CancelToken,
    /// When the call must have ended; `None` is never.
    pub deadline: Option<Instant>,
    /// Bounds on input and output.
    pub limits: Limits,
    /// How commands are isolated.
    pub sandbox: Arc<SandboxSettings>,
    /// Where skills are kept.
    pub skills: Arc<SkillSettings>,
    /// How language servers are run.
    pub lsp: Arc<LspSettings>,
    /// What may be reached on the network, and with which search engine.
    pub web: Arc<WebSettings>,
    /// Most bytes that the call may touch before it must move to a thread of its own; `None` is any number.
    /// Set where the call can neither be cancelled nor timed out.
    pub inline_bytes: Option<u64>,
    /// Whether the call must [defer](Stop::Defer) rather than wait for a disk. Set where nothing else can go on
    /// meanwhile.
    pub must_not_wait: bool,
    /// Where progress goes, if anybody listens.
    pub progress: Option<Progress>,
    /// What outlives the call.
    pub session: Session,
    /// Which session that is; `None` for a call that belongs to none.
    pub session_id: Option<String>,
    /// Which contents of files the session has seen.
    pub seen_files: SeenFiles,
    /// What came of the questions that this call put when it was made before.
    pub answers: Option<Answers>,
    /// What came of the work that this call delegated when it was made before.
    pub report: Option<DelegationReport>,
    /// What the door can do beyond the tools' own work.
    pub services: Arc<Services>,
    /// Whether the host has a chat model to consult.
    pub has_model: bool,
    /// What it said when this call consulted it before.
    pub consulted: Option<Consulted>,
}

impl CallContext {
    /// A context with default limits, no deadline and nobody who cancels.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            guard: ReadGuard::default(),
            redirect_policy: RedirectPolicy::default(),
            denied_paths: Arc::default(),
            starts: None,
            asks_starts: false,
            cancel: CancelToken::new(),
            deadline: None,
            limits: Limits::default(),
            sandbox: Arc::default(),
            skills: Arc::default(),
            lsp: Arc::default(),
            web: Arc::default(),
            inline_bytes: None,
            must_not_wait: false,
            progress: None,
            session: Session::default(),
            session_id: None,
            seen_files: SeenFiles::default(),
            answers: None,
            report: None,
            services: Arc::default(),
            has_model: false,
            consulted: None,
        }
    }

    /// Fails when the call was cancelled or its time is over. Long loops call this now and then.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::new(Reason::Cancelled, "the call was cancelled"));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(ToolError::new(
                Reason::Timeout,
                "time ran out; narrow the request or give it a longer timeout",
            )),
            _ => Ok(()),
        }
    }

    /// Time left until the deadline; `None` is without end.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Declares that the call is about to touch `bytes` bytes. Must come before any effect: the engine starts
    /// the call again on a thread of its own when it answers [`Interrupt::Defer`].
    pub fn charge(&self, bytes: u64) -> Result<(), Interrupt> {
        match self.inline_bytes {
            Some(limit) if bytes > limit => Err(Interrupt::Defer),
            _ => Ok(()),
        }
    }

    /// Tells the listener, if there is one, how far the call is.
    pub fn report(&self, message: serde_json::Value) {
        if let Some(progress) = &self.progress {
            progress(message);
        }
    }
}

/// Why an operation ended without an output.
#[derive(Debug)]
pub enum Interrupt {
    /// It failed.
    Failed(ToolError),
    /// It is too large for the thread it runs on and has done nothing yet.
    Defer,
    /// It needs answers of a person and has done nothing yet.
    Question(Vec<Question>),
    /// A sub-agent has to do it, and nothing is done yet.
    Delegate(Delegation),
    /// The host's chat model has to say something first. What is done so far goes along and comes back.
    Consult(Consultation),
}

impl From<ToolError> for Interrupt {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}
