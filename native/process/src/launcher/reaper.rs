//! The reaper: the parent of one command, and of all orphans of it.

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
    layers::{
        AttemptCounters, ForbiddenNames, HostIdentity, LayerContext, MountCovers, NetworkAttempts,
        Placeholders, SandboxProfile, SignalScope,
    },
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use serde::Serialize;
use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long processes that a command leaves running may continue after its end. Short background work, such as git's
/// check whether to run maintenance, finishes within that time and need not be reported.
const GRACE: Duration = Duration::from_millis(100);

/// Maximum number of children that are reaped before something else is done, such as to kill the rest. For that, it
/// doubles each time.
const FIRST_REAPED: u32 = 100;

/// Which of the children that had ended were reaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reaped {
    /// There may be more.
    Part,
    All,
    /// All, and no child is left.
    Last,
}

/// A clone of the launcher that runs orders, one at a time.
pub(super) struct Reaper {
    pub(super) control: OwnedFd,
    pub(super) signals: Signals,
    pub(super) profile: SandboxProfile,
    pub(super) confinement: Confinement,
    pub(super) outside: HostIdentity,
}

/// The reaper's handles on its layers.
#[derive(Default)]
struct ReaperLayers {
    /// Kept until the reaper exits, so that no launcher removes them.
    #[expect(dead_code, reason = "holds locks")]
    placeholders: Placeholders,
    forbidden_names: ForbiddenNames,
    signal_scope: Option<SignalScope>,
    /// Whether it counts processes because the Linux kernel does not.
    counts_processes: bool,
    /// `None` for a reaper without a private mount tree.
    covers: Option<MountCovers>,
    attempts: Option<AttemptCounters>,
    /// The counts before the next command.
    attempted: Option<NetworkAttempts>,
}

impl ReaperLayers {
    /// What the last command could not send anywhere.
    fn attempts(&self) -> Option<NetworkAttempts> {
        Some(self.attempts.as_ref()?.read()?.since(self.attempted?))
    }
}

/// What the port receives from a reaper before its first order.
#[derive(Default)]
struct ReaperSockets {
    /// The listener of the exec guard.
    listener: Option<OwnedFd>,
    /// The listening socket for network connections.
    proxy: Option<OwnedFd>,
}

/// The state of the current command.
struct CommandState {
    main: Pid,
    /// Whether processes that it leaves running continue.
    lingers: bool,
    exit: Option<ExitStatus>,
    /// Why this reaper ended it.
    cause: Option<KillCause>,
    /// Processes that were alive when the reaper killed them.
    struck: HashSet<Pid>,
    /// Killed processes that were reaped by this reaper and not by a parent of their own.
    reaped: usize,
}

/// An event that wakes the reaper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReaperEvent {
    /// A child may have exited.
    Death,
    /// The port has sent something or closed its end. While a program runs, both mean that it is to be killed.
    Ordered,
    /// The launcher is gone.
    Orphaned,
    /// The layers have changed, or files may have been created.
    Changed,
    /// The command has violated a limit or rule.
    Offence,
}

