//! What a server and its client know of files.

use super::server::{LanguageServer, WaitStatus};
use super::state::Freshness;
use super::text::DocumentText;
use super::wire::Diagnostic;
use beamai_base::Result;
use beamai_tool::CallContext;
use beamai_workspace::WorkspacePath;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

impl LanguageServer {
    /// Tells the server of every change since it was told last, and opens the file for it.
    ///
    /// # Errors
    /// Those of reading the file, `cancelled` and `timeout`.
    pub(crate) fn open(&self, cx: &CallContext, file: &WorkspacePath, id: &str) -> Result<Arc<DocumentText>> {
        self.documents.open(self, cx, file, id)
    }

    /// Tells the server of every change since it was told last.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(crate) fn refresh(&self, cx: &CallContext) -> Result<()> {
        self.documents.refresh(self, cx)
    }

    /// The text of an open file as the server was told it.
    pub(crate) fn text(&self, path: &Path) -> Option<Arc<DocumentText>> {
        self.documents.text(path)
    }

    /// Whether it has announced work that is not done, or may yet.
    pub(crate) fn is_at_work(&self) -> bool {
        let state = self.state();
        state.is_busy() || state.settles(Instant::now()).is_some()
    }

    /// Waits until the server has said all about an open file, until then, or, while it is not at work, until it has
    /// been silent too long; whether it has.
    ///
    /// # Errors
    /// Those of a [wait](Self::wait).
    pub(crate) fn fresh(
        &self,
        cx: &CallContext,
        path: &Path,
        until: Instant,
        silence: Instant,
    ) -> Result<bool> {
        let fresh = self.wait(cx, Some(until), |state, now| match state.freshness(path, now) {
            Freshness::Fresh => WaitStatus::Done(true),
            Freshness::Unknown(_) if now >= silence && !state.is_busy() => WaitStatus::Done(false),
            Freshness::Unknown(then) => {
                WaitStatus::Later(Some(then.map_or(silence.max(now), |then| then.min(silence))))
            }
        })?;
        Ok(fresh.unwrap_or(false))
    }

    /// What the server has said is wrong with a file.
    pub(crate) fn known(&self, path: &Path) -> Vec<Diagnostic> {
        let state = self.state();
        state.published().get(path).map(|said| said.diagnostics.clone()).unwrap_or_default()
    }

    /// The files that the server has open.
    pub(crate) fn open_files(&self) -> Vec<PathBuf> {
        self.state().told_of().cloned().collect()
    }

    /// The files that the server has open or has said something about.
    pub(crate) fn known_files(&self) -> BTreeSet<PathBuf> {
        let state = self.state();
        state.told_of().chain(state.published().keys()).cloned().collect()
    }
}
