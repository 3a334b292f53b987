//! What a reaper puts between its commands and the machine, one file per layer, entered in order.
//!
//! The reaper enters every layer itself, once, and its commands inherit all of them: what it has given up, it cannot
//! hand on. The order matters. Namespaces come first, because what follows needs the privileges within them; mounts
//! are made before capabilities are dropped; Landlock names places of the finished file system; the filter of system
//! calls comes last, because it forbids what the others needed.

mod capabilities;
mod devices;
mod git;
mod intruders;
mod ipc;
mod landlock;
mod limits;
mod mount;
mod mounts;
mod network;
mod pids;
mod placeholders;
mod privileges;
mod proc;
mod protected;
mod seccomp;
mod tree;
mod user;
mod uts;

pub(super) use intruders::Intruders;
pub(super) use placeholders::{Placeholder, Placeholders};

use super::message::Failure;
use crate::process::{Confinement, Isolation, LayerOff};
use crate::sandbox::Sandbox;
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

    /// Why the host does without it; `None` where it is wanted.
    fn unwanted(&self, _: &Confinement) -> Option<&'static str> {
        None
    }

    /// Whether the layers beside it are worth having without it, for a host that takes what there is.
    fn is_optional(&self) -> bool {
        true
    }

    /// A descriptor that polls as exceptional once something in the layer has changed that a command relies on or
    /// would leave behind; `None` where nothing such can change. Asked for when every layer has been entered.
    fn witness(&self) -> Result<Option<OwnedFd>, Errno> {
        Ok(None)
    }

    /// What is left to do in the reaper, before it takes an order.
    fn enter(&self, _: &mut Stage<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// What layers know of each other while they are entered.
pub(super) struct Stage<'a> {
    pub(super) outside: &'a Outside,
    pub(super) confinement: &'a Confinement,
    pub(super) way: Way,
    /// Made on the machine so that something could be mounted there.
    pub(super) placeholders: Vec<Placeholder>,
    /// What must not come to be while a command runs.
    pub(super) intruders: Intruders,
    /// What layers that are on cannot keep.
    pub(super) partly: Vec<LayerOff>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(outside: &'a Outside, confinement: &'a Confinement, way: Way) -> Self {
        let (placeholders, intruders, partly) = Default::default();
        Self { outside, confinement, way, placeholders, intruders, partly }
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

/// Layers that are entered together.
#[derive(Clone, Copy)]
pub(super) struct Way(&'static [&'static dyn Layer]);

/// Every layer.
const WHOLE: Way = Way(&[
    &user::User,
    &pids::Pids,
    &ipc::Ipc,
    &uts::Uts,
    &network::Network,
    &mounts::Mounts,
    &proc::Proc,
    &limits::Limits,
    &tree::Tree,
    &protected::Protected,
    &capabilities::Capabilities,
    &privileges::Privileges,
    &landlock::Landlock,
    &seccomp::Seccomp,
]);
/// What a privileged process can do where user namespaces are forbidden.
const PRIVILEGED: Way = Way(WHOLE.0.split_at(1).1);
/// What can be done without any namespace.
const GUARDED: Way = Way(&[
    &limits::Limits,
    &capabilities::Capabilities,
    &privileges::Privileges,
    &landlock::Landlock,
    &seccomp::Seccomp,
]);
/// The reaper alone.
const BARE: Way = Way(&[]);

/// The ways to isolate a command that a host accepts, best first.
pub(super) fn ways(sandbox: Sandbox) -> &'static [Way] {
    match sandbox {
        Sandbox::Required => &[WHOLE],
        Sandbox::BestEffort => &[WHOLE, PRIVILEGED, GUARDED],
        Sandbox::Off => &[BARE],
    }
}