impl Reaper {
    /// Enters the layers, then runs one command after the other, as long as each leaves nothing behind.
    pub(super) fn run(self) -> ! {
        let mut kept = ReaperLayers::default();
        let mut handed = ReaperSockets::default();
        let setup = self.set_up(&mut kept, &mut handed);
        let baseline = Baseline::watch(self.profile, &self.confinement);
        let mut goes_on = self.tell(&setup) && setup.is_ok() && self.hand_over(handed).is_ok();
        while goes_on {
            // Without an order, port or launcher are gone.
            let baseline = baseline.as_ref().ok();
            // Counted before the order comes, because the command's caller waits from then on.
            kept.attempted = kept.attempts.as_ref().and_then(AttemptCounters::read);
            let Some(mut order) = self.next_order(baseline) else { break };
            // If a mount is no longer in its place, the port gives the order to another reaper.
            if kept.covers.as_mut().is_some_and(|covers| !covers.hold()) {
                break;
            }
            // Acknowledge the order: from here on this reaper is responsible for it.
            if frame::send(self.control.as_fd(), &[], &[]).is_err() {
                break;
            }
            let report = match self.carry_out(&mut order, &kept) {
                Ok(Some(report)) => report,
                Ok(None) => break,
                Err(failure) => CommandReport::NotStarted(failure),
            };
            // What the command left behind is looked for after the report, because its caller waits for that. If there is
            // anything, the next order finds that this reaper has ended, and is given to another one.
            goes_on = self.tell(&report)
                && matches!(report, CommandReport::Ended { is_ready: true, .. })
                && baseline.is_some_and(|baseline| !baseline.are_left());
        }
        // Skips exit handlers: they would touch memory pages that the clone has not copied yet.
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) }
    }

    /// Sends the listener of the exec guard, the root directory as seen here, and the proxy's listening socket. They
    /// are sent to the port, not to the launcher, and no copy is kept, so that starts fail once the port is gone.
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

    /// Waits for an order. A reaper whose mounts have changed in the meantime gets none: a protecting mount may have
    /// disappeared with its file.
    fn next_order(&self, baseline: Option<&Baseline>) -> Option<Frame> {
        loop {
            let witnesses = baseline.map(Baseline::witnesses).unwrap_or_default();
            // A descriptor reports each change to one poll only.
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

    fn set_up(&self, kept: &mut ReaperLayers, handed: &mut ReaperSockets) -> Setup {
        // If the launcher died before this call, the other end of the control socket is closed.
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
            attempts,
            ..
        } = stage;
        let covered = placeholders.paths();
        let covers = self.profile.has_mounts().then(|| MountCovers::now(&self.confinement));
        let attempted = None;
        *kept = ReaperLayers {
            placeholders,
            forbidden_names,
            signal_scope,
            counts_processes,
            covers,
            attempts,
            attempted,
        };
        *handed = ReaperSockets { listener, proxy };
        if let Some(scope) = &kept.signal_scope {
            scope.enter_as_reaper().map_err(|errno| {
                SetupFailure::new("keep the reaper's signals among the command's processes", errno)
            })?;
        }
        // The command may run as the same user: it must not be able to trace its reaper or read its memory.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|errno| SetupFailure::new("shield the reaper", errno))?;
        Ok(EnteredLayers { isolation, placeholders: covered })
    }

    /// Runs the program to its end. `None` if the launcher has died: for the port, this reaper is lost with it.
    fn carry_out(
        &self,
        frame: &mut Frame,
        kept: &ReaperLayers,
    ) -> Result<Option<CommandReport>, SetupFailure> {
        let forbidden_names = &kept.forbidden_names;
        let (main, lingers) = self.start(frame, kept.signal_scope.as_ref())?;
        // Wipe the order, so that the next program cannot read it.
        frame.body.fill(0);
        std::hint::black_box(&frame.body);
        let mut tended =
            CommandState { main, lingers, exit: None, cause: None, struck: HashSet::new(), reaped: 0 };
        let news = self.tend(&mut tended, kept);
        self.end_all(&mut tended, kept);
        _ = rustix::process::chdir("/");
        let is_clean = tended.note_intruder(forbidden_names);
        // Landlock rules refer to files that existed when it was entered, so each command needs its own.
        let is_of_one =
            kept.signal_scope.is_some() || kept.covers.as_ref().is_some_and(|covers| !covers.are_whole);
        let is_ready = news == ReaperEvent::Death && !is_of_one && tended.killed() == 0 && is_clean;
        // The main process is one of the children, so its exit status is known when none is left.
        let exit = tended.exit.unwrap_or(ExitStatus::Signal(libc::SIGKILL));
        let attempts = (exit != ExitStatus::Code(0)).then(|| kept.attempts()).flatten();
        let killed = tended.killed();
        let report = CommandReport::Ended { exit, killed, cause: tended.cause, attempts, is_ready };
        Ok((news != ReaperEvent::Orphaned).then_some(report))
    }

    /// Starts the ordered program. Returns its main process, and whether processes that it leaves running continue.
    fn start(&self, frame: &mut Frame, scope: Option<&SignalScope>) -> Result<(Pid, bool), SetupFailure> {
        let malformed = || SetupFailure::new("understand the order", Errno::BADMSG);
        let order = Order::decode(&frame.body).ok_or_else(malformed)?;
        let mut fds = frame.fds.drain(..);
        let (Some(directory), Some(stdout), Some(stderr)) = (fds.next(), fds.next(), fds.next()) else {
            return Err(malformed());
        };
        enter_directory(&directory, order.directory, self.profile.has_mounts())?;
        drop(directory);
        // The streams are closed here once the program has them: only its processes may keep them open.
        let streams = ProgramStreams { stdout, stderr, stdin: fds.next() };
        Ok((start(&order, &streams, !self.profile.has_pids(), scope)?, order.lingers))
    }

    /// Reaps children until the main process and all lingering processes have ended, or the end is requested. Processes
    /// that may not linger get a short time to finish.
    fn tend(&self, tended: &mut CommandState, kept: &ReaperLayers) -> ReaperEvent {
        let forbidden_names = &kept.forbidden_names;
        let reaches_these = self.reaches_only_the_command(kept);
        let mut meter =
            MemoryMeter::new(&self.confinement, self.profile, kept.counts_processes, reaches_these);
        let bell: Vec<_> = forbidden_names
            .bell()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .into_iter()
            .collect();
        let mut last: Option<Instant> = None;
        let mut reaped = Reaped::All;
        loop {
            let left = last.map(|last| last.saturating_duration_since(Instant::now()));
            let look = meter.as_ref().map(MemoryMeter::time);
            let time = if reaped == Reaped::Part { Some(Timespec::default()) } else { soonest(look, left) };
            let (news, _) = self.wait_for_news(&bell, time);
            reaped = tended.reap();
            let has_children = reaped != Reaped::Last;
            if news == ReaperEvent::Changed {
                tended.note_intruder(forbidden_names);
            }
            let look = |meter: &mut MemoryMeter| {
                meter.look(&|| !self.has_news(), reaped == Reaped::Part, || tended.reap_one())
            };
            if let Some(cause) = meter.as_mut().and_then(look) {
                tended.cause = Some(cause);
            }
            if tended.cause.is_some() {
                return ReaperEvent::Offence;
            }
            let goes_on = matches!(news, ReaperEvent::Death | ReaperEvent::Changed);
            if !goes_on {
                return news;
            }
            if tended.exit.is_some() && !(tended.lingers && has_children) {
                let last = *last.get_or_insert_with(|| Instant::now() + GRACE);
                if !has_children || last <= Instant::now() {
                    return news;
                }
            }
        }
    }

    /// Waits for an event with a timeout, after which it reports a possible exit of a child. The descriptors in
    /// `beside` have the lowest priority, because a command can make them ready all the time; the flag reports their
    /// readiness in any case.
    fn wait_for_news(&self, beside: &[PollFd<'_>], time: Option<Timespec>) -> (ReaperEvent, bool) {
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
        ];
        fds.extend_from_slice(beside);
        let waited = retry_on_intr(|| poll(&mut fds, time.as_ref()));
        let ordered = !fds[1].revents().is_empty() || waited.is_err();
        let has_rung = fds[2..].iter().any(|fd| !fd.revents().is_empty());
        // The init of a pid namespace is killed with the launcher without reading a signal; a signal that it reads is
        // from the command.
        let news = match self.signals.take() && !self.profile.has_pids() {
            true => ReaperEvent::Orphaned,
            false if ordered => ReaperEvent::Ordered,
            false if has_rung => ReaperEvent::Changed,
            false => ReaperEvent::Death,
        };
        (news, has_rung)
    }

    /// Whether an order waits, or the launcher has died.
    fn has_news(&self) -> bool {
        let mut control = [PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN)];
        poll(&mut control, Some(&Timespec::default())) != Ok(0)
    }

    /// Kills and reaps until nothing is left. Each round finds processes that the previous one has missed.
    fn end_all(&self, tended: &mut CommandState, kept: &ReaperLayers) {
        // What a strike reaches in one step leaves no more to reap than there is.
        let reaches_all = self.reaches_only_the_command(kept);
        let (mut has_struck, mut ended) = (false, 0);
        let mut most = if reaches_all { 0 } else { FIRST_REAPED };
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if ended < most => {
                    tended.note(pid, status);
                    tended.reaped += usize::from(has_struck && was_killed(status));
                    ended += 1;
                }
                // Processes that fork and end, again and again, leave always one more to reap. A strike takes the
                // longer the more are left.
                Ok(found) => {
                    found.inspect(|(pid, status)| tended.note(*pid, *status));
                    self.strike(tended, kept);
                    (has_struck, ended) = (true, 0);
                    most = if reaches_all { u32::MAX } else { most.saturating_mul(2) };
                    self.signals.wait_briefly();
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Whether the signals of this process reach nothing but the command's processes.
    fn reaches_only_the_command(&self, kept: &ReaperLayers) -> bool {
        self.profile.has_pids() || kept.signal_scope.is_some()
    }

    fn strike(&self, tended: &mut CommandState, kept: &ReaperLayers) {
        if self.reaches_only_the_command(kept) {
            let struck = process_tree::kill_reached(self.profile.has_pids(), || tended.reap_one());
            return tended.struck.extend(struck);
        }
        if tended.exit.is_none() {
            // Most of the tree is in the main process's group. Until the main process is reaped, its pid cannot be
            // reused.
            _ = rustix::process::kill_process_group(tended.main, Signal::STOP);
        }
        let struck = process_tree::kill_tree(|_| false, || tended.reap_one());
        tended.struck.extend(struck);
    }
}

impl CommandState {
    /// The number of killed processes: those seen alive, or, without `/proc`, those reaped.
    fn killed(&self) -> u32 {
        u32::try_from(self.struck.len().max(self.reaped)).unwrap_or(u32::MAX)
    }

    /// Removes files that the command must not create, and records one. False if one could not be removed, which is an
    /// offence, too.
    fn note_intruder(&mut self, forbidden_names: &ForbiddenNames) -> bool {
        let found = forbidden_names.remove();
        if let Some(path) = found.path {
            self.cause.get_or_insert(KillCause::Created(path));
        }
        found.are_gone
    }

    /// Reaps one exited child, if there is any.
    fn reap_one(&mut self) -> Option<Pid> {
        let (pid, status) = rustix::process::wait(WaitOptions::NOHANG).ok()??;
        self.note(pid, status);
        Some(pid)
    }

    /// Reaps exited children, but not without end: processes may fork and end all the time.
    fn reap(&mut self) -> Reaped {
        for _ in 0..FIRST_REAPED {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.note(pid, status),
                Ok(None) => return Reaped::All,
                Err(_) => return Reaped::Last,
            }
        }
        Reaped::Part
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

/// The shorter of two timeouts, if there is any.
fn soonest(one: Option<Timespec>, other: Option<Duration>) -> Option<Timespec> {
    let other = other.map(|left| Timespec {
        tv_sec: left.as_secs().cast_signed(),
        tv_nsec: i64::from(left.subsec_nanos()),
    });
    let length = |time: &Timespec| (time.tv_sec, time.tv_nsec);
    one.into_iter().chain(other).min_by_key(length)
}

fn was_killed(status: WaitStatus) -> bool {
    status.terminating_signal() == Some(libc::SIGKILL)
}
