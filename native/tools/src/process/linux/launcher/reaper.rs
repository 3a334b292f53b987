//! The reaper: the parent of one command and of every orphan beneath it.

use super::hunt;
use super::layers::{Outside, Way};
use super::signals::Signals;
use super::start::{Streams, enter_directory, start};
use crate::context::Sandbox;
use crate::process::linux::frame::{self, Frame};
use crate::process::linux::message::{Exit, Failure, Order, Report, Setup, to_bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

/// A clone of the launcher that has not taken an order yet.
pub(super) struct Reaper {
    pub(super) control: OwnedFd,
    pub(super) signals: Signals,
    pub(super) way: Way,
    pub(super) sandbox: Sandbox,
    pub(super) outside: Outside,
}

/// What the reaper knows of its command.
struct Tended {
    main: Pid,
    exit: Option<Exit>,
    /// Processes that were alive when the reaper struck.
    struck: HashSet<Pid>,
    /// Processes that ended by its hand and were not reaped by a parent of their own.
    reaped: usize,
}

/// Does in idle time what an order will need, so that the memory is there when it comes: a clone shares its pages
/// until it first touches them.
fn rehearse() {
    let text = || CString::from(c"rehearsal");
    let order =
        Order { program: text(), directory: text(), arguments: vec![text()], environment: vec![text()] };
    std::hint::black_box(Order::decode(&order.encode()));
    std::hint::black_box(to_bytes(&Report::Ended { exit: Exit::Code(0), killed: 0 }));
}

/// What woke the reaper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    /// A child may have ended.
    Death,
    /// The port has sent something or has closed its side. Once a program runs, it wants the end of it by that.
    Ordered,
    /// The launcher is gone.
    Orphaned,
}

impl Reaper {
    /// Sets the layers up, waits for an order, carries it out, reports.
    pub(super) fn run(self) -> ExitCode {
        let setup = self.set_up();
        let failed = setup.is_err();
        if frame::send(self.control.as_fd(), &to_bytes(&setup), &[]).is_err() || failed {
            return ExitCode::FAILURE;
        }
        rehearse();
        // Without an order there is nothing to do when the launcher or the port is gone.
        let mut news = News::Death;
        while news == News::Death {
            news = self.wait_for_news();
        }
        if news == News::Orphaned {
            return ExitCode::SUCCESS;
        }
        let Ok(Some(order)) = frame::receive(self.control.as_fd()) else { return ExitCode::SUCCESS };
        let report = match self.carry_out(order) {
            Ok(Some(report)) => report,
            Ok(None) => return ExitCode::FAILURE,
            Err(failure) => Report::NotStarted(failure),
        };
        match frame::send(self.control.as_fd(), &to_bytes(&report), &[]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    }

    fn set_up(&self) -> Setup {
        // A launcher that has died before this call has closed the other end of the control socket.
        let last = if self.way.has_pids() { Signal::KILL } else { Signal::TERM };
        rustix::process::set_parent_process_death_signal(Some(last))
            .map_err(|errno| Failure::new("be bound to the launcher", errno))?;
        if !self.way.has_pids() {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(|errno| Failure::new("become a subreaper", errno))?;
        }
        let isolation = self.way.enter(&self.outside, self.sandbox)?;
        // The command may run as the same user: it shall neither trace its reaper nor read its memory.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|errno| Failure::new("shield the reaper", errno))?;
        Ok(isolation)
    }

    /// Runs the program to its end. Nothing to report when the launcher died meanwhile: to the port, this reaper is
    /// lost with it.
    fn carry_out(&self, frame: Frame) -> Result<Option<Report>, Failure> {
        let malformed = || Failure::new("understand the order", Errno::BADMSG);
        let order = Order::decode(&frame.body).ok_or_else(malformed)?;
        let mut fds = frame.fds.into_iter();
        let (Some(directory), Some(stdout), Some(stderr)) = (fds.next(), fds.next(), fds.next()) else {
            return Err(malformed());
        };
        enter_directory(&directory, &order.directory, self.way.has_mounts())?;
        drop(directory);
        // The streams are closed here once the program has them: nobody but its tree may keep them open.
        let streams = Streams { stdout, stderr, stdin: fds.next() };
        let main = start(&order, &streams, !self.way.has_pids())?;
        drop((streams, order));
        let mut tended = Tended { main, exit: None, struck: HashSet::new(), reaped: 0 };
        let orphaned = self.tend(&mut tended) == News::Orphaned;
        self.end_all(&mut tended);
        // The main process is a child like the others, so its end has been seen when none is left.
        let exit = tended.exit.unwrap_or(Exit::Signal(libc::SIGKILL));
        Ok((!orphaned).then(|| Report::Ended { exit, killed: tended.killed() }))
    }

    /// Reaps until the main process has ended or the end is ordered.
    fn tend(&self, tended: &mut Tended) -> News {
        loop {
            let news = self.wait_for_news();
            while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
                tended.note(pid, status);
            }
            if news != News::Death || tended.exit.is_some() {
                return news;
            }
        }
    }

    fn wait_for_news(&self) -> News {
        let mut fds = [
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
        ];
        let waited = frame::retry(|| poll(&mut fds, None));
        let ordered = !fds[1].revents().is_empty() || waited.is_err();
        match self.signals.take() {
            true => News::Orphaned,
            false if ordered => News::Ordered,
            false => News::Death,
        }
    }

    /// Kills and reaps until nothing is left. Each round strikes again: what a hunt has missed, the next one finds.
    fn end_all(&self, tended: &mut Tended) {
        let mut has_struck = false;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    tended.note(pid, status);
                    tended.reaped += usize::from(has_struck && was_killed(status));
                }
                Ok(None) => {
                    self.strike(tended);
                    has_struck = true;
                    self.wait_for_a_death();
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Waits until a child has ended, but not for long: a death that no parent is told of is noticed anyway.
    fn wait_for_a_death(&self) {
        let mut fds = [PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
        self.signals.take();
    }

    fn strike(&self, tended: &mut Tended) {
        if self.way.has_pids() {
            return tended.struck.extend(hunt::kill_namespace());
        }
        if tended.exit.is_none() {
            // Most of the tree is in the group of the main process. While that is not reaped, the number is its.
            _ = rustix::process::kill_process_group(tended.main, Signal::STOP);
        }
        tended.struck.extend(hunt::kill_tree(|_| false));
    }
}

impl Tended {
    /// How many processes were killed: as many as were seen alive, or, without a `/proc` to see them in, as many as
    /// were reaped.
    fn killed(&self) -> u32 {
        u32::try_from(self.struck.len().max(self.reaped)).unwrap_or(u32::MAX)
    }

    fn note(&mut self, pid: Pid, status: WaitStatus) {
        if pid == self.main {
            self.exit =
                status.exit_status().map(Exit::Code).or(status.terminating_signal().map(Exit::Signal));
        }
    }
}

fn was_killed(status: WaitStatus) -> bool {
    status.terminating_signal() == Some(libc::SIGKILL)
}
