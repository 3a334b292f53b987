//! What a reaper puts between its commands and the machine, one file per layer, entered in order.
//!
//! The reaper enters every layer itself, once, and its commands inherit all of them: what it has given up, it cannot
//! hand on. The order matters. Namespaces come first, because what follows needs the privileges within them; mounts
//! are made before capabilities are dropped; Landlock names places of the finished file system; the filters of system
//! calls come last, because they forbid what the others needed.
//!
//! There are two tiers. The full one has every layer. The tier `landlock` has those that need no namespace, and holds
//! with Landlock and filters what the full one holds with mounts and namespaces, as far as these can.

mod capabilities;
mod devices;
mod exec_guard;
mod forbidden_names;
mod git;
mod grants;
mod ipc;
mod landlock;
mod limits;
mod mount;
mod mounts;
mod network;
mod nothing;
mod pids;
mod placeholders;
mod privileges;
mod proc;
mod protected;
mod reads;
mod seccomp;
mod signals;
mod starts;
mod tree;
mod user;
mod uts;

pub use forbidden_names::ForbiddenNames;
pub use landlock::version as landlock_version;
pub use limits::kernel_is_at_least;
pub use network::PROXY;
pub use placeholders::{Placeholder, PlaceholderCounts};
pub use reads::{ReadableDir, limit_reads};
pub use signals::SignalScope;
pub use starts::forbid_starts;
pub use tree::writable;

use crate::{Confinement, SetupFailure};
use beamai_isolation::{Isolation, LayerOff, SandboxMode, Tier};
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

    /// Whether it has anything to keep from commands; without, nothing is said of it.
    fn has_work(&self, _: &Confinement) -> bool {
        true
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
    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        Ok(())
    }
}

/// What layers know of each other while they are entered.
pub struct LayerContext<'a> {
    pub(super) outside: &'a HostIdentity,
    pub(super) confinement: &'a Confinement,
    pub(super) profile: SandboxProfile,
    /// Made on the machine so that something could be mounted there.
    pub placeholders: Vec<Placeholder>,
    /// What must not come to be while a command runs.
    pub forbidden_names: ForbiddenNames,
    /// What layers that are on cannot keep.
    pub(super) partly: Vec<LayerOff>,
    /// Where starts of programs are reported.
    pub listener: Option<OwnedFd>,
    /// Where connections to the network are taken.
    pub proxy: Option<OwnedFd>,
    /// What commands enter beyond this process, so that they cannot signal it.
    pub signal_scope: Option<SignalScope>,
    /// Whether the kernel bounds the number of processes, or the reaper has to count them.
    pub counts_processes: bool,
}

impl<'a> LayerContext<'a> {
    /// For a reaper whose namespaces are new.
    pub fn new(outside: &'a HostIdentity, confinement: &'a Confinement, profile: SandboxProfile) -> Self {
        Self {
            outside,
            confinement,
            profile,
            placeholders: Vec::new(),
            forbidden_names: ForbiddenNames::default(),
            partly: Vec::new(),
            listener: None,
            proxy: None,
            signal_scope: None,
            counts_processes: false,
        }
    }
}

/// Who the reaper is as seen from outside its namespaces.
#[derive(Debug, Clone, Copy)]
pub struct HostIdentity {
    /// User id of the port, as the machine has it.
    pub uid: u32,
    pub(super) gid: u32,
}

impl HostIdentity {
    /// This process, before it has entered any namespace.
    pub fn here() -> Self {
        Self { uid: geteuid().as_raw(), gid: getegid().as_raw() }
    }
}

/// Layers that are entered together.
#[derive(Clone, Copy)]
pub struct SandboxProfile {
    layers: &'static [&'static dyn Layer],
    /// The tier that it is, where all of its layers are on.
    tier: Option<Tier>,
}

/// Every layer there is.
const LAYERS: &[&dyn Layer] = &[
    &user::User,
    &pids::Pids,
    &ipc::Ipc,
    &uts::Uts,
    &network::NetworkLayer,
    &mounts::Mounts,
    &proc::Proc,
    &limits::ResourceBounds,
    &tree::FileTree,
    &protected::Protected,
    &capabilities::Capabilities,
    &privileges::Privileges,
    &landlock::Landlock,
    &seccomp::Seccomp,
    &exec_guard::ExecGuard,
];
/// Every layer.
const FULL: SandboxProfile = SandboxProfile { layers: LAYERS, tier: Some(Tier::Full) };
/// What a privileged process can do where user namespaces are forbidden.
const PRIVILEGED: SandboxProfile = SandboxProfile { layers: LAYERS.split_at(1).1, tier: None };
/// What can be done without any namespace.
const LANDLOCK: SandboxProfile = SandboxProfile {
    layers: &[
        &limits::ResourceBounds,
        &capabilities::Capabilities,
        &privileges::Privileges,
        &landlock::Landlock,
        &signals::Signals,
        &seccomp::Seccomp,
        &exec_guard::ExecGuard,
    ],
    tier: Some(Tier::Landlock),
};
/// The reaper alone.
const BARE: SandboxProfile = SandboxProfile { layers: &[], tier: None };

/// The ways to isolate a command that a host accepts, best first.
pub fn profiles(confinement: &Confinement) -> &'static [SandboxProfile] {
    match (confinement.mode, confinement.tier) {
        (SandboxMode::Required, Tier::Full) => &[FULL],
        (SandboxMode::Required, Tier::Landlock) => &[FULL, LANDLOCK],
        (SandboxMode::BestEffort, _) => &[FULL, PRIVILEGED, LANDLOCK],
        (SandboxMode::Off, _) => &[BARE],
    }
}

