//! What makes two servers the same one.

use crate::policy::Sealed;
use crate::sandbox::SandboxSettings;
use crate::workspace::WorkspaceId;
use std::sync::Arc;

/// What makes two servers the same one: what they are, and what they may see.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identity<W> {
    pub(crate) what: W,
    pub(crate) view: View,
}

/// What a server may see.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    pub(crate) workspace: WorkspaceId,
    pub(crate) sandbox: Arc<SandboxSettings>,
    pub(crate) sealed: Arc<Sealed>,
    /// What is kept from it in the workspace: of a server that runs, that does not change.
    pub(crate) kept: Vec<String>,
}

impl<W: PartialEq> Identity<W> {
    /// Whether another server does the same, and only other things are kept from it.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        self.what == other.what && self.view.kept != other.view.kept && self.view.is_of(&other.view)
    }
}

impl View {
    /// Whether both are made of the same, whatever was found there.
    fn is_of(&self, other: &Self) -> bool {
        self.workspace == other.workspace && self.sandbox == other.sandbox && self.sealed == other.sealed
    }
}
