//! The programs of this process that run, or whose leftovers have not been removed yet.

use beamai_sandbox::SetupFailure;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static RUNNING: Mutex<RunningPrograms> =
    Mutex::new(RunningPrograms { controls: BTreeMap::new(), next: 0, is_ending: false });
static ENDED: Condvar = Condvar::new();

struct RunningPrograms {
    /// The control sockets of their reapers, once they have one.
    controls: BTreeMap<u64, Option<OwnedFd>>,
    next: u64,
    /// Whether all are to end, and none may start.
    is_ending: bool,
}

/// Kills all programs that may leave something to remove, and waits until it is removed. No more can be started. Returns
/// whether any was ever started, which may have ended meanwhile, and whether all have ended in time.
pub fn end_all(patience: Duration) -> (bool, bool) {
    let mut running = lock();
    running.is_ending = true;
    running.controls.values().flatten().for_each(kill);
    let had_any = running.next > 0;
    let waited = ENDED.wait_timeout_while(running, patience, |running| !running.controls.is_empty());
    let all_ended = waited.unwrap_or_else(PoisonError::into_inner).0.controls.is_empty();
    (had_any, all_ended)
}

/// Whether all programs are to end.
pub(super) fn are_ending() -> bool {
    lock().is_ending
}

/// The registration of a program, from before its start until what it left is removed.
#[derive(Debug)]
pub(super) struct RunningProgram(u64);

impl RunningProgram {
    /// Registers a program before it gets a reaper, so that [`end_all`] misses none.
    pub(super) fn register() -> Result<Self, SetupFailure> {
        let mut running = lock();
        if running.is_ending {
            return Err(SetupFailure::new("start a program while this one ends", Errno::CANCELED));
        }
        let number = running.next;
        running.next += 1;
        running.controls.insert(number, None);
        Ok(Self(number))
    }

    /// Records its reaper's control socket.
    pub(super) fn has_reaper(&self, control: impl AsFd) -> Result<(), SetupFailure> {
        let control = rustix::io::fcntl_dupfd_cloexec(control, 3)
            .map_err(|errno| SetupFailure::new("keep the socket of a reaper", errno))?;
        let mut running = lock();
        if running.is_ending {
            kill(&control);
        }
        running.controls.insert(self.0, Some(control));
        Ok(())
    }

    /// What the program left is removed.
    pub(super) fn end(&self) {
        lock().controls.remove(&self.0);
        ENDED.notify_all();
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.end();
    }
}

fn kill(control: &OwnedFd) {
    // If the reaper is gone, there is nothing to kill.
    _ = rustix::net::send(control, b"k", SendFlags::NOSIGNAL);
}

fn lock() -> MutexGuard<'static, RunningPrograms> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
