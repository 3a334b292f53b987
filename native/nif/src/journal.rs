//! What processes left that were killed while they changed several files.

use crate::call::ok;
use beamai_wire::journal;
use rustler::{Atom, LocalPid, OwnedEnv};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

mod atoms {
    rustler::atoms! { beamai_journal }
}

static LISTENER: Mutex<Option<LocalPid>> = Mutex::new(None);

/// Undoes it, and has the process told, now and later.
#[rustler::nif(schedule = "DirtyIo")]
fn recover(listener: LocalPid) -> Atom {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    journal::on_recovery(tell);
    journal::recover(Duration::ZERO);
    ok()
}

fn tell(line: &str) {
    let Some(listener) = *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) else { return };
    let line = line.to_owned();
    // Whoever comes upon it may be a thread of the VM, from which nothing can be sent without its environment.
    let send = move || OwnedEnv::new().send_and_clear(&listener, |_| (atoms::beamai_journal(), line));
    _ = std::thread::Builder::new().name("beamai-journal".to_owned()).spawn(send);
}
