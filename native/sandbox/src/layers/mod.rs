//! The sandbox layers, one file per layer, in the order in which they are entered.
//!
//! The reaper enters all layers once, and its commands inherit them: rights that the reaper has given up cannot be
//! passed on. The order matters. Namespaces come first, because later layers need the privileges within them; mounts
//! precede the drop of capabilities; Landlock rules refer to the final file system; system call filters come last,
//! because they forbid what the others need.
//!
//! There are two tiers. The full one has all layers. The tier `landlock` has those that need no namespaces, and uses
//! Landlock and filters in place of mounts and namespaces as far as possible.

mod attempts;
mod capabilities;
mod covers;
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
mod trust;
mod user;
mod uts;

pub use attempts::{AttemptCounters, NetworkAttempts};
pub use covers::MountCovers;
pub use forbidden_names::{ForbiddenNames, FoundIntruders};
pub use landlock::version as landlock_version;
pub use limits::kernel_is_at_least;
pub use network::PROXY;
pub use placeholders::{CoveredPlaceholders, Placeholders, is_placeholder};
pub use reads::{ReadableDir, limit_reads};
pub use seccomp::KCMP_VM;
pub use signals::SignalScope;
pub use starts::forbid_starts;
pub use tree::writable;
pub use trust::AUTHORITIES;

use crate::{Confinement, SetupFailure};
use beamai_isolation::{Isolation, LayerOff, SandboxMode, Tier};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use std::os::fd::OwnedFd;
use std::sync::LazyLock;

/// A sandbox layer.
pub(super) trait Layer: Sync {
    /// Its name in results.
    fn name(&self) -> &'static str;

    /// The namespaces that the reaper must be cloned into.
    fn namespaces(&self) -> libc::c_int {
        0
    }

    /// Whether it has anything to restrict; otherwise it is not reported.
    fn has_work(&self, _: &Confinement) -> bool {
        true
    }

    /// Why the host gives it up; `None` if it is wanted.
    fn unwanted(&self, _: &Confinement) -> Option<&'static str> {
        None
    }

    /// Whether the other layers are useful without it, in the mode `best_effort`.
    fn is_optional(&self) -> bool {
        true
    }

    /// A descriptor that polls as exceptional after something has changed in the layer that commands rely on or would
    /// leave behind; `None` if that cannot happen. Called after all layers have been entered.
    fn witness(&self) -> Result<Option<OwnedFd>, Errno> {
        Ok(None)
    }

    /// Work to be done in the reaper before it takes an order.
    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        Ok(())
    }
}

/// Shared state of the layers while they are entered.
pub struct LayerContext<'a> {
    pub(super) outside: &'a HostIdentity,
    pub(super) confinement: &'a Confinement,
    pub(super) profile: SandboxProfile,
    /// Placeholders on the machine, as mount points.
    pub placeholders: Placeholders,
    /// Files that must not be created while a command runs.
    pub forbidden_names: ForbiddenNames,
    /// Active layers that are only partly effective.
    pub(super) partly: Vec<LayerOff>,
    /// The listener for program starts.
    pub listener: Option<OwnedFd>,
    /// The listening socket for network connections.
    pub proxy: Option<OwnedFd>,
    /// Counters of attempts to reach the network, in a network namespace.
    pub attempts: Option<AttemptCounters>,
    /// A Landlock domain for commands only, so that they cannot signal the reaper.
    pub signal_scope: Option<SignalScope>,
    /// Whether the Linux kernel limits the number of processes; otherwise the reaper counts them.
    pub counts_processes: bool,
}

impl<'a> LayerContext<'a> {
    /// For a reaper in new namespaces.
    pub fn new(outside: &'a HostIdentity, confinement: &'a Confinement, profile: SandboxProfile) -> Self {
        Self {
            outside,
            confinement,
            profile,
            placeholders: Placeholders::default(),
            forbidden_names: ForbiddenNames::default(),
            partly: Vec::new(),
            listener: None,
            proxy: None,
            attempts: None,
            signal_scope: None,
            counts_processes: false,
        }
    }
}

