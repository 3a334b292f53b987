//! The launcher's detour: a reaper in namespaces that `bwrap` has made.

use super::bwrap::{Bwrap, BwrapFiles, become_bwrap};
use super::clone::fork;
use super::server::{CloneResult, LauncherServer};
use crate::message::Setup;
use beamai_sandbox::{
    Confinement, SetupFailure,
    layers::{self as sandbox, HostIdentity},
};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Signal, kill_process};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The longest that `bwrap` may take: less than the port waits for the launcher.
const PATIENCE: Duration = Duration::from_secs(8);

impl LauncherServer {
    /// Has `bwrap` make the namespaces, where they are what is missing. Otherwise, and where it cannot either, there is
    /// nothing to be had of it, which the refusal tells; what of a layer is missing then is given beside.
    pub(super) fn try_bwrap(
        &mut self,
        confinement: &Confinement,
        refusal: Option<&mut SetupFailure>,
    ) -> Result<CloneResult, Option<SetupFailure>> {
        let refusal = refusal.filter(|refusal| sandbox::is_of_namespaces(refusal)).ok_or(None)?;
        // Who is root has the privileges that make them, or bwrap has them neither.
        if HostIdentity::here().uid == 0 {
            return Err(None);
        }
        let bwrap = Bwrap::find(confinement).map_err(|why| {
            refusal.instead = Some(why);
            None
        })?;
        let started = match self.start_bwrap(&bwrap, confinement) {
            // It goes by paths; what lay at one may have been moved since it was planned, by another command.
            Err(failure) if !failure.is_shortage() && failure.errno != Errno::TIMEDOUT.raw_os_error() => {
                self.start_bwrap(&bwrap, confinement)
            }
            started => started,
        };
        started.or_else(|mut missing| {
            if missing.is_shortage() {
                return Ok(CloneResult::Reply(Err(missing), None));
            }
            let program = bwrap.path().display();
            missing.instead = Some(format!("{program} was asked because this program itself {refusal}"));
            refusal.instead = Some(format!("{program} was asked, too: {}", missing.with_layer()));
            Err(missing.layer.is_some().then_some(missing))
        })
    }

    /// A reaper in what `bwrap` makes.
    fn start_bwrap(&mut self, bwrap: &Bwrap, confinement: &Confinement) -> Result<CloneResult, SetupFailure> {
        let failure = |errno| SetupFailure::new("make a reaper", errno);
        let bwrap_files = BwrapFiles::new().map_err(failure)?;
        let (ours, control) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(failure)?;
        let Some(pid) = fork(0).map_err(failure)? else {
            become_bwrap(bwrap, &bwrap_files, confinement, &control)
        };
        self.reapers.insert(pid);
        drop(control);
        let entered = self.hear(&ours, &bwrap_files);
        if let Err(Errno::TIMEDOUT) =
            entered.as_ref().map_err(|failure| Errno::from_raw_os_error(failure.errno))
        {
            _ = kill_process(pid, Signal::KILL);
        }
        let covered =
            bwrap_files.reaper_plan().map(|reaper_plan| reaper_plan.placeholders).unwrap_or_default();
        self.placeholders.add(pid, &covered);
        entered.map(|entered| CloneResult::Reply(Ok(entered), Some(ours)))
    }

    /// What the reaper says of its layers, or why there is none.
    fn hear(&self, reaper: &OwnedFd, bwrap_files: &BwrapFiles) -> Setup {
        let wait = |time| set_socket_timeout(reaper, Timeout::Recv, time);
        let heard = wait(Some(PATIENCE)).and_then(|()| self.setup_of(reaper));
        let heard = heard.and_then(|setup| wait(None).map(|()| setup));
        let step = "have it isolate anything";
        heard.unwrap_or_else(|errno| match errno {
            Errno::AGAIN => Err(SetupFailure::new(step, Errno::TIMEDOUT)),
            Errno::PIPE => Err(SetupFailure::new(&format!("{step} ({})", bwrap_files.stderr()), Errno::PERM)),
            errno => Err(SetupFailure::new(step, errno)),
        })
    }
}
