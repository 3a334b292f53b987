//! Chooses a server and how to reach it.

use super::http::RemoteServer;
use super::secrets::Secrets;
use super::settings::{McpServerSettings, StdioSettings, TransportSettings};
use beamai_base::{EntryIdentity, Reason, Result, ToolError};
use beamai_isolation::SandboxSettings;
use beamai_policy::DeniedPaths;
use beamai_sandbox::Confinement;
use beamai_servers::program;
use beamai_servers::{ServerIdentity, ServerView};
use beamai_tool::CallContext;
use beamai_workspace::Workspace;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A server to start, or to connect to.
pub(super) struct ConnectionPlan {
    pub(super) identity: ServerIdentity<McpServerSettings>,
    pub(super) route: Route,
}

/// How to reach a server, with checked settings.
pub(super) enum Route {
    /// An installed program.
    Stdio(Launch),
    /// A permitted URL.
    Http(RemoteServer),
}

/// A program and its settings.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) settings: StdioSettings,
    pub(super) sandbox: Arc<SandboxSettings>,
    pub(super) workspace: Workspace,
    /// Its confinement.
    pub(super) confinement: Arc<Confinement>,
    /// Paths that rules deny to it.
    pub(super) denied_paths: Arc<DeniedPaths>,
}

impl ConnectionPlan {
    /// The plan for a call.
    ///
    /// # Errors
    /// `not_configured` if the program is not installed, `invalid_argument` for an impossible sandbox and for an
    /// invalid URL; those of [`Confinement::within`].
    pub(super) fn of(cx: &CallContext, settings: McpServerSettings) -> Result<Self> {
        let route = match &settings.transport {
            TransportSettings::Stdio(program) => Route::Stdio(Launch::of(cx, &settings.name, program)?),
            TransportSettings::Http(address) => Route::Http(RemoteServer::of(&settings.name, address)?),
        };
        let view = ServerView {
            workspace: cx.workspace.without_temp().id(),
            sandbox: route.sandbox().unwrap_or_else(|| Arc::clone(&cx.sandbox)),
            denied_paths: Arc::clone(&cx.denied_paths),
            kept: route.kept(),
            mounts: route.mounts(),
        };
        Ok(Self { identity: ServerIdentity { spec: settings, view }, route })
    }

    /// Its name in messages.
    pub(super) fn title(&self) -> String {
        match &self.route {
            Route::Stdio(launch) => title(&self.identity.spec.name, &launch.settings.command),
            Route::Http(remote) => remote.title().to_owned(),
        }
    }

    /// What a remote server gets from the host, and messages must not show.
    pub(super) fn secrets(&self) -> Secrets {
        match &self.route {
            Route::Stdio(_) => Secrets::default(),
            Route::Http(remote) => remote.secrets.clone(),
        }
    }

    pub(super) fn start_timeout(&self) -> Duration {
        Duration::from_millis(self.identity.spec.start_timeout)
    }

    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        self.identity.spec.idle_timeout.map(Duration::from_millis)
    }
}

impl Route {
    fn sandbox(&self) -> Option<Arc<SandboxSettings>> {
        match self {
            Self::Stdio(launch) => Some(Arc::clone(&launch.sandbox)),
            Self::Http(_) => None,
        }
    }

    /// Paths that are kept from it. A remote server has no access to files at all.
    fn kept(&self) -> Vec<(PathBuf, EntryIdentity)> {
        match self {
            Self::Stdio(launch) => launch.confinement.kept().collect(),
            Self::Http(_) => Vec::new(),
        }
    }

    fn mounts(&self) -> Vec<u64> {
        match self {
            Self::Stdio(launch) => launch.confinement.mounts().collect(),
            Self::Http(_) => Vec::new(),
        }
    }
}

impl Launch {
    fn of(cx: &CallContext, name: &str, settings: &StdioSettings) -> Result<Self> {
        let program = program(&settings.command, cx.workspace.path())
            .ok_or_else(|| missing(&title(name, &settings.command), &settings.command))?;
        let sandbox = match &settings.sandbox {
            None => Arc::clone(&cx.sandbox),
            Some(own) => {
                own.check()?;
                Arc::new(SandboxSettings::clone(own))
            }
        };
        let workspace = cx.workspace.without_temp().unguarded();
        let confinement = Confinement::within(&workspace, &sandbox, &cx.denied_paths, &|| cx.check())?;
        Ok(Self {
            program,
            settings: settings.clone(),
            sandbox,
            workspace,
            confinement,
            denied_paths: Arc::clone(&cx.denied_paths),
        })
    }
}

/// A server's name in messages.
pub(super) fn title(name: &str, place: &str) -> String {
    format!("the MCP server {name} ({place})")
}

fn missing(title: &str, command: &str) -> ToolError {
    let message = format!(
        "{title} cannot be started: there is no such program; give an absolute path, or a name that is on the PATH outside \
         the workspace"
    );
    ToolError::new(Reason::NotConfigured, message).with("command", command)
}
