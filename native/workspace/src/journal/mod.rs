//! A record that is written before several files change, so that a process that dies midway leaves nothing
//! half-changed.
//!
//! A journal is a file in the user's state directory, outside every workspace. It exists before the first rename, and
//! holds what is needed to undo the change: which files go where, what was read at their paths, and the temporary names
//! of the old contents. Its owner holds a lock on it while alive; a process that finds one without an owner undoes the
//! change first. Once every file is in place the journal is sealed, and recovery then finishes the change instead.
//! Nothing is fsynced: this protects against processes that die, not against power loss.

mod ledger;
mod notes;
mod record;
mod recovery;
mod undo;

pub(super) use ledger::Journal;
#[cfg(test)]
pub(crate) use ledger::StateDir;
pub use notes::{read_note, write_note};
pub(super) use record::{FileIdentity, JournalStep, Record};
pub use recovery::recover_if_needed;
#[cfg(test)]
pub(crate) use recovery::{RecoveryResult, recover_at};
pub use recovery::{on_recovery, recover};

use beamai_base::{Reason, Result, ToolError};
use std::path::PathBuf;
use std::sync::OnceLock;

static BEFORE: OnceLock<fn()> = OnceLock::new();

/// Sets a function that is called before each change of several files, so that a host can start a process that outlives
/// it. Only the first call counts.
pub fn before_changes(act: fn()) {
    _ = BEFORE.set(act);
}

/// The directories that may hold journals, for callers that must deny access to them.
pub fn journals() -> impl Iterator<Item = PathBuf> {
    ledger::state_dirs().iter().map(|state_dir| state_dir.path().clone())
}

/// Begins the journal of a change.
///
/// # Errors
/// `io` when it cannot be written; nothing has changed then.
pub(super) fn begin(record: &Record) -> Result<Journal> {
    if let Some(before) = BEFORE.get() {
        before();
    }
    let mut failures = Vec::new();
    let roots: Vec<PathBuf> = record.roots.iter().map(|root| super::path::decode(&root.path)).collect();
    for state_dir in ledger::outside_first(&roots) {
        match state_dir.make().and_then(|ledger| ledger.write(&record.to_bytes())) {
            Ok(journal) => return Ok(journal),
            Err(error) => failures.push(format!("{}: {error}", super::path::encode(state_dir.path()))),
        }
    }
    let message = format!(
        "nothing was changed: several files can only be changed together with a journal, and none can be written: {}",
        failures.join("; ")
    );
    Err(ToolError::new(Reason::Io, message))
}

/// The error of a journal that cannot be sealed.
pub(super) fn failed(error: &std::io::Error) -> ToolError {
    ToolError::new(
        Reason::Io,
        format!("nothing was changed: the journal of the change cannot be written: {error}"),
    )
}
