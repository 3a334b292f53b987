//! A program that runs under a reaper.

use super::frame;
use super::message::{Report, from_bytes};
use crate::process::Isolation;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A program that was started by a [`Launcher`](super::Launcher). Dropping it kills the program and everything
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
}

impl Child {
    /// Orders the reaper to kill the program and everything beneath it; [`Child::report`] tells when that is done.
    pub fn kill(&self) {
        // Where nobody listens any more there is nothing to kill.
        _ = rustix::net::send(&self.control, b"k", SendFlags::NOSIGNAL);
    }

    /// Becomes readable when the report is there.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Waits for the reaper's report: the program has ended and nothing beneath it is left.
    ///
    /// # Errors
    /// `EPIPE` when the reaper was killed from outside; whatever it tended was killed with it or by the launcher.
    pub fn report(&self) -> Result<Report, Errno> {
        let frame = frame::receive(self.control.as_fd())?.ok_or(Errno::PIPE)?;
        from_bytes(&frame.body)
    }
}
