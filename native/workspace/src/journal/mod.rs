//! What is written down before several files change, so that a process that dies in the middle changes nothing.
//!
//! A journal is a file of the user's, outside of every workspace. It is there before the first name changes, and says
//! all that is needed to undo the change: which files go where, what was read at their paths, and under which names
//! the old contents are kept meanwhile. Its owner holds a lock on it for as long as it lives; whoever finds one without
//! an owner undoes the change first. Once every file has its place the journal is sealed, and from then on the change is
//! brought to its end instead. Nothing is forced to disk: this is about processes that die, not about loss of power.

mod ledger;
mod record;
mod recovery;
mod undo;

pub(super) use ledger::Journal;
#[cfg(test)]
pub(crate) use ledger::StateDir;
pub(super) use record::{FileIdentity, JournalStep, Record};
pub use recovery::settle;
#[cfg(test)]
pub(crate) use recovery::{RecoveryResult, recover_at};
pub use recovery::{on_recovery, recover};

use beamai_base::{Reason, Result, ToolError};
use std::path::PathBuf;
use std::sync::OnceLock;

static BEFORE: OnceLock<fn()> = OnceLock::new();

/// Has `act` called before each change of several files: a host's chance to see to it that somebody survives it. Counts
/// once, the first time.
pub fn before_changes(act: fn()) {
    _ = BEFORE.set(act);
}

/// Where journals may be kept: for whoever has to keep others away from there.
pub fn journals() -> impl Iterator<Item = PathBuf> {
    ledger::places().iter().map(|place| place.path().clone())
}

/// Begins the journal of a change in these directories.
///
/// # Errors
/// `io` where it cannot be written; nothing has changed then.
pub(super) fn begin(record: &Record) -> Result<Journal> {
    if let Some(before) = BEFORE.get() {
        before();
    }
    let mut failures = Vec::new();
    for place in ledger::outside_first(record) {
        match place.make().and_then(|ledger| ledger.write(&record.to_bytes())) {
            Ok(journal) => return Ok(journal),
            Err(error) => failures.push(format!("{}: {error}", super::path::encode(place.path()))),
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
