//! What one call may use: workspace, deadline, cancel token, limits.

use crate::{
    Consultation, Consulted, SeenFiles, Services, Session, SkillSettings, WebSettings,
    delegation::{Delegation, DelegationReport},
    lsp_settings::LspSettings,
    question::{Answers, Question},
};
use beamai_base::{CancelToken, Reason, Result, ToolError};
use beamai_isolation::SandboxSettings;
use beamai_policy::{DeniedPaths, NetworkPolicy, ReadGuard, RedirectPolicy, StartRules};
use beamai_workspace::Workspace;
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Limits on what one call reads and returns. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum text that a file tool returns in one answer.
    pub content_bytes: usize,
    /// Maximum of a command's stdout, and of its stderr, in an answer.
    pub output_bytes: usize,
    /// Maximum size of the file for command output that does not fit into the result; with 0 no file is created.
    pub output_file_bytes: u64,
    /// Files up to this size are read completely for a hash and a line count.
    pub whole_file_bytes: u64,
    /// Maximum diff in an answer.
    pub diff_bytes: usize,
    /// Maximum size of an image that is returned.
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
    /// The only access to files.
    pub workspace: Workspace,
    /// What searches must leave out.
    pub guard: ReadGuard,
    /// Which redirects the rules allow.
    pub redirect_policy: RedirectPolicy,
    /// Paths that the rules deny to started programs.
    pub denied_paths: Arc<DeniedPaths>,
    /// Rules for the programs that this call's command starts; `None` if there are none to apply.
    pub starts: Option<Arc<StartRules>>,
    /// The names that commands may reach; `None` if they reach the whole network, or nothing.
    pub network: Option<Arc<NetworkPolicy>>,
    /// Whether the host can ask for approval while the call runs. The requests are sent as progress messages.
    pub asks_starts: bool,
    /// Set when the caller cancels or dies.
    pub cancel: CancelToken,
    /// When the call must end; `None` means never.
    pub deadline: Option<Instant>,
    /// Limits on input and output.
    pub limits: Limits,
    /// Isolation of commands.
    pub sandbox: Arc<SandboxSettings>,
    /// Directories of skills.
    pub skills: Arc<SkillSettings>,
    /// Settings of language servers.
    pub lsp: Arc<LspSettings>,
    /// Reachable addresses and the search engine.
    pub web: Arc<WebSettings>,
    /// Bytes that the call may process before it must move to its own thread; `None` is unlimited. Set if the call can
    /// neither be cancelled nor timed out.
    pub inline_bytes: Option<u64>,
    /// Whether the call must [defer](Interrupt::Defer) rather than wait for I/O. Set where waiting would block a scheduler.
    pub must_not_wait: bool,
    /// Receives progress messages, if the host wants them.
    pub progress: Option<Progress>,
    /// State of the session.
    pub session: Session,
    /// Identifier of the session; `None` for a call without one.
    pub session_id: Option<String>,
    /// Hashes of the file contents that the session has seen.
    pub seen_files: SeenFiles,
    /// Answers to the questions that this call asked in its first run.
    pub answers: Option<Answers>,
    /// Result of the work that this call delegated in its first run.
    pub report: Option<DelegationReport>,
    /// The services of the door: processes, connections.
    pub services: Arc<Services>,
    /// Whether the host has a chat model to consult.
    pub has_model: bool,
    /// The model's reply to the question of this call's first run.
    pub consulted: Option<Consulted>,
}

impl CallContext {
    /// A context with default limits, without deadline and cancellation.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            guard: ReadGuard::default(),
            redirect_policy: RedirectPolicy::default(),
            denied_paths: Arc::default(),
            starts: None,
            network: None,
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

    /// Fails when the call was cancelled or its deadline has passed. Long loops must call this regularly.
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

    /// Time left until the deadline; `None` if there is none.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Declares that the call is about to process `bytes` bytes. Must come before any effect: when it returns
    /// [`Interrupt::Defer`], the engine restarts the call on its own thread.
    pub fn charge(&self, bytes: u64) -> Result<(), Interrupt> {
        match self.inline_bytes {
            Some(limit) if bytes > limit => Err(Interrupt::Defer),
            _ => Ok(()),
        }
    }

    /// Sends a progress message, if the host wants them.
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
    /// It is too large for its thread, and has had no effect yet.
    Defer,
    /// It needs answers from a person, and has had no effect yet.
    Question(Vec<Question>),
    /// A sub-agent has to do it; it has had no effect yet.
    Delegate(Delegation),
    /// It needs a reply from the host's chat model. The state so far is sent along and comes back.
    Consult(Consultation),
}

impl From<ToolError> for Interrupt {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}
