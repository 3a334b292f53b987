//! What a reaper puts between its commands and the machine, one file per layer, entered in order.
//!
//! The reaper enters every layer itself, once, and its commands inherit all of them: what it has given up, it cannot
//! hand on. The order matters. Namespaces come first, because what follows needs the privileges within them; mounts
//! are made before capabilities are dropped; Landlock names places of the finished file system; the filters of system
//! calls come last, because they forbid what the others needed.
//!
//! Where the machine refuses namespaces to the reaper, `bwrap` may have them. Then what is to be mounted is planned outside by
//! the same code, in which another `MountBackend` writes it down; `bwrap` starts the reaper in what it has made, once, and the
//! reaper looks at every layer that it has not entered itself, for what `bwrap` has done counts only where it is seen.

mod capabilities;
mod devices;
mod exec_guard;
mod forbidden_names;
mod git;
mod ipc;
mod landlock;
mod limits;
mod mount;
mod mount_backend;
mod mount_table;
mod mounts;
mod network;
mod nothing;
mod pids;
mod placeholders;
mod privileges;
mod proc;
mod protected;
mod reads;
mod reaper_plan;
mod script;
mod seccomp;
mod starts;
mod tree;
mod user;
mod uts;

pub use forbidden_names::ForbiddenNames;
pub use limits::kernel_is_at_least;
pub use network::PROXY;
pub use placeholders::{Placeholder, PlaceholderCounts};
pub use reads::{ReadableDir, limit_reads};
pub use reaper_plan::ReaperPlan;
pub use script::MountScript;
pub use starts::forbid_starts;
pub use tree::writable;

use crate::{Confinement, SetupFailure};
use beamai_isolation::{Isolation, LayerOff, SandboxMode};
use mount_backend::MountBackend;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

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

    /// Plans outside what somebody else mounts.
    fn plan(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        Ok(())
    }

    /// Looks at what somebody else has made of the layer, or enters it, where it is the reaper's in any case. That its
    /// namespaces are there has been seen.
    fn verify(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        match self.namespaces() {
            0 => self.enter(stage),
            _ => Ok(()),
        }
    }
}

/// What layers know of each other while they are entered.
pub struct LayerContext<'a> {
    pub(super) outside: &'a HostIdentity,
    pub(super) confinement: &'a Confinement,
    pub(super) profile: SandboxProfile,
    /// Who mounts what is planned.
    backend: MountBackend,
    /// What somebody else has made for the reaper.
    plan: Option<&'a ReaperPlan>,
    /// Made on the machine so that something could be mounted there.
    pub placeholders: Vec<Placeholder>,
    /// What must not come to be while a command runs.
    pub forbidden_names: ForbiddenNames,
    /// What layers that are on cannot keep.
    pub(super) partly: Vec<LayerOff>,
    /// What must not come to be, where that is planned for another process.
    absent: Vec<(OsString, String)>,
    /// Where starts of programs are reported.
    pub listener: Option<OwnedFd>,
    /// Where connections to the network are taken.
    pub proxy: Option<OwnedFd>,
}

impl<'a> LayerContext<'a> {
    /// For a reaper whose namespaces are new, or were made by somebody else.
    pub fn new(
        outside: &'a HostIdentity,
        confinement: &'a Confinement,
        profile: SandboxProfile,
        plan: Option<&'a ReaperPlan>,
    ) -> Self {
        let (forbidden_names, absent) = Default::default();
        let placeholders = plan.map(|plan| plan.placeholders.clone()).unwrap_or_default();
        let partly = plan.map(|plan| plan.partly.clone()).unwrap_or_default();
        let backend = MountBackend::Own;
        let (listener, proxy) = (None, None);
        Self {
            outside,
            confinement,
            profile,
            backend,
            plan,
            placeholders,
            forbidden_names,
            partly,
            absent,
            listener,
            proxy,
        }
    }

