//! The launcher's loop.

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
    layers::{self as sandbox, HostIdentity, PlaceholderCounts, SandboxProfile},
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process};
use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};

/// The launcher's state.
pub(super) struct LauncherServer {
    socket: OwnedFd,
    signals: Signals,
    pub(super) reapers: HashSet<Pid>,
    pub(super) placeholders: PlaceholderCounts,
    /// Why the machine refuses namespaces to this process, where `bwrap` has them.
    refusal: Option<SetupFailure>,
}

/// How a turn of the loop leaves it.
pub(super) enum LoopTurn {
    /// The port is gone.
    End,
    /// This process is a clone that has to do a reaper's work. It has left the launcher's socket behind.
    Reaper(Box<Reaper>),
}

/// A clone's way out of the loop, or what the launcher has to tell the port.
pub(super) enum CloneResult {
    Clone(Box<Reaper>),
    Reply(Setup, Option<OwnedFd>),
}

impl LauncherServer {
    pub(super) fn new(socket: OwnedFd, signals: Signals) -> Self {
        Self {
            socket,
            signals,
            reapers: HashSet::new(),
            placeholders: PlaceholderCounts::default(),
            refusal: None,
        }
    }

    /// Makes reapers until the port is gone, which may show in an answer that nobody takes.
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

    /// Leaves nothing behind. The reapers see the end of their own sockets.
    fn end(&mut self) -> LoopTurn {
        self.placeholders.remove_all();
        LoopTurn::End
    }

    /// Waits for a request or a signal; true when the launcher has been told to end.
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
        Ok(retry_on_intr(|| poll(&mut fds, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })))? > 0)
    }

    fn reply(&self, setup: &Setup, control: Option<&OwnedFd>) -> Result<(), Errno> {
        let fds: Vec<_> = control.iter().map(AsFd::as_fd).collect();
        frame::send(self.socket.as_fd(), &to_bytes(setup), &fds)
    }

    /// Makes a reaper in the best way that the machine permits, or that the host accepts.
    fn make(&mut self, confinement: &Confinement) -> CloneResult {
        let profiles = sandbox::profiles(confinement.mode);
        // Where bwrap was needed once, nothing else is tried before it.
        let first = profiles.iter().position(|profile| self.refusal.is_some() && profile.is_by_bwrap());
        let mut refusal = first.and_then(|_| self.refusal.take());
        let mut missing = None;
        for profile in &profiles[first.unwrap_or(0)..] {
            let cloned = match profile.is_by_bwrap() {
                false => self.try_profile(*profile, confinement),
                true => match self.try_bwrap(confinement, refusal.as_mut()) {
                    Ok(cloned) => Ok(cloned),
                    Err(failure) => {
                        missing = failure;
                        continue;
                    }
                },
            };
            match cloned {
                // What the machine refuses, it refuses again; another way may do without.
                Ok(CloneResult::Reply(Err(failure), _)) | Err(failure) if !failure.is_shortage() => {
                    refusal.get_or_insert(failure);
                }
                Err(failure) => return CloneResult::Reply(Err(failure), None),
                Ok(cloned) => return self.accounted(cloned, *profile, confinement, refusal),
            }
        }
        let failure = missing.or(refusal).unwrap_or_else(|| SetupFailure::new("make a reaper", Errno::IO));
        CloneResult::Reply(Err(failure), None)
    }

    /// What was made, with the layers that are off because of a refusal. That `bwrap` was needed is remembered.
    fn accounted(
        &mut self,
        mut cloned: CloneResult,
        profile: SandboxProfile,
        confinement: &Confinement,
        refusal: Option<SetupFailure>,
    ) -> CloneResult {
        if let CloneResult::Reply(Ok(entered), _) = &mut cloned {
            sandbox::account(&mut entered.isolation, confinement, refusal.as_ref());
            if profile.is_by_bwrap() {
                self.refusal = refusal;
            }
        }
        cloned
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
                Ok(CloneResult::Clone(Box::new(Reaper {
                    control,
                    signals,
                    profile,
                    confinement,
                    outside,
                    reaper_plan: None,
                })))
            }
        }
    }

    pub(super) fn setup_of(&self, reaper: &OwnedFd) -> Result<Setup, Errno> {
        let frame = frame::receive(reaper.as_fd())?.ok_or(Errno::PIPE)?;
        from_bytes(&frame.body)
    }

    /// Takes note of reapers that have ended. One that died by force, or was stopped, cannot do its work any more:
    /// what it had beneath it has fallen to the launcher and is killed here.
    fn pick_up(&mut self) {
        let mut by_force = false;
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED)
        {
            by_force |= self.note(pid, status);
        }
        if by_force {
            process_tree::kill_tree(|pid| self.reapers.contains(&pid));
        }
    }

    /// True when a reaper has ended by force.
    fn note(&mut self, pid: Pid, status: WaitStatus) -> bool {
        if status.stopped() {
            _ = kill_process(pid, Signal::KILL);
            return false;
        }
        self.placeholders.remove(pid);
        self.reapers.remove(&pid) && status.signaled()
    }
}

/// Whether the machine permits these namespaces.
fn probe(namespaces: libc::c_int) -> Result<(), Errno> {
    match fork(namespaces)? {
        // SAFETY: ends the process and returns to nothing.
        None => unsafe { libc::_exit(0) },
        Some(pid) => rustix::process::waitpid(Some(pid), WaitOptions::empty()).map(drop),
    }
}
