//! The launcher's loop.

use super::bwrap::{Bwrap, Papers, become_bwrap};
use super::clone::fork;
use super::hunt;
use super::reaper::Reaper;
use super::signals::Signals;
use crate::process::Confinement;
use crate::process::linux::frame;
use crate::process::linux::message::{Failure, Setup, from_bytes, to_bytes};
use crate::process::linux::sandbox::{self, Outside, Placeholders, Way};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process};
use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// The longest that `bwrap` may take: less than the port waits for the launcher.
const PATIENCE: Duration = Duration::from_secs(5);

/// The launcher's state.
pub(super) struct Server {
    socket: OwnedFd,
    signals: Signals,
    reapers: HashSet<Pid>,
    placeholders: Placeholders,
    /// Why the machine refuses namespaces to this process, where `bwrap` has them.
    refusal: Option<Failure>,
}

/// How a turn of the loop leaves it.
pub(super) enum Turn {
    /// The port is gone.
    End,
    /// This process is a clone that has to do a reaper's work. It has left the launcher's socket behind.
    Reaper(Box<Reaper>),
}

/// A clone's way out of the loop, or what the launcher has to tell the port.
enum Made {
    Clone(Box<Reaper>),
    Reply(Setup, Option<OwnedFd>),
}

impl Server {
    pub(super) fn new(socket: OwnedFd, signals: Signals) -> Self {
        Self {
            socket,
            signals,
            reapers: HashSet::new(),
            placeholders: Placeholders::default(),
            refusal: None,
        }
    }

