//! What makes two servers the same one.

use beamai_isolation::SandboxSettings;
use beamai_policy::DeniedPaths;
use beamai_workspace::WorkspaceId;
use std::sync::Arc;

/// What makes two servers the same one: what they are, and what they may see.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerIdentity<W> {
    /// What it is.
    pub spec: W,
    /// What it may see.
    pub view: ServerView,
}

/// What a server may see.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerView {
    /// The directory that it works in.
    pub workspace: WorkspaceId,
    /// How it is isolated.
    pub sandbox: Arc<SandboxSettings>,
    /// What rules keep from it.
    pub denied_paths: Arc<DeniedPaths>,
    /// What is kept from it in the workspace: of a server that runs, that does not change.
    pub kept: Vec<String>,
}

impl<W: PartialEq> ServerIdentity<W> {
    /// Whether another server does the same, and only other things are kept from it.
    pub fn replaces(&self, other: &Self) -> bool {
        self.spec == other.spec && self.view.kept != other.view.kept && self.view.is_of(&other.view)
    }
}

impl ServerView {
    /// Whether both are made of the same, whatever was found there.
    fn is_of(&self, other: &Self) -> bool {
        self.workspace == other.workspace
            && self.sandbox == other.sandbox
            && self.denied_paths == other.denied_paths
    }
}
