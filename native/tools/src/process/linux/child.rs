//! A program that runs under a reaper.

use super::client::{Launcher, Ready};
use super::frame;
use super::message::{Report, from_bytes};
use crate::process::Isolation;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A program that was started by a [`Launcher`]. Dropping it kills the program and everything
/// beneath it.
#[derive(Debug)]
pub struct Child {
    /// Its standard input, when it is a pipe. Does not block. Dropping it ends the input.
    pub stdin: Option<OwnedFd>,
    /// Its standard output. Does not block.
    pub stdout: Option<OwnedFd>,
    /// Its standard error. Does not block.
    pub stderr: Option<OwnedFd>,
    /// How it is isolated.
    pub isolation: Isolation,
    pub(super) control: OwnedFd,
    pub(super) was_killed: bool,
}

impl Child {
    /// Orders the reaper to kill the program and everything beneath it; [`Child::report`] tells when that is done.
    pub fn kill(&mut self) {
        self.was_killed = true;
        // Where nobody listens any more there is nothing to kill.
        _ = rustix::net::send(&self.control, b"k", SendFlags::NOSIGNAL);
    }

    /// Becomes readable when the report is there.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Waits for the reaper's report: the program has ended and nothing beneath it is left. A reaper that can take
    /// another order waits for it then.
    ///
    /// # Errors
    /// `EPIPE` when the reaper was killed from outside; whatever it tended was killed with it or by the launcher.
    pub fn report(self) -> Result<Report, Errno> {
        let frame = frame::receive(self.control.as_fd())?.ok_or(Errno::PIPE)?;
        let report = from_bytes(&frame.body)?;
        // An order to kill that came too late still stands in the socket, where the next order would follow it.
        if let (Report::Ended { is_ready: true, .. }, false) = (&report, self.was_killed) {
            Launcher::shared().keep(Ready { isolation: self.isolation, control: self.control });
        }
        Ok(report)
    }
}