    /// What somebody else has made. Layers ask for it only where somebody has.
    fn plan(&self) -> Result<&'a ReaperPlan, SetupFailure> {
        self.plan.ok_or_else(|| SetupFailure::new("find what was planned", Errno::INVAL))
    }

    /// How many processes and threads count as the user's that are not the command's: where there is no user namespace,
    /// or the kernel counts across them.
    fn others(&self) -> u32 {
        let counts_apart = limits::kernel_is_at_least(5, 14);
        let is_among_them =
            |plan: &&ReaperPlan| !counts_apart || plan.is_apart(libc::CLONE_NEWUSER) == Ok(false);
        self.plan.filter(is_among_them).map_or(0, |plan| plan.others)
    }

    /// Has a file in a directory removed whenever a command creates it, and the command ended. People know the directory
    /// by its path.
    fn keep_absent(&mut self, directory: OwnedFd, path: &Path, name: &str) -> Result<(), Errno> {
        if let MountBackend::Own = self.backend {
            return self.forbidden_names.forbid(directory, name, path.join(name));
        }
        self.absent.push((script::real(directory.as_fd())?.into(), name.to_owned()));
        Ok(())
    }

    /// Does what was planned by [`LayerContext::keep_absent`].
    fn forbid_absent(&mut self) -> Result<(), SetupFailure> {
        for (directory, name) in &self.plan()?.absent {
            let path = Path::new(directory);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
            match opened.and_then(|fd| self.forbidden_names.forbid(fd, name, path.join(name))) {
                // It is gone since it was planned.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                watched => watched.map_err(mount::failed("watch", path))?,
            }
        }
        Ok(())
    }
}

/// Plans what somebody else is to make for a reaper: what it is told, and what the reaper is told of it.
pub fn plan(confinement: &Confinement) -> Result<(MountScript, ReaperPlan), SetupFailure> {
    let mut plan = ReaperPlan::new(confinement)?;
    let outside = HostIdentity::here();
    let mut stage = LayerContext::new(&outside, confinement, BY_BWRAP, None);
    stage.backend = MountBackend::Script(MountScript::default());
    for layer in BY_BWRAP.wanted(confinement) {
        layer.plan(&mut stage).map_err(|failure| failure.of_layer(layer.name()))?;
    }
    let LayerContext { backend: MountBackend::Script(script), placeholders, partly, absent, .. } = stage
    else {
        return Err(SetupFailure::new("plan the mounts", Errno::INVAL));
    };
    (plan.placeholders, plan.partly, plan.absent) = (placeholders, partly, absent);
    plan.parts = script.parts();
    Ok((script, plan))
}

/// Who the reaper is as seen from outside its namespaces.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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
    maker: NamespaceCreator,
}

/// Who makes namespaces and mounts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NamespaceCreator {
    Reaper,
    Bwrap,
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
const WHOLE: SandboxProfile = SandboxProfile::own(LAYERS);
/// Every layer, in what `bwrap` has made.
pub const BY_BWRAP: SandboxProfile = SandboxProfile { layers: LAYERS, maker: NamespaceCreator::Bwrap };
/// What a privileged process can do where user namespaces are forbidden.
const PRIVILEGED: SandboxProfile = SandboxProfile::own(LAYERS.split_at(1).1);
/// What can be done without any namespace.
const GUARDED: SandboxProfile = SandboxProfile::own(&[
    &limits::ResourceBounds,
    &capabilities::Capabilities,
    &privileges::Privileges,
    &landlock::Landlock,
    &seccomp::Seccomp,
    &exec_guard::ExecGuard,
]);
/// The reaper alone.
const BARE: SandboxProfile = SandboxProfile::own(&[]);

/// The ways to isolate a command that a host accepts, best first.
pub fn profiles(sandbox: SandboxMode) -> &'static [SandboxProfile] {
    match sandbox {
        SandboxMode::Required => &[WHOLE, BY_BWRAP],
        SandboxMode::BestEffort => &[WHOLE, BY_BWRAP, PRIVILEGED, GUARDED],
        SandboxMode::Off => &[BARE],
    }
}

