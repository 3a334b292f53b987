//! A program that runs under a reaper.

use super::client::{IdleReaper, Launcher};
use super::frame;
use super::message::{CommandReport, from_bytes};
use beamai_exec_guard::GuardHandle;
use beamai_isolation::{Isolation, Outlet};
use beamai_sandbox::Confinement;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    pub(super) confinement: Arc<Confinement>,
    pub(super) control: OwnedFd,
    pub(super) guard: Option<GuardHandle>,
    pub(super) proxy: Option<OwnedFd>,
    pub(super) opened: Option<OpenOutlet>,
    pub(super) was_killed: AtomicBool,
}

/// An outlet that is open, until this is dropped.
#[derive(Debug)]
pub(super) struct OpenOutlet(pub(super) Arc<dyn Outlet>);

impl Drop for OpenOutlet {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Child {
    /// Orders the reaper to kill the program and everything beneath it; [`Child::wait`] tells when that is done.
    pub fn kill(&self) {
        self.was_killed.store(true, Ordering::Release);
        // Where nobody listens any more there is nothing to kill.
        _ = rustix::net::send(&self.control, b"k", SendFlags::NOSIGNAL);
    }

    /// Becomes readable when the report is there.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Waits for the reaper's report: the program has ended and nothing beneath it is left. There is one report.
    ///
    /// # Errors
    /// `EPIPE` when the reaper was killed from outside; whatever it tended was killed with it or by the launcher.
    pub fn wait(&self) -> Result<CommandReport, Errno> {
        let frame = frame::receive(self.control.as_fd())?.ok_or(Errno::PIPE)?;
        from_bytes(&frame.body)
    }

    /// As [`Child::wait`], for a server: how it ended, for people. What it left for the person's own git is taken out, and
    /// said on standard error.
    pub fn ending(&self) -> String {
        let report = self.wait();
        for planted in self.confinement.remove_planted() {
            eprintln!("beamai: a server that has ended left something for git to run: {planted}");
        }
        report.map_or_else(|_| "it is lost".to_owned(), |report| report.to_string())
    }

    /// As [`Child::wait`]; a reaper that can take another order then waits for it.
    ///
    /// # Errors
    /// Those of [`Child::wait`].
    pub fn report(self) -> Result<CommandReport, Errno> {
        let report = self.wait()?;
        // An order to kill that came too late still stands in the socket, where the next order would follow it.
        if let (CommandReport::Ended { is_ready: true, .. }, false) = (&report, self.was_killed.into_inner())
        {
            let Self { isolation, confinement, control, guard, proxy, opened, .. } = self;
            guard.iter().for_each(GuardHandle::end);
            // The next program's connections are not this one's.
            drop(opened);
            Launcher::shared().keep(IdleReaper { isolation, confinement, control, guard, proxy });
        }
        Ok(report)
    }
}
