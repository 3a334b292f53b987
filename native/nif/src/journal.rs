//! Recovery from processes that were killed while they changed several files.

use crate::call::ok;
use beamai_wire::journal;
use rustler::{Atom, LocalPid, OwnedEnv};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

mod atoms {
    rustler::atoms! { beamai_journal }
}

static LISTENER: Mutex<Option<LocalPid>> = Mutex::new(None);

/// Undoes unfinished changes, and sends a message about each to the process, now and later.
#[rustler::nif(schedule = "DirtyIo")]
fn recover(listener: LocalPid) -> Atom {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    journal::on_recovery(report);
    journal::recover(Duration::ZERO);
    ok()
}

fn report(line: &str) {
    let Some(listener) = *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) else { return };
    let line = line.to_owned();
    // Recovery may run on a VM thread, which cannot send without its environment; hence the extra thread.
    let send = move || OwnedEnv::new().send_and_clear(&listener, |_| (atoms::beamai_journal(), line));
    _ = std::thread::Builder::new().name("beamai-journal".to_owned()).spawn(send);
}
