//! A program that runs under a reaper.

use super::client::{IdleReaper, Launcher};
use super::frame;
use super::message::{CommandReport, from_bytes};
use super::running::RunningProgram;
use beamai_exec_guard::GuardHandle;
use beamai_isolation::{Isolation, Outlet};
use beamai_sandbox::Confinement;
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the processes of a reaper that was killed may outlive its socket.
const LAG: Duration = Duration::from_millis(100);

/// A program that was started by a [`Launcher`]. Dropping it kills the program and all processes that it has started.
#[derive(Debug)]
pub struct Child {
    /// Its standard input, if it is a pipe. Non-blocking. Dropping it closes the input.
    pub stdin: Option<OwnedFd>,
    /// Its standard output. Non-blocking.
    pub stdout: Option<OwnedFd>,
    /// Its standard error. Non-blocking.
    pub stderr: Option<OwnedFd>,
    /// How it is isolated.
    pub isolation: Isolation,
    pub(super) confinement: Arc<Confinement>,
    pub(super) control: OwnedFd,
    pub(super) guard: Option<GuardHandle>,
    pub(super) proxy: Option<OwnedFd>,
    pub(super) opened: Option<OpenOutlet>,
    pub(super) was_killed: AtomicBool,
    /// `None` if nothing is removed after it.
    pub(super) running: Option<RunningProgram>,
}

/// An open outlet, closed on drop.
#[derive(Debug)]
pub(super) struct OpenOutlet(pub(super) Arc<dyn Outlet>);

impl Drop for OpenOutlet {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Child {
    /// Asks the reaper to kill the program and all its processes; [`Child::wait`] tells when that is done.
    pub fn kill(&self) {
        self.was_killed.store(true, Ordering::Release);
        // If the reaper is gone, there is nothing to kill.
        _ = rustix::net::send(&self.control, b"k", SendFlags::NOSIGNAL);
    }

    /// Becomes readable when the report has arrived.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Waits for the reaper's report: the program has ended and none of its processes is left. There is only one
    /// report.
    ///
    /// # Errors
    /// `EPIPE` if the reaper was killed from outside; its processes were killed with it, or by the launcher.
    pub fn wait(&self) -> Result<CommandReport, Errno> {
        match frame::receive(self.control.as_fd()) {
            Ok(Some(frame)) => from_bytes(&frame.body),
            lost => {
                std::thread::sleep(LAG);
                Err(lost.err().unwrap_or(Errno::PIPE))
            }
        }
    }

    /// As [`Child::wait`], for a program whose result nobody gets: describes how it ended. Files that it planted for
    /// the person's own git are removed and reported on standard error.
    pub fn ending(&self) -> String {
        let report = self.wait();
        for planted in self.confinement.remove_planted() {
            eprintln!("beamai: a program that has ended left something for git to run: {planted}");
        }
        self.running.iter().for_each(RunningProgram::end);
        report.map_or_else(|_| "it is lost".to_owned(), |report| report.to_string())
    }

    /// As [`Child::wait`]; a reaper that can be reused is kept for the next order.
    ///
    /// # Errors
    /// Those of [`Child::wait`].
    pub fn report(self) -> Result<CommandReport, Errno> {
        let report = self.wait()?;
        // A kill request that came too late is still in the socket, where it would affect the next order.
        if let (CommandReport::Ended { is_ready: true, .. }, false) = (&report, self.was_killed.into_inner())
        {
            let Self { isolation, confinement, control, guard, proxy, opened, .. } = self;
            guard.iter().for_each(GuardHandle::end);
            // Close the outlet: the next program's connections must not use it.
            drop(opened);
            Launcher::shared().keep(IdleReaper { isolation, confinement, control, guard, proxy });
        }
        Ok(report)
    }
}