    /// Makes reapers until the port is gone.
    pub(super) fn serve(mut self) -> Result<Turn, Errno> {
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
                Made::Clone(reaper) => return Ok(Turn::Reaper(reaper)),
                Made::Reply(setup, control) => self.reply(&setup, control.as_ref())?,
            }
        }
    }

    /// Leaves nothing behind. The reapers see the end of their own sockets.
    fn end(&mut self) -> Turn {
        self.placeholders.remove_all();
        Turn::End
    }

    /// Waits for a request or a signal; true when the launcher has been told to end.
    fn wait(&self) -> Result<bool, Errno> {
        let mut fds = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
        ];
        frame::retry(|| poll(&mut fds, None))?;
        Ok(self.signals.take())
    }

    fn has_request(&self) -> Result<bool, Errno> {
        let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        Ok(frame::retry(|| poll(&mut fds, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })))? > 0)
    }

    fn reply(&self, setup: &Setup, control: Option<&OwnedFd>) -> Result<(), Errno> {
        let fds: Vec<_> = control.iter().map(AsFd::as_fd).collect();
        frame::send(self.socket.as_fd(), &to_bytes(setup), &fds)
    }

    /// Makes a reaper in the best way that the machine permits, or that the host accepts.
    fn make(&mut self, confinement: &Confinement) -> Made {
        let ways = sandbox::ways(confinement.mode);
        // Where bwrap was needed once, nothing else is tried before it.
        let first = ways.iter().position(|way| self.refusal.is_some() && way.is_by_bwrap());
        let mut refusal = first.and_then(|_| self.refusal.take());
        let mut missing = None;
        for way in &ways[first.unwrap_or(0)..] {
            let made = match (way.is_by_bwrap(), &mut refusal) {
                (true, Some(refusal)) => match self.try_bwrap(confinement, refusal) {
                    Ok(made) => Ok(made),
                    Err(failure) => {
                        missing = failure;
                        continue;
                    }
                },
                (true, None) => continue,
                (false, _) => self.try_way(*way, confinement),
            };
            match made {
                Ok(Made::Reply(Ok(mut entered), control)) => {
                    sandbox::account(&mut entered.isolation, confinement, refusal.as_ref());
                    if way.is_by_bwrap() {
                        self.refusal = refusal;
                    }
                    return Made::Reply(Ok(entered), control);
                }
                // What the machine refuses, it refuses again; another way may do without.
                Ok(Made::Reply(Err(failure), _)) | Err(failure) if !failure.is_shortage() => {
                    refusal.get_or_insert(failure);
                }
                Ok(made) => return made,
                Err(failure) => return Made::Reply(Err(failure), None),
            }
        }
        let failure = missing.or(refusal).unwrap_or_else(|| Failure::new("make a reaper", Errno::IO));
        Made::Reply(Err(failure), None)
    }

    /// Has `bwrap` make the namespaces, where they are what is missing. Otherwise, and where it cannot either, there is
    /// nothing to be had of it, which the refusal tells; what of a layer is missing then is given beside.
    fn try_bwrap(
        &mut self,
        confinement: &Confinement,
        refusal: &mut Failure,
    ) -> Result<Made, Option<Failure>> {
        // Who is root has the privileges that make them, or bwrap has them neither.
        if Outside::here().uid == 0 || !sandbox::is_of_namespaces(refusal) {
            return Err(None);
        }
        let bwrap = Bwrap::find(confinement).map_err(|why| {
            refusal.instead = Some(why);
            None
        })?;
        let failure = |errno| Failure::new("make a reaper", errno);
        let mut start = || self.start_bwrap(&bwrap, confinement).unwrap_or_else(|errno| Err(failure(errno)));
        let started = match start() {
            // It goes by paths; what lay at one may have been moved since it was planned, by another command.
            Err(failure) if !failure.is_shortage() && failure.errno != Errno::TIMEDOUT.raw_os_error() => {
                start()
            }
            started => started,
        };
        started.or_else(|mut missing| {
            if missing.is_shortage() {
                return Ok(Made::Reply(Err(missing), None));
            }
            let program = bwrap.path().display();
            missing.instead = Some(format!("{program} was asked because this program itself {refusal}"));
            refusal.instead = Some(format!("{program} was asked, too: {}", missing.with_layer()));
            Err(missing.layer.is_some().then_some(missing))
        })
    }

    fn start_bwrap(
        &mut self,
        bwrap: &Bwrap,
        confinement: &Confinement,
    ) -> Result<Result<Made, Failure>, Errno> {
        let papers = Papers::new()?;
        let (ours, control) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let Some(pid) = fork(0)? else { become_bwrap(bwrap, &papers, confinement, &control) };
        self.reapers.insert(pid);
        drop(control);
        set_socket_timeout(&ours, Timeout::Recv, Some(PATIENCE))?;
        let setup = match self.setup_of(&ours) {
            Err(Errno::AGAIN) => {
                _ = kill_process(pid, Signal::KILL);
                Err(Failure::new("have it isolate anything", Errno::TIMEDOUT))
            }
            Err(Errno::PIPE) => {
                Err(Failure::new(&format!("have it isolate anything ({})", papers.said()), Errno::PERM))
            }
            Err(errno) => return Err(errno),
            Ok(setup) => setup,
        };
        set_socket_timeout(&ours, Timeout::Recv, None)?;
        let covered = papers.made().map(|made| made.placeholders).unwrap_or_default();
        self.placeholders.add(pid, &covered);
        Ok(setup.map(|entered| Made::Reply(Ok(entered), Some(ours))))
    }

    fn try_way(&mut self, way: Way, confinement: &Confinement) -> Result<Made, Failure> {
        let failure = |errno| Failure::new("make a reaper", errno);
        let outside = Outside::here();
        let (ours, control) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(failure)?;
        let namespaces = way.namespaces(confinement);
        let forked = fork(namespaces).map_err(|errno| way.refused(confinement, errno, probe))?;
        match forked {
            Some(pid) => {
                self.reapers.insert(pid);
                drop(control);
                let setup = self.setup_of(&ours).unwrap_or_else(|errno| Err(failure(errno)));
                if let Ok(entered) = &setup {
                    self.placeholders.add(pid, &entered.placeholders);
                }
                Ok(Made::Reply(setup, Some(ours)))
            }
            None => {
                let signals = self.signals.try_clone().map_err(failure)?;
                let confinement = confinement.clone();
                Ok(Made::Clone(Box::new(Reaper { control, signals, way, confinement, outside, made: None })))
            }
        }
    }

    fn setup_of(&self, reaper: &OwnedFd) -> Result<Setup, Errno> {
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
            hunt::kill_tree(|pid| self.reapers.contains(&pid));
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
