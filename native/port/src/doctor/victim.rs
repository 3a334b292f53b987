//! A process for attempts to be made on.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that a signal takes to end a process.
const PATIENCE: Duration = Duration::from_millis(200);

/// A process of the machine that does nothing. It ends with this.
pub(super) struct Victim(std::cell::RefCell<Child>);

impl Victim {
    /// Starts one.
    ///
    /// # Errors
    /// For people: why it could not be started.
    pub(super) fn start() -> Result<Self, String> {
        // Outside of the sandbox, and of a shell that would have other children.
        let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("cannot start sleep, to make attempts on it: {error}"))?;
        Ok(Self(child.into()))
    }

    /// Its number.
    pub(super) fn pid(&self) -> String {
        self.0.borrow().id().to_string()
    }

    /// When it started, as `/proc` tells it: no other process of its number has that.
    ///
    /// # Errors
    /// For people: that `/proc` does not tell it.
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
