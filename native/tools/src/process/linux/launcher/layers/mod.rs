//! What a reaper puts between a command and the machine, one file per layer, applied in order.

mod mounts;
mod pids;
mod proc;
mod user;

use crate::context::Sandbox;
use crate::process::linux::message::Failure;
use crate::process::{Isolation, LayerOff, MISSING_LAYERS};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use std::os::fd::OwnedFd;

/// One layer of isolation.
pub(super) trait Layer: Sync {
    /// Its name in results.
    fn name(&self) -> &'static str;

    /// The namespaces that the reaper has to be born in.
    fn namespaces(&self) -> libc::c_int {
        0
    }

    /// Whether the layers beside it are worth having without it.
    fn is_optional(&self) -> bool {
        false
    }

    /// A descriptor that polls as exceptional once a command has changed something in the layer that would outlast
    /// it; `None` where it can change nothing such. Asked for when every layer has been entered.
    fn witness(&self) -> Result<Option<OwnedFd>, Errno> {
        Ok(None)
    }

    /// What is left to do in the reaper, before it takes an order.
    fn enter(&self, _: &Outside) -> Result<(), Errno> {
        Ok(())
    }
}

/// Who the reaper is as seen from outside its namespaces.
pub(super) struct Outside {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Outside {
    /// This process, before it has entered any namespace.
    pub(super) fn here() -> Self {
        Self { uid: geteuid().as_raw(), gid: getegid().as_raw() }
    }
}

/// Layers that are entered together or not at all.
#[derive(Clone, Copy)]
pub(super) struct Way(&'static [&'static dyn Layer]);

/// What a privileged process can do by itself.
const PRIVILEGED: Way = Way(&[&pids::Pids, &mounts::Mounts, &proc::Proc]);
/// What anybody can do where user namespaces are allowed.
const UNPRIVILEGED: Way = Way(&[&user::User, &pids::Pids, &mounts::Mounts, &proc::Proc]);
/// No namespace: the reaper alone.
const BARE: Way = Way(&[]);

/// The ways to isolate a command, best first; the last one always works.
pub(super) fn ways(sandbox: Sandbox) -> &'static [Way] {
    match sandbox {
        Sandbox::Off => &[BARE],
        Sandbox::Required | Sandbox::BestEffort => &[PRIVILEGED, UNPRIVILEGED, BARE],
    }
}

impl Way {
    /// Flags for the clone that makes the reaper.
    pub(super) fn namespaces(self) -> libc::c_int {
        self.0.iter().fold(0, |flags, layer| flags | layer.namespaces())
    }

    /// Whether the reaper is the init of a pid namespace, with which the kernel ends every process in it.
    pub(super) fn has_pids(self) -> bool {
        self.namespaces() & libc::CLONE_NEWPID != 0
    }

    /// Whether paths lead through mounts of the reaper's own.
    pub(super) fn has_mounts(self) -> bool {
        self.namespaces() & libc::CLONE_NEWNS != 0
    }

    /// The witnesses of all layers.
    pub(super) fn witnesses(self) -> Result<Vec<OwnedFd>, Errno> {
        self.0.iter().filter_map(|layer| layer.witness().transpose()).collect()
    }

    /// Enters every layer and says which are on.
    pub(super) fn enter(self, outside: &Outside, sandbox: Sandbox) -> Result<Isolation, Failure> {
        let mut isolation = Isolation { mode: sandbox, on: Vec::new(), off: Vec::new() };
        for layer in self.0 {
            match layer.enter(outside) {
                Ok(()) => isolation.on.push(layer.name().to_owned()),
                Err(errno) if layer.is_optional() => isolation.off.push(refused(layer.name(), errno)),
                Err(errno) => return Err(Failure::new(&format!("enter the {}", layer.name()), errno)),
            }
        }
        Ok(isolation)
    }
}

fn refused(layer: &str, errno: Errno) -> LayerOff {
    LayerOff::new(layer, Failure::new("enter it", errno).to_string())
}

/// Adds to `isolation` the layers that are off because `failure` was in the way, and those that there are none of.
pub(super) fn account(isolation: &mut Isolation, failure: Option<&Failure>) {
    let why = match (isolation.mode, failure) {
        (Sandbox::Off, _) => "switched off".to_owned(),
        (_, Some(failure)) => failure.to_string(),
        (_, None) => return missing(isolation, "not in this version"),
    };
    for layer in PRIVILEGED.0 {
        if !isolation.on.iter().any(|on| on == layer.name())
            && !isolation.off.iter().any(|off| off.layer == layer.name())
        {
            isolation.off.push(LayerOff::new(layer.name(), why.as_str()));
        }
    }
    missing(isolation, if isolation.mode == Sandbox::Off { "switched off" } else { "not in this version" });
}

fn missing(isolation: &mut Isolation, why: &str) {
    isolation.off.extend(MISSING_LAYERS.iter().map(|layer| LayerOff::new(layer, why)));
}
