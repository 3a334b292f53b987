//! The reaper: the parent of one command and of every orphan beneath it.

use super::baseline::Baseline;
use super::memory::MemoryMeter;
use super::process_tree;
use super::signals::Signals;
use super::start::{ProgramStreams, enter_directory, start};
use crate::{
    frame::{self, Frame},
    message::{CommandReport, EnteredLayers, ExitStatus, KillCause, Order, Setup, to_bytes},
};
use beamai_sandbox::{
    Confinement, SetupFailure,
    layers::{ForbiddenNames, HostIdentity, LayerContext, SandboxProfile, SignalScope},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use serde::Serialize;
use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};

/// A clone of the launcher that takes orders, one at a time.
pub(super) struct Reaper {
    pub(super) control: OwnedFd,
    pub(super) signals: Signals,
    pub(super) profile: SandboxProfile,
    pub(super) confinement: Confinement,
    pub(super) outside: HostIdentity,
}

/// What the reaper keeps of its layers.
#[derive(Default)]
struct Kept {
    forbidden_names: ForbiddenNames,
    signal_scope: Option<SignalScope>,
    /// Whether it counts processes, because the kernel does not.
    counts_processes: bool,
}

/// What the port gets of a reaper before its first order.
#[derive(Default)]
struct ReaperSockets {
    /// Where starts are reported.
    listener: Option<OwnedFd>,
    /// Where connections to the network are taken.
    proxy: Option<OwnedFd>,
}

/// What the reaper knows of its command.
struct CommandState {
    main: Pid,
    /// Whether what it leaves running when it ends goes on.
    lingers: bool,
    exit: Option<ExitStatus>,
    /// Why this reaper ends it.
    cause: Option<KillCause>,
    /// Processes that were alive when the reaper struck.
    struck: HashSet<Pid>,
    /// Processes that ended by its hand and were not reaped by a parent of their own.
    reaped: usize,
}

/// What woke the reaper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReaperEvent {
    /// A child may have ended.
    Death,
    /// The port has sent something or has closed its side. Once a program runs, it wants the end of it by that.
    Ordered,
    /// The launcher is gone.
    Orphaned,
    /// The layers are not what they were, or files may have come to be.
    Changed,
    /// What runs has done what must not be done.
    Offence,
}

impl Reaper {
    /// Sets the layers up, then tends one command after the other, as long as each leaves nothing behind.
    pub(super) fn run(self) -> ! {
        let mut kept = Kept::default();
        let mut handed = ReaperSockets::default();
        let setup = self.set_up(&mut kept, &mut handed);
        let baseline = Baseline::watch(self.profile, &self.confinement);
        let mut goes_on = self.tell(&setup) && setup.is_ok() && self.hand_over(handed).is_ok();
        while goes_on {
            // Without an order there is nothing to do: the port is gone, or the launcher.
            let baseline = baseline.as_ref().ok();
            let Some(mut order) = self.next_order(baseline) else { break };
            // Taken: from here on it is this reaper that answers for the order.
            if frame::send(self.control.as_fd(), &[], &[]).is_err() {
                break;
            }
            let report = match self.carry_out(&mut order, baseline, &kept) {
                Ok(Some(report)) => report,
                Ok(None) => break,
                Err(failure) => CommandReport::NotStarted(failure),
            };
            goes_on = self.tell(&report) && matches!(report, CommandReport::Ended { is_ready: true, .. });
        }
        // No exit handlers: they would touch memory that a clone has not touched yet, for nothing.
        // SAFETY: ends the process and returns to nothing.
        unsafe { libc::_exit(0) }
    }

    /// Hands over where starts are reported, with the root directory as it is seen here, and where connections are taken. It
    /// is the port that takes this from the socket, not the launcher, and nobody keeps a copy: starts shall fail once the
    /// port is gone.
    fn hand_over(&self, handed: ReaperSockets) -> Result<(), Errno> {
        let ReaperSockets { listener, proxy } = handed;
        if let Some(listener) = listener {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = rustix::fs::open("/", flags, Mode::empty())?;
            frame::send(self.control.as_fd(), &[], &[listener.as_fd(), root.as_fd()])?;
        }
        match proxy {
            Some(proxy) => frame::send(self.control.as_fd(), &[], &[proxy.as_fd()]),
            None => Ok(()),
        }
    }

