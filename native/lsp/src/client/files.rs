//! The files that a server knows.

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
    /// Notifies the server of all changes, and opens the file.
    ///
    /// # Errors
    /// Those of reading the file, `cancelled` and `timeout`.
    pub(crate) fn open(&self, cx: &CallContext, file: &WorkspacePath, id: &str) -> Result<Arc<DocumentText>> {
        self.documents.open(self, cx, file, id)
    }

    /// Notifies the server of all changes.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(crate) fn refresh(&self, cx: &CallContext) -> Result<()> {
        self.documents.refresh(self, cx)
    }

    /// The text of an open file that the server was sent last.
    pub(crate) fn text(&self, path: &Path) -> Option<Arc<DocumentText>> {
        self.documents.text(path)
    }

    /// Whether it has reported unfinished work, or may still do so.
    pub(crate) fn is_at_work(&self) -> bool {
        let state = self.state();
        state.is_busy() || state.may_begin_work_until(Instant::now()).is_some()
    }

    /// Waits until the server has published current diagnostics of an open file, until `until`, or, if it is not
    /// working, until `silence` is over; returns whether it has.
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
            Freshness::Unknown(_) if now >= silence && !state.is_busy_with(path) => WaitStatus::Done(false),
            Freshness::Unknown(then) => {
                WaitStatus::Later(Some(then.map_or(silence.max(now), |then| then.min(silence))))
            }
        })?;
        Ok(fresh.unwrap_or(false))
    }

    /// The diagnostics that the server has published for a file.
    pub(crate) fn known(&self, path: &Path) -> Vec<Diagnostic> {
        let state = self.state();
        state.published().get(path).map(|said| said.diagnostics.clone()).unwrap_or_default()
    }

    /// The files that are open.
    pub(crate) fn open_files(&self) -> Vec<PathBuf> {
        self.state().open_files().cloned().collect()
    }

    /// The files that are open or have published diagnostics.
    pub(crate) fn known_files(&self) -> BTreeSet<PathBuf> {
        let state = self.state();
        state.open_files().chain(state.published().keys()).cloned().collect()
    }
}