impl SandboxProfile {
    fn wanted(self, confinement: &Confinement) -> impl Iterator<Item = &'static dyn Layer> {
        let is_wanted =
            |layer: &&dyn Layer| layer.has_work(confinement) && unwanted(*layer, confinement).is_none();
        self.layers.iter().copied().filter(is_wanted)
    }

    /// Flags for the clone that makes the reaper.
    pub fn namespaces(self, confinement: &Confinement) -> libc::c_int {
        self.wanted(confinement).fold(0, |flags, layer| flags | layer.namespaces())
    }

    fn has(self, namespace: libc::c_int) -> bool {
        self.layers.iter().any(|layer| layer.namespaces() & namespace != 0)
    }

    /// Whether there is a user namespace of its own.
    pub fn has_users(self) -> bool {
        self.has(libc::CLONE_NEWUSER)
    }

    /// Whether the reaper is the init of a pid namespace, with which the kernel ends every process in it.
    pub fn has_pids(self) -> bool {
        self.has(libc::CLONE_NEWPID)
    }

    /// Whether paths lead through mounts of the reaper's own.
    pub fn has_mounts(self) -> bool {
        self.has(libc::CLONE_NEWNS)
    }

    /// Whether there is an IPC namespace of its own.
    pub fn has_ipc(self) -> bool {
        self.has(libc::CLONE_NEWIPC)
    }

    /// Directories that are the reaper's own, in which nothing may be left for the next command.
    pub fn private(self, confinement: &Confinement) -> &'static [&'static str] {
        let has_private_tmp = confinement.temp.is_none() && confinement.has_own_tmp();
        match (self.has_mounts(), has_private_tmp) {
            (false, _) => &[],
            (true, false) => &["/dev/shm"],
            (true, true) => &["/dev/shm", "/tmp"],
        }
    }

    /// The witnesses of all layers.
    pub fn witnesses(self) -> Result<Vec<OwnedFd>, Errno> {
        self.layers.iter().filter_map(|layer| layer.witness().transpose()).collect()
    }

    /// The failure to make all namespaces at once, with the first layer whose namespace `probe` finds refused.
    pub fn refused(
        self,
        confinement: &Confinement,
        errno: Errno,
        probe: impl Fn(libc::c_int) -> Result<(), Errno>,
    ) -> SetupFailure {
        let mut flags = 0;
        for layer in self.wanted(confinement) {
            flags |= layer.namespaces();
            if layer.namespaces() != 0
                && let Err(errno) = probe(flags)
            {
                return SetupFailure::new("make the namespace", errno).of_layer(layer.name());
            }
        }
        SetupFailure::new("make the namespaces", errno)
    }

    /// Enters every layer and says which are on.
    pub fn enter(self, stage: &mut LayerContext<'_>) -> Result<Isolation, SetupFailure> {
        let confinement = stage.confinement;
        let mut isolation = Isolation {
            mode: confinement.mode,
            tier: None,
            on: Vec::new(),
            off: Vec::new(),
            partly: Vec::new(),
        };
        for layer in self.wanted(confinement) {
            match layer.enter(stage) {
                Ok(()) => isolation.on.push(layer.name().to_owned()),
                Err(failure) if layer.is_optional() && confinement.mode == SandboxMode::BestEffort => {
                    isolation.off.push(LayerOff::new(layer.name(), failure.to_string()));
                }
                Err(failure) => return Err(failure.of_layer(layer.name())),
            }
        }
        isolation.tier = self.tier.filter(|_| isolation.off.is_empty());
        isolation.partly = std::mem::take(&mut stage.partly);
        Ok(isolation)
    }
}

/// Why the host does without a layer; `None` where it is wanted.
fn unwanted(layer: &dyn Layer, confinement: &Confinement) -> Option<&'static str> {
    let is_left_out = confinement.without.iter().any(|name| name == layer.name());
    is_left_out.then_some("the host does without it").or_else(|| layer.unwanted(confinement))
}

/// Adds to `isolation` the layers that are off because the host does without them, or because `failure` was in the
/// way.
pub fn account(isolation: &mut Isolation, confinement: &Confinement, failure: Option<&SetupFailure>) {
    for layer in LAYERS {
        let name = layer.name();
        let is_told =
            isolation.on.iter().any(|on| on == name) || isolation.off.iter().any(|off| off.layer == name);
        if is_told || isolation.mode != SandboxMode::Off && !layer.has_work(confinement) {
            continue;
        }
        let why = match (isolation.mode, unwanted(*layer, confinement), failure) {
            (SandboxMode::Off, _, _) => "switched off".to_owned(),
            (_, Some(why), _) => why.to_owned(),
            (_, None, Some(failure)) => why(name, failure),
            (_, None, None) => "not needed".to_owned(),
        };
        isolation.off.push(LayerOff::new(name, why));
    }
}

/// Whether a failure is that a namespace was refused. The machine refuses it again.
pub fn is_of_namespaces(failure: &SetupFailure) -> bool {
    let makes = |layer: &&dyn Layer| layer.namespaces() != 0;
    LAYERS.iter().copied().filter(makes).any(|layer| failure.layer.as_deref() == Some(layer.name()))
}

fn why(layer: &str, failure: &SetupFailure) -> String {
    match &failure.layer {
        Some(missing) if missing != layer => format!("not without {missing}: {failure}"),
        _ => failure.to_string(),
    }
}
