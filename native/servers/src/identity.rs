//! Identity of servers: whether a running one can be reused.

use beamai_base::EntryIdentity;
use beamai_isolation::SandboxSettings;
use beamai_policy::DeniedPaths;
use beamai_tool::CallContext;
use beamai_workspace::WorkspaceId;
use std::path::PathBuf;
use std::sync::Arc;

/// Identity of a server: its specification and its sandbox.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerIdentity<W> {
    /// The specification.
    pub spec: W,
    /// What it has access to.
    pub view: ServerView,
}

/// What a server has access to.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerView {
    /// Its working directory.
    pub workspace: WorkspaceId,
    /// The sandbox settings.
    pub sandbox: Arc<SandboxSettings>,
    /// Paths that rules deny to it.
    pub denied_paths: Arc<DeniedPaths>,
    /// Paths that it cannot read or write, with what lies there; fixed while a server runs.
    pub kept: Vec<(PathBuf, EntryIdentity)>,
    /// A number for each of its directories, another one if something may have been mounted there; a running server
    /// does not see that.
    pub mounts: Vec<u64>,
}

impl<W: PartialEq> ServerIdentity<W> {
    /// Whether this server replaces another: same except for the paths that it cannot read or write, and for mounts.
    pub fn replaces(&self, other: &Self) -> bool {
        self.spec == other.spec && self.view != other.view && self.view.has_settings_of(&other.view)
    }
}

impl ServerView {
    /// The view of a server for a call, before its confinement is computed.
    pub fn of(cx: &CallContext) -> Self {
        Self {
            workspace: cx.workspace.id(),
            sandbox: Arc::clone(&cx.sandbox),
            denied_paths: Arc::clone(&cx.denied_paths),
            kept: Vec::new(),
            mounts: Vec::new(),
        }
    }

    /// Whether both have the same settings, apart from the paths that were found to be kept from them.
    pub fn has_settings_of(&self, other: &Self) -> bool {
        self.workspace == other.workspace
            && self.sandbox == other.sandbox
            && self.denied_paths == other.denied_paths
    }
}