    fn tell(&self, message: &impl Serialize) -> bool {
        frame::send(self.control.as_fd(), &to_bytes(message), &[]).is_ok()
    }

    /// Waits for an order. None comes to a reaper whose mounts the machine has changed meanwhile: what protected a
    /// file may be gone with that file.
    fn next_order(&self, baseline: Option<&Baseline>) -> Option<Frame> {
        loop {
            let witnesses = baseline.map(Baseline::witnesses).unwrap_or_default();
            // A witness tells each change to one poll only.
            let (news, has_changed) = self.wait_for_news(&witnesses, None);
            match news {
                ReaperEvent::Death | ReaperEvent::Offence => {}
                ReaperEvent::Ordered if has_changed || baseline.is_some_and(Baseline::has_witness) => {
                    return None;
                }
                ReaperEvent::Ordered => return frame::receive(self.control.as_fd()).ok().flatten(),
                ReaperEvent::Changed | ReaperEvent::Orphaned => return None,
            }
        }
    }

    fn set_up(&self, kept: &mut Kept, handed: &mut ReaperSockets) -> Setup {
        // A launcher that has died before this call has closed the other end of the control socket.
        let last = if self.profile.has_pids() { Signal::KILL } else { Signal::TERM };
        rustix::process::set_parent_process_death_signal(Some(last))
            .map_err(|errno| SetupFailure::new("be bound to the launcher", errno))?;
        if !self.profile.has_pids() {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(|errno| SetupFailure::new("become a subreaper", errno))?;
        }
        let mut stage = LayerContext::new(&self.outside, &self.confinement, self.profile);
        let isolation = self.profile.enter(&mut stage)?;
        let LayerContext {
            placeholders,
            forbidden_names,
            listener,
            proxy,
            signal_scope,
            counts_processes,
            ..
        } = stage;
        *kept = Kept { forbidden_names, signal_scope, counts_processes };
        *handed = ReaperSockets { listener, proxy };
        // The command may run as the same user: it shall neither trace its reaper nor read its memory.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|errno| SetupFailure::new("shield the reaper", errno))?;
        Ok(EnteredLayers { isolation, placeholders })
    }

    /// Runs the program to its end. Nothing to report when the launcher died meanwhile: to the port, this reaper is
    /// lost with it.
    fn carry_out(
        &self,
        frame: &mut Frame,
        baseline: Option<&Baseline>,
        kept: &Kept,
    ) -> Result<Option<CommandReport>, SetupFailure> {
        let forbidden_names = &kept.forbidden_names;
        let (main, lingers) = self.start(frame, kept.signal_scope.as_ref())?;
        // What the program was told is nobody's business any more, the next program's least of all.
        frame.body.fill(0);
        std::hint::black_box(&frame.body);
        let mut tended =
            CommandState { main, lingers, exit: None, cause: None, struck: HashSet::new(), reaped: 0 };
        let news = self.tend(&mut tended, kept);
        self.end_all(&mut tended);
        _ = rustix::process::chdir("/");
        let is_clean = tended.note_intruder(forbidden_names);
        // Landlock permits by what was there when it was entered: each command has rules of its own.
        let is_ready = news == ReaperEvent::Death
            && kept.signal_scope.is_none()
            && tended.killed() == 0
            && is_clean
            && baseline.is_some_and(|baseline| !baseline.are_left());
        // The main process is a child like the others, so its end has been seen when none is left.
        let exit = tended.exit.unwrap_or(ExitStatus::Signal(libc::SIGKILL));
        let report = CommandReport::Ended { exit, killed: tended.killed(), cause: tended.cause, is_ready };
        Ok((news != ReaperEvent::Orphaned).then_some(report))
    }

    /// Starts what the order says. Returns its main process, and whether what that leaves running goes on.
    fn start(&self, frame: &mut Frame, scope: Option<&SignalScope>) -> Result<(Pid, bool), SetupFailure> {
        let malformed = || SetupFailure::new("understand the order", Errno::BADMSG);
        let order = Order::decode(&frame.body).ok_or_else(malformed)?;
        let mut fds = frame.fds.drain(..);
        let (Some(directory), Some(stdout), Some(stderr)) = (fds.next(), fds.next(), fds.next()) else {
            return Err(malformed());
        };
        enter_directory(&directory, order.directory, self.profile.has_mounts())?;
        drop(directory);
        // The streams are closed here once the program has them: nobody but its tree may keep them open.
        let streams = ProgramStreams { stdout, stderr, stdin: fds.next() };
        Ok((start(&order, &streams, !self.profile.has_pids(), scope)?, order.lingers))
    }

