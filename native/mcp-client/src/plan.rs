//! Which server, and how it is run.

use super::http::Remote;
use super::settings::{Program, ServerSettings, Way};
use beamai_base::{Reason, Result, ToolError};
use beamai_isolation::SandboxSettings;
use beamai_policy::Sealed;
use beamai_sandbox::Confinement;
use beamai_servers::program;
use beamai_servers::{Identity, View};
use beamai_tool::CallContext;
use beamai_workspace::Workspace;
use rmcp::model::ErrorData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A server to start, or to connect to.
pub(super) struct Plan {
    pub(super) identity: Identity<ServerSettings>,
    pub(super) route: Route,
}

/// The way to a server, looked into.
pub(super) enum Route {
    /// A program that is there.
    Stdio(Launch),
    /// An address that may be asked.
    Http(Remote),
}

/// A program, and what it is started with.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) settings: Program,
    pub(super) sandbox: Arc<SandboxSettings>,
    pub(super) workspace: Workspace,
    /// What it is confined to.
    pub(super) confinement: Arc<Confinement>,
    /// What rules keep from it.
    pub(super) sealed: Arc<Sealed>,
}

impl Plan {
    /// The plan for a call.
    ///
    /// # Errors
    /// `not_configured` where the program is not there, `invalid_argument` for a sandbox that can never work, and for
    /// an address that cannot be one; those of [`Confinement::within`].
    pub(super) fn of(cx: &CallContext, settings: ServerSettings) -> Result<Self> {
        let route = match &settings.way {
            Way::Stdio(program) => Route::Stdio(Launch::of(cx, &settings.name, program)?),
            Way::Http(address) => Route::Http(Remote::of(&settings.name, address)?),
        };
        let view = View {
            workspace: cx.workspace.without_temp().id(),
            sandbox: route.sandbox().unwrap_or_else(|| Arc::clone(&cx.sandbox)),
            sealed: Arc::clone(&cx.sealed),
            kept: route.kept(),
        };
        Ok(Self { identity: Identity { what: settings, view }, route })
    }

    /// What people call it.
    pub(super) fn title(&self) -> String {
        match &self.route {
            Route::Stdio(launch) => title(&self.identity.what.name, &launch.settings.command),
            Route::Http(remote) => remote.title().to_owned(),
        }
    }

    /// An error of the server without what is not to be read in messages.
    pub(super) fn hidden(&self, error: ErrorData) -> ErrorData {
        match &self.route {
            Route::Stdio(_) => error,
            Route::Http(remote) => ErrorData { message: remote.hide(&error.message).into(), ..error },
        }
    }

    pub(super) fn start_timeout(&self) -> Duration {
        Duration::from_millis(self.identity.what.start_timeout)
    }

    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        self.identity.what.idle_timeout.map(Duration::from_millis)
    }
}

impl Route {
    fn sandbox(&self) -> Option<Arc<SandboxSettings>> {
        match self {
            Self::Stdio(launch) => Some(Arc::clone(&launch.sandbox)),
            Self::Http(_) => None,
        }
    }

    /// What is kept from a server in the workspace. One that is somewhere else sees nothing of it.
    fn kept(&self) -> Vec<String> {
        match self {
            Self::Stdio(launch) => launch.confinement.kept().cloned().collect(),
            Self::Http(_) => Vec::new(),
        }
    }
}

impl Launch {
    fn of(cx: &CallContext, name: &str, settings: &Program) -> Result<Self> {
        let program = program(&settings.command, cx.workspace.path())
            .ok_or_else(|| missing(&title(name, &settings.command), &settings.command))?;
        let sandbox = match &settings.sandbox {
            None => Arc::clone(&cx.sandbox),
            Some(own) => {
                own.check()?;
                Arc::new(own.clone())
            }
        };
        let workspace = cx.workspace.without_temp().unguarded();
        let confinement = Confinement::within(&workspace, &sandbox, &cx.sealed, &|| cx.check())?;
        Ok(Self {
            program,
            settings: settings.clone(),
            sandbox,
            workspace,
            confinement,
            sealed: Arc::clone(&cx.sealed),
        })
    }
}

/// What people call a server.
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
