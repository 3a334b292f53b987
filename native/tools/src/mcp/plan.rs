//! Which server, and how it is run.

use crate::context::CallContext;
use crate::error::{Reason, Result, ToolError};
use crate::lsp::program;
use crate::policy::Sealed;
use crate::process::Confinement;
use crate::sandbox::SandboxSettings;
use crate::workspace::{Workspace, WorkspaceId};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A server as the host states it.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerSettings {
    /// The host's name for it, a part of the names of its tools.
    pub(super) name: String,
    /// Absolute path of the program, or its name on the `PATH`.
    pub(super) command: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    /// Variables besides those that every program gets.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// The directory that it starts in, of the workspace; its top when absent.
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// Instead of the host's.
    #[serde(default)]
    pub(super) sandbox: Option<SandboxSettings>,
    /// Milliseconds that it may take until it is ready.
    pub(super) start_timeout: u64,
    /// Milliseconds without a call after which it is ended; absent for never.
    #[serde(default)]
    pub(super) idle_timeout: Option<u64>,
}

/// Variables may be secrets: they are not shown.
impl std::fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerSettings").field("name", &self.name).field("command", &self.command).finish()
    }
}

/// What makes two servers the same one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Identity {
    pub(super) settings: ServerSettings,
    pub(super) workspace: WorkspaceId,
    pub(super) sandbox: Arc<SandboxSettings>,
    pub(super) sealed: Arc<Sealed>,
    /// What is kept from it in the workspace: of a server that runs, that does not change.
    pub(super) kept: Vec<String>,
}

impl Identity {
    /// Whether another server does the same, and only other things are kept from it.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.kept != other.kept && *self == Self { kept: self.kept.clone(), ..other.clone() }
    }
}

/// A server to start.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) identity: Identity,
    pub(super) program: PathBuf,
    pub(super) workspace: Workspace,
    /// What it is confined to.
    pub(super) confinement: Arc<Confinement>,
}

impl Plan {
    /// The plan for a call.
    ///
    /// # Errors
    /// `not_configured` where the program is not there, `invalid_argument` for a sandbox that can never work; those of
    /// [`Confinement::within`].
    pub(super) fn of(cx: &CallContext, settings: ServerSettings) -> Result<Self> {
        let program = program(&settings.command, cx.workspace.path()).ok_or_else(|| missing(&settings))?;
        let sandbox = match &settings.sandbox {
            None => Arc::clone(&cx.sandbox),
            Some(own) => {
                own.check()?;
                Arc::new(own.clone())
            }
        };
        let (workspace, sealed) = (cx.workspace.without_temp(), Arc::clone(&cx.sealed));
        let confinement = Confinement::within(&workspace, &sandbox, &sealed, &|| cx.check())?;
        let kept = confinement.kept().cloned().collect();
        let identity = Identity { settings, workspace: workspace.id(), sandbox, sealed, kept };
        Ok(Self { identity, program, workspace, confinement })
    }

    /// What people call it.
    pub(super) fn title(&self) -> String {
        self.identity.settings.title()
    }

    pub(super) fn start_timeout(&self) -> Duration {
        Duration::from_millis(self.identity.settings.start_timeout)
    }

    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        self.identity.settings.idle_timeout.map(Duration::from_millis)
    }
}

impl ServerSettings {
    fn title(&self) -> String {
        format!("the MCP server {} ({})", self.name, self.command)
    }

    /// Whether both name the same server, however long it may take and be kept.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let timeless = |one: &Self| Self { start_timeout: 0, idle_timeout: None, ..one.clone() };
        timeless(self) == timeless(other)
    }
}

fn missing(settings: &ServerSettings) -> ToolError {
    let message = format!(
        "{} cannot be started: there is no such program; give an absolute path, or a name that is on the PATH outside \
         the workspace",
        settings.title()
    );
    ToolError::new(Reason::NotConfigured, message).with("command", settings.command.as_str())
}