    /// Reaps until the main process has ended, and with it everything that may linger, or the end is ordered.
    fn tend(&self, tended: &mut CommandState, kept: &Kept) -> ReaperEvent {
        let forbidden_names = &kept.forbidden_names;
        let mut meter = MemoryMeter::new(&self.confinement, self.profile, kept.counts_processes);
        let bell: Vec<_> = forbidden_names
            .bell()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .into_iter()
            .collect();
        loop {
            let (news, _) = self.wait_for_news(&bell, meter.as_ref().map(MemoryMeter::time));
            let has_children = tended.reap();
            if news == ReaperEvent::Changed {
                tended.note_intruder(forbidden_names);
            }
            if let Some(cause) = meter.as_mut().and_then(MemoryMeter::look) {
                tended.cause = Some(cause);
            }
            if tended.cause.is_some() {
                return ReaperEvent::Offence;
            }
            let goes_on = matches!(news, ReaperEvent::Death | ReaperEvent::Changed);
            if !goes_on || (tended.exit.is_some() && !(tended.lingers && has_children)) {
                return news;
            }
        }
    }

    /// Waits, for some time at most; when that is over, it is as if a child had ended. What rings beside comes last, for
    /// a command can have it ring all the time; whether it has rung is told in any case.
    fn wait_for_news(&self, beside: &[PollFd<'_>], time: Option<Timespec>) -> (ReaperEvent, bool) {
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
        ];
        fds.extend_from_slice(beside);
        let waited = retry_on_intr(|| poll(&mut fds, time.as_ref()));
        let ordered = !fds[1].revents().is_empty() || waited.is_err();
        let has_rung = fds[2..].iter().any(|fd| !fd.revents().is_empty());
        // The init of a pid namespace dies with the launcher by a signal that needs no reading; what it can read comes
        // from the command.
        let news = match self.signals.take() && !self.profile.has_pids() {
            true => ReaperEvent::Orphaned,
            false if ordered => ReaperEvent::Ordered,
            false if has_rung => ReaperEvent::Changed,
            false => ReaperEvent::Death,
        };
        (news, has_rung)
    }

    /// Kills and reaps until nothing is left. Each round strikes again: what a hunt has missed, the next one finds.
    fn end_all(&self, tended: &mut CommandState) {
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

    fn strike(&self, tended: &mut CommandState) {
        if self.profile.has_pids() {
            return tended.struck.extend(process_tree::kill_namespace());
        }
        if tended.exit.is_none() {
            // Most of the tree is in the group of the main process. While that is not reaped, the number is its.
            _ = rustix::process::kill_process_group(tended.main, Signal::STOP);
        }
        tended.struck.extend(process_tree::kill_tree(|_| false));
    }
}

impl CommandState {
    /// How many processes were killed: as many as were seen alive, or, without a `/proc` to see them in, as many as
    /// were reaped.
    fn killed(&self) -> u32 {
        u32::try_from(self.struck.len().max(self.reaped)).unwrap_or(u32::MAX)
    }

    /// Removes what the command must not have created, and notes it. False when it could not be removed.
    fn note_intruder(&mut self, forbidden_names: &ForbiddenNames) -> bool {
        let removed = forbidden_names.remove();
        if let Ok(Some(path)) = &removed {
            self.cause.get_or_insert_with(|| KillCause::Created(path.clone()));
        }
        removed.is_ok()
    }

    /// Reaps what has ended. Returns whether children are left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.note(pid, status),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn note(&mut self, pid: Pid, status: WaitStatus) {
        if pid == self.main {
            self.exit = status
                .exit_status()
                .map(ExitStatus::Code)
                .or(status.terminating_signal().map(ExitStatus::Signal));
        }
    }
}

fn was_killed(status: WaitStatus) -> bool {
    status.terminating_signal() == Some(libc::SIGKILL)
}
