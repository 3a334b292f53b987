//! A process that attempts are made on.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Timeout for a signal to end a process.
const PATIENCE: Duration = Duration::from_millis(200);

/// An idle process on the machine. Killed on drop.
pub(super) struct Victim(std::cell::RefCell<Child>);

impl Victim {
    /// Starts one.
    ///
    /// # Errors
    /// A message for people.
    pub(super) fn start() -> Result<Self, String> {
        // Started outside of the sandbox, and not by a shell that would have other children.
        let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("cannot start sleep, to make attempts on it: {error}"))?;
        Ok(Self(child.into()))
    }

    /// Its pid.
    pub(super) fn pid(&self) -> String {
        self.0.borrow().id().to_string()
    }

    /// Its start time according to `/proc`, which distinguishes it from other processes with the same pid.
    ///
    /// # Errors
    /// A message for people, if `/proc` does not show it.
    pub(super) fn started(&self) -> Result<String, String> {
        beamai_sandbox::started(&self.pid())
            .map_err(|error| format!("cannot look up the process {}: {error}", self.pid()))
    }

    /// Whether a signal has ended it.
    pub(super) fn has_ended(&self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if matches!(self.0.borrow_mut().try_wait(), Ok(Some(_))) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let mut child = self.0.borrow_mut();
        _ = child.kill();
        _ = child.wait();
    }
}