impl SandboxProfile {
    const fn own(layers: &'static [&'static dyn Layer]) -> Self {
        Self { layers, maker: NamespaceCreator::Reaper }
    }

    /// Whether somebody else makes the namespaces.
    pub fn is_by_bwrap(self) -> bool {
        self.maker == NamespaceCreator::Bwrap
    }

    fn wanted(self, confinement: &Confinement) -> impl Iterator<Item = &'static dyn Layer> {
        let is_wanted =
            |layer: &&dyn Layer| layer.has_work(confinement) && layer.unwanted(confinement).is_none();
        self.layers.iter().copied().filter(is_wanted)
    }

    /// Flags for the clone that makes the reaper.
    pub fn namespaces(self, confinement: &Confinement) -> libc::c_int {
        self.wanted(confinement).fold(0, |flags, layer| flags | layer.namespaces())
    }

    fn has(self, namespace: libc::c_int) -> bool {
        self.layers.iter().any(|layer| layer.namespaces() & namespace != 0)
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
        let by = self.is_by_bwrap().then(|| "bwrap".to_owned());
        let mut isolation =
            Isolation { mode: confinement.mode, by, on: Vec::new(), off: Vec::new(), partly: Vec::new() };
        for layer in self.wanted(confinement) {
            match self.enter_layer(layer, stage) {
                Ok(None) => isolation.on.push(layer.name().to_owned()),
                Ok(Some(why)) => isolation.off.push(LayerOff::new(layer.name(), why)),
                Err(failure) if layer.is_optional() && confinement.mode == SandboxMode::BestEffort => {
                    isolation.off.push(LayerOff::new(layer.name(), failure.to_string()));
                }
                Err(failure) => return Err(failure.of_layer(layer.name())),
            }
        }
        isolation.partly = std::mem::take(&mut stage.partly);
        Ok(isolation)
    }

    /// Why the layer is off, where it is not missed.
    fn enter_layer(
        self,
        layer: &dyn Layer,
        stage: &mut LayerContext<'_>,
    ) -> Result<Option<&'static str>, SetupFailure> {
        if self.maker == NamespaceCreator::Reaper {
            return layer.enter(stage).map(|()| None);
        }
        let namespace = layer.namespaces();
        let is_there = namespace == 0
            || stage
                .plan()?
                .is_apart(namespace)
                .map_err(|errno| SetupFailure::new("look at the namespace", errno))?;
        match is_there {
            true => layer.verify(stage).map(|()| None),
            false if namespace == libc::CLONE_NEWUSER && stage.outside.uid != 0 => Ok(Some(NOBODY)),
            false => Err(SetupFailure::new("find the namespace that bwrap should have made", Errno::NOENT)),
        }
    }
}

/// Why there is no user namespace in what a set-uid `bwrap` has made.
const NOBODY: &str =
    "forbidden here, and required does without: this user is not root, has no capability and can gain none";

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
        let why = match (isolation.mode, layer.unwanted(confinement), failure) {
            (SandboxMode::Off, _, _) => "switched off".to_owned(),
            (_, Some(why), _) => why.to_owned(),
            (_, None, Some(failure)) => why(name, failure),
            (_, None, None) => "not needed".to_owned(),
        };
        isolation.off.push(LayerOff::new(name, why));
    }
}

/// Whether a failure is that a namespace, or the `/proc` of one, could not be made: somebody else may be able to.
pub fn is_of_namespaces(failure: &SetupFailure) -> bool {
    let makes = |layer: &&dyn Layer| layer.namespaces() != 0 || layer.name() == proc::Proc.name();
    LAYERS.iter().copied().filter(makes).any(|layer| failure.layer.as_deref() == Some(layer.name()))
}

fn why(layer: &str, failure: &SetupFailure) -> String {
    match &failure.layer {
        Some(missing) if missing != layer => format!("not without {missing}: {failure}"),
        _ => failure.in_full(),
    }
}
