//! The main loop of the launcher.

use super::clone::fork;
use super::process_tree;
use super::reaper::Reaper;
use super::signals::Signals;
use crate::{
    frame,
    message::{Setup, from_bytes, to_bytes},
};
use beamai_sandbox::{
    Confinement, SetupFailure,
    layers::{self as sandbox, CoveredPlaceholders, HostIdentity, SandboxProfile},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process};
use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long the launcher waits for killed reapers before it exits.
const LAST: Duration = Duration::from_secs(5);

/// The launcher's state.
pub(super) struct LauncherServer {
    socket: OwnedFd,
    signals: Signals,
    reapers: HashSet<Pid>,
    placeholders: CoveredPlaceholders,
    /// Why the machine refuses namespaces to this process, if it has.
    refusal: Option<SetupFailure>,
}

/// How the loop ends.
pub(super) enum LoopTurn {
    /// The port is gone.
    End,
    /// This process is a clone that becomes a reaper. It has closed the launcher's socket.
    Reaper(Box<Reaper>),
}

/// The result of cloning: in the clone, to leave the loop; in the launcher, the reply to the port.
enum CloneResult {
    Clone(Box<Reaper>),
    Reply(Setup, Option<OwnedFd>),
}

impl LauncherServer {
    pub(super) fn new(socket: OwnedFd, signals: Signals) -> Self {
        Self {
            socket,
            signals,
            reapers: HashSet::new(),
            placeholders: CoveredPlaceholders::default(),
            refusal: None,
        }
    }

    /// Creates reapers until the port is gone, which a failed reply may show.
    pub(super) fn serve(mut self) -> Result<LoopTurn, Errno> {
        let turn = self.turns();
        if turn.is_err() {
            self.end();
        }
        turn
    }

    fn turns(&mut self) -> Result<LoopTurn, Errno> {
        loop {
            if self.wait()? {
                return Ok(self.end());
            }
            self.pick_up();
            if !self.has_request()? {
                continue;
            }
            let Some(request) = frame::receive(self.socket.as_fd())? else { return Ok(self.end()) };
            match self.make(&from_bytes(&request.body)?) {
                CloneResult::Clone(reaper) => return Ok(LoopTurn::Reaper(reaper)),
                CloneResult::Reply(setup, control) => self.reply(&setup, control.as_ref())?,
            }
        }
    }

    /// Cleans up. The reapers end with the launcher; those that cover placeholders have to end before these are removed.
    fn end(&mut self) -> LoopTurn {
        self.placeholders.reapers().for_each(|reaper| _ = kill_process(reaper, Signal::KILL));
        let until = Instant::now() + LAST;
        while self.placeholders.reapers().next().is_some() && Instant::now() < until {
            self.signals.wait_briefly();
            self.pick_up();
        }
        LoopTurn::End
    }

    /// Waits for a request or a signal; true if the launcher is to exit.
    fn wait(&self) -> Result<bool, Errno> {
        let mut fds = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
        ];
        retry_on_intr(|| poll(&mut fds, None))?;
        Ok(self.signals.take())
    }

    fn has_request(&self) -> Result<bool, Errno> {
        let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        Ok(retry_on_intr(|| poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })))? > 0)
    }

    fn reply(&self, setup: &Setup, control: Option<&OwnedFd>) -> Result<(), Errno> {
        let fds: Vec<_> = control.iter().map(AsFd::as_fd).collect();
        frame::send(self.socket.as_fd(), &to_bytes(setup), &fds)
    }

    /// Creates a reaper with the best profile that the machine permits, among those that the host accepts.
    fn make(&mut self, confinement: &Confinement) -> CloneResult {
        let profiles = sandbox::profiles(confinement);
        let mut failures: Vec<SetupFailure> = Vec::new();
        for (at, profile) in profiles.iter().enumerate() {
            let is_refused = profile.has_users() && at + 1 < profiles.len();
            let cloned = match self.refusal.clone().filter(|_| is_refused) {
                // A refusal by the machine is permanent.
                Some(refusal) => Err(refusal),
                None => self.try_profile(*profile, confinement),
            };
            match cloned {
                Ok(CloneResult::Reply(Err(failure), _)) | Err(failure)
                    if !failure.is_shortage() && !failure.is_stale() =>
                {
                    // Exceeding the limit on namespaces may be temporary.
                    if sandbox::is_of_namespaces(&failure) && failure.errno == Errno::PERM.raw_os_error() {
                        self.refusal = Some(failure.clone());
                    }
                    failures.push(failure);
                }
                Err(failure) => return CloneResult::Reply(Err(failure), None),
                Ok(mut cloned) => {
                    if let CloneResult::Reply(Ok(entered), _) = &mut cloned {
                        sandbox::account(&mut entered.isolation, confinement, failures.first());
                    }
                    return cloned;
                }
            }
        }
        CloneResult::Reply(Err(together(failures)), None)
    }

    fn try_profile(
        &mut self,
        profile: SandboxProfile,
        confinement: &Confinement,
    ) -> Result<CloneResult, SetupFailure> {
        let failure = |errno| SetupFailure::new("make a reaper", errno);
        let outside = HostIdentity::here();
        let (ours, control) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(failure)?;
        let namespaces = profile.namespaces(confinement);
        let forked = fork(namespaces).map_err(|errno| profile.refused(confinement, errno, probe))?;
        match forked {
            Some(pid) => {
                self.reapers.insert(pid);
                drop(control);
                let setup = self.setup_of(&ours).unwrap_or_else(|errno| Err(failure(errno)));
                if let Ok(entered) = &setup {
                    self.placeholders.add(pid, &entered.placeholders);
                }
                Ok(CloneResult::Reply(setup, Some(ours)))
            }
            None => {
                let signals = self.signals.try_clone().map_err(failure)?;
                let confinement = confinement.clone();
                Ok(CloneResult::Clone(Box::new(Reaper { control, signals, profile, confinement, outside })))
            }
        }
    }

    fn setup_of(&self, reaper: &OwnedFd) -> Result<Setup, Errno> {
        let frame = frame::receive(reaper.as_fd())?.ok_or(Errno::PIPE)?;
        from_bytes(&frame.body)
    }

    /// Handles exited reapers. After one that was killed or stopped, its processes have become children of the launcher
    /// and are killed here.
    fn pick_up(&mut self) {
        let mut by_force = false;
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED)
        {
            by_force |= self.note(pid, status);
        }
        if by_force {
            process_tree::kill_tree(|pid| self.reapers.contains(&pid), || None);
        }
    }

    /// True if a reaper was killed.
    fn note(&mut self, pid: Pid, status: WaitStatus) -> bool {
        if status.stopped() {
            _ = kill_process(pid, Signal::KILL);
            return false;
        }
        self.placeholders.remove(pid);
        self.reapers.remove(&pid) && status.signaled()
    }
}

/// Combines the failures of all profiles: that of the last one, which needs least, together with that of the first one.
fn together(mut failures: Vec<SetupFailure>) -> SetupFailure {
    let Some(mut last) = failures.pop() else { return SetupFailure::new("make a reaper", Errno::IO) };
    last.instead = failures.first().map(|first| format!("tier full: {}", first.with_layer()));
    last
}

/// Whether the machine permits these namespaces.
fn probe(namespaces: libc::c_int) -> Result<(), Errno> {
    match fork(namespaces)? {
        // SAFETY: ends the process.
        None => unsafe { libc::_exit(0) },
        Some(pid) => rustix::process::waitpid(Some(pid), WaitOptions::empty()).map(drop),
    }
}