impl Way {
    fn wanted(self, confinement: &Confinement) -> impl Iterator<Item = &'static dyn Layer> {
        self.0.iter().copied().filter(|layer| layer.unwanted(confinement).is_none())
    }

    /// Flags for the clone that makes the reaper.
    pub(super) fn namespaces(self, confinement: &Confinement) -> libc::c_int {
        self.wanted(confinement).fold(0, |flags, layer| flags | layer.namespaces())
    }

    fn has(self, namespace: libc::c_int) -> bool {
        self.0.iter().any(|layer| layer.namespaces() & namespace != 0)
    }

    /// Whether the reaper is the init of a pid namespace, with which the kernel ends every process in it.
    pub(super) fn has_pids(self) -> bool {
        self.has(libc::CLONE_NEWPID)
    }

    /// Whether paths lead through mounts of the reaper's own.
    pub(super) fn has_mounts(self) -> bool {
        self.has(libc::CLONE_NEWNS)
    }

    /// Whether there is an IPC namespace of its own.
    pub(super) fn has_ipc(self) -> bool {
        self.has(libc::CLONE_NEWIPC)
    }

    /// Directories that are the reaper's own, in which nothing may be left for the next command.
    pub(super) fn private(self, confinement: &Confinement) -> &'static [&'static str] {
        let has_private_tmp = confinement.temp.is_none() && confinement.has_own_tmp();
        match (self.has_mounts(), has_private_tmp) {
            (false, _) => &[],
            (true, false) => &["/dev/shm"],
            (true, true) => &["/dev/shm", "/tmp"],
        }
    }

    /// The witnesses of all layers.
    pub(super) fn witnesses(self) -> Result<Vec<OwnedFd>, Errno> {
        self.0.iter().filter_map(|layer| layer.witness().transpose()).collect()
    }

    /// The failure to make all namespaces at once, with the first layer whose namespace `probe` finds refused.
    pub(super) fn refused(
        self,
        confinement: &Confinement,
        errno: Errno,
        probe: impl Fn(libc::c_int) -> Result<(), Errno>,
    ) -> Failure {
        let mut flags = 0;
        for layer in self.wanted(confinement) {
            flags |= layer.namespaces();
            if layer.namespaces() != 0
                && let Err(errno) = probe(flags)
            {
                return Failure::new("make the namespace", errno).of_layer(layer.name());
            }
        }
        Failure::new("make the namespaces", errno)
    }

    /// Enters every layer and says which are on.
    pub(super) fn enter(self, stage: &mut Stage<'_>) -> Result<Isolation, Failure> {
        let confinement = stage.confinement;
        let mut isolation =
            Isolation { mode: confinement.mode, on: Vec::new(), off: Vec::new(), partly: Vec::new() };
        for layer in self.wanted(confinement) {
            match layer.enter(stage) {
                Ok(()) => isolation.on.push(layer.name().to_owned()),
                Err(failure) if layer.is_optional() && confinement.mode == Sandbox::BestEffort => {
                    isolation.off.push(LayerOff::new(layer.name(), failure.to_string()));
                }
                Err(failure) => return Err(failure.of_layer(layer.name())),
            }
        }
        isolation.partly = std::mem::take(&mut stage.partly);
        Ok(isolation)
    }
}

/// Adds to `isolation` the layers that are off because the host does without them, or because `failure` was in the
/// way.
pub(super) fn account(isolation: &mut Isolation, confinement: &Confinement, failure: Option<&Failure>) {
    for layer in WHOLE.0 {
        let name = layer.name();
        if isolation.on.iter().any(|on| on == name) || isolation.off.iter().any(|off| off.layer == name) {
            continue;
        }
        let why = match (isolation.mode, layer.unwanted(confinement), failure) {
            (Sandbox::Off, _, _) => "switched off".to_owned(),
            (_, Some(why), _) => why.to_owned(),
            (_, None, Some(failure)) => why(name, failure),
            (_, None, None) => "not needed".to_owned(),
        };
        isolation.off.push(LayerOff::new(name, why));
    }
}

fn why(layer: &str, failure: &Failure) -> String {
    match &failure.layer {
        Some(missing) if missing != layer => format!("not without {missing}: {failure}"),
        _ => failure.to_string(),
    }
}