/// The reaper's identity outside of its namespaces.
#[derive(Debug, Clone, Copy)]
pub struct HostIdentity {
    /// User id of the port on the machine.
    pub uid: u32,
    pub(super) gid: u32,
    /// Whether `/proc` shows the processes of others: of the reaper, too, whose memory nobody may read (`hidepid`, proc(5)).
    pub(super) sees_processes: bool,
}

impl HostIdentity {
    /// This process, before it enters any namespace.
    pub fn here() -> Self {
        static SEES_PROCESSES: LazyLock<bool> =
            LazyLock::new(|| geteuid().is_root() || !proc::hides_processes());
        Self { uid: geteuid().as_raw(), gid: getegid().as_raw(), sees_processes: *SEES_PROCESSES }
    }
}

/// A set of layers that are entered together.
#[derive(Clone, Copy)]
pub struct SandboxProfile {
    layers: &'static [&'static dyn Layer],
    /// The tier, if all of its layers are active.
    tier: Option<Tier>,
}

/// All existing layers.
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
/// All layers.
const FULL: SandboxProfile = SandboxProfile { layers: LAYERS, tier: Some(Tier::Full) };
/// What a privileged process can do if user namespaces are forbidden.
const PRIVILEGED: SandboxProfile = SandboxProfile { layers: LAYERS.split_at(1).1, tier: None };
/// What works without namespaces.
const LANDLOCK: SandboxProfile = SandboxProfile {
    layers: &[
        &limits::ResourceBounds,
        &capabilities::Capabilities,
        &privileges::Privileges,
        &landlock::Landlock,
        &signals::SignalScoping,
        &seccomp::Seccomp,
        &exec_guard::ExecGuard,
    ],
    tier: Some(Tier::Landlock),
};
/// The reaper alone.
const BARE: SandboxProfile = SandboxProfile { layers: &[], tier: None };

/// The profiles that a host accepts, strongest first.
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

    /// Clone flags for the reaper.
    pub fn namespaces(self, confinement: &Confinement) -> libc::c_int {
        self.wanted(confinement).fold(0, |flags, layer| flags | layer.namespaces())
    }

    fn has(self, namespace: libc::c_int) -> bool {
        self.layers.iter().any(|layer| layer.namespaces() & namespace != 0)
    }

    /// Whether there is a separate user namespace.
    pub fn has_users(self) -> bool {
        self.has(libc::CLONE_NEWUSER)
    }

    /// Whether the reaper is the init of a pid namespace, with which the Linux kernel ends all its processes.
    pub fn has_pids(self) -> bool {
        self.has(libc::CLONE_NEWPID)
    }

    /// Whether the reaper has a private mount tree.
    pub fn has_mounts(self) -> bool {
        self.has(libc::CLONE_NEWNS)
    }

    /// Whether there is a separate IPC namespace.
    pub fn has_ipc(self) -> bool {
        self.has(libc::CLONE_NEWIPC)
    }

    /// Private directories of the reaper, which must be left empty for the next command.
    pub fn private(self, confinement: &Confinement) -> &'static [&'static str] {
        let has_private_tmp = confinement.temp.is_none() && confinement.has_own_tmp();
        match (self.has_mounts(), has_private_tmp) {
            (false, _) => &[],
            (true, false) => &["/dev/shm"],
            (true, true) => &["/dev/shm", "/tmp"],
        }
    }

    /// The change descriptors of all layers.
    pub fn witnesses(self) -> Result<Vec<OwnedFd>, Errno> {
        self.layers.iter().filter_map(|layer| layer.witness().transpose()).collect()
    }

    /// The failure to create all namespaces at once, attributed to the first layer whose namespace `probe` finds
    /// refused.
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

    /// Enters all layers, and reports which are active.
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
                Err(failure)
                    if layer.is_optional()
                        && confinement.mode == SandboxMode::BestEffort
                        && !failure.is_stale() =>
                {
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

/// Why the host gives up a layer; `None` if it is wanted.
fn unwanted(layer: &dyn Layer, confinement: &Confinement) -> Option<&'static str> {
    let is_left_out = confinement.without.iter().any(|name| name == layer.name());
    is_left_out.then_some("the host does without it").or_else(|| layer.unwanted(confinement))
}

/// Adds to `isolation` the layers that are missing because the host gave them up, or because of `failure`.
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

/// Whether a failure means that a namespace was refused, which is permanent.
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
