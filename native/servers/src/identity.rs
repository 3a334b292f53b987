//! What makes two servers the same one.

use beamai_isolation::SandboxSettings;
use beamai_policy::Sealed;
use beamai_workspace::WorkspaceId;
use std::sync::Arc;

/// What makes two servers the same one: what they are, and what they may see.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity<W> {
    /// What it is.
    pub what: W,
    /// What it may see.
    pub view: View,
}

/// What a server may see.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The directory that it works in.
    pub workspace: WorkspaceId,
    /// How it is isolated.
    pub sandbox: Arc<SandboxSettings>,
    /// What rules keep from it.
    pub sealed: Arc<Sealed>,
    /// What is kept from it in the workspace: of a server that runs, that does not change.
    pub kept: Vec<String>,
}

impl<W: PartialEq> Identity<W> {
    /// Whether another server does the same, and only other things are kept from it.
    pub fn replaces(&self, other: &Self) -> bool {
        self.what == other.what && self.view.kept != other.view.kept && self.view.is_of(&other.view)
    }
}

impl View {
    /// Whether both are made of the same, whatever was found there.
    fn is_of(&self, other: &Self) -> bool {
        self.workspace == other.workspace && self.sandbox == other.sandbox && self.sealed == other.sealed
    }
}
