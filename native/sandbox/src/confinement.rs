//! What a program is confined to: the sandbox of a host, worked out for one workspace and one session.

use beamai_base::{Reason, Result, ToolError};
use beamai_isolation::{Planted, SandboxMode, SandboxSettings, Tier};
use beamai_policy::{DeniedPaths, StartRules, secrets};
use beamai_protected::{ProtectedPaths, RepositorySnapshot, protected_paths, remove_planted};
use beamai_workspace::{Workspace, decode_path, journal};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Most processes and threads at a time when nobody says otherwise.
const PROCESSES: u32 = 2_048;

/// What a program is confined to. Programs with the same confinement may be tended by the same reaper, one after
/// the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// How much of it must be there.
    pub mode: SandboxMode,
    /// The least tier that is accepted where it is required.
    pub tier: Tier,
    /// Layers that the host does without.
    pub without: Vec<String>,
    /// The workspace, which can be written.
    pub workspace: OsString,
    /// Device number of the workspace, so that another directory in its place is noticed.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// The session's temporary directory, seen as `/tmp` and under its own path; an empty one of the reaper's own
    /// without.
    pub temp: Option<OsString>,
    /// Whether the machine's network is reached.
    pub network: bool,
    /// Whether there is a socket in the network namespace, at [`PROXY`](crate::PROXY), whose connections are served outside.
    pub has_proxy: bool,
    /// Whether UNIX sockets may be opened.
    pub unix_sockets: bool,
    /// Absolute paths that are shown although something above them is hidden.
    pub readable: Vec<OsString>,
    /// Absolute paths that can be written besides.
    pub writable: Vec<OsString>,
    /// Absolute paths that cannot be written, in the workspace too. Those that are not there cannot be created.
    pub read_only: Vec<OsString>,
    /// Absolute paths from which git takes settings or hooks because its settings say so: read-only where mounts can make
    /// them so.
    pub git_sources: Vec<OsString>,
    /// Absolute paths that are shown empty.
    pub hidden: Vec<OsString>,
    /// What was found in the workspace, and in each directory beyond it that can be written.
    pub found: Vec<Arc<ProtectedPaths>>,
    /// What else was found there, with which the end is compared.
    #[serde(skip)]
    pub before: RepositorySnapshot,
    /// Bounds on what processes use.
    pub bounds: ResourceLimits,
    /// Whether a judge decides about every start of a program. Programs that run so are given one in their
    /// `Spec` (`beamai-process`).
    pub exec_guard: bool,
    /// Whether programs in what can be written may be executed: in the workspace, in temporary directories, in shared
    /// memory and in what the host gave to be written.
    pub exec_writable: bool,
}

/// Bounds on what the processes of a command use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Bytes of memory of each process.
    pub memory: u64,
    /// Bytes of memory of all of them together.
    pub memory_together: u64,
    /// Processes and threads at a time.
    pub processes: u32,
    /// Seconds of CPU time of each process.
    pub cpu: Option<u64>,
    /// Bytes of a file that is written.
    pub file_size: Option<u64>,
}

impl Confinement {
    /// What a command's programs are confined to: the workspace and the session's temporary directory, without what deny
    /// rules keep from them. `starts` says what is decided when programs start; without it, nothing is.
    ///
    /// # Errors
    /// Those of [`Confinement::within`].
    pub fn of(
        workspace: &Workspace,
        sandbox: &SandboxSettings,
        denied_paths: &DeniedPaths,
        starts: Option<&StartRules>,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Arc<Self>> {
        let confinement = Self::within(workspace, sandbox, denied_paths, check)?;
        match starts {
            Some(starts) if confinement.mode != SandboxMode::Off => {
                let exec_writable = starts.covers_workspace_programs();
                let own = Self::clone(&confinement);
                Ok(Arc::new(Self { exec_guard: true, exec_writable, ..own }))
            }
            _ => Ok(confinement),
        }
    }

    /// What programs of a workspace are confined to, without what deny rules keep from them. `check` is asked now and
    /// then whether to go on.
    ///
    /// # Errors
    /// `isolation_unavailable` where the sandbox is required and not all can be found that rules match; those of `check`.
    pub fn within(
        workspace: &Workspace,
        sandbox: &SandboxSettings,
        denied_paths: &DeniedPaths,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Arc<Self>> {
        if sandbox.mode == SandboxMode::Off {
            return Ok(Self::off());
        }
        let id = workspace.id();
        let mut confinement = Self::new(workspace.path(), (id.device, id.inode), sandbox);
        confinement.temp = workspace.temp_path().map(OsString::from);
        confinement.hidden.extend(denied_paths.hidden.iter().map(OsString::from));
        confinement.read_only.extend(denied_paths.read_only.iter().map(OsString::from));
        confinement.exec_guard = !denied_paths.starts.is_empty();
        confinement.find(denied_paths, check)?;
        Ok(Arc::new(confinement))
    }

    /// The same with a socket whose connections are served outside.
    #[must_use]
    pub fn with_proxy(&self) -> Self {
        Self { has_proxy: true, ..self.clone() }
    }

    /// Finds what is to be protected in what can be written.
    fn find(&mut self, denied_paths: &DeniedPaths, check: &dyn Fn() -> Result<()>) -> Result<()> {
        let workspace = PathBuf::from(&self.workspace);
        let others = self.writable.iter().map(PathBuf::from);
        let others = others.filter(|path| path.is_dir() && !path.starts_with(&workspace));
        for root in [workspace.clone()].into_iter().chain(others) {
            let found = protected_paths(&root, root == workspace, denied_paths, check)?;
            self.check_whole(&root, &found, denied_paths)?;
            self.found.push(found);
        }
        let covered: Vec<OsString> = self.found.iter().flat_map(|found| self.hidden_around(found)).collect();
        self.hidden.extend(covered);
        let is_held = self.mode == SandboxMode::Required && self.tier == Tier::Full;
        (self.before, self.git_sources) =
            RepositorySnapshot::now(&self.found, &workspace, denied_paths, is_held);
        Ok(())
    }

    /// Looks at what a command has made, now that it has ended, and takes out what runs programs for the person's own git.
    pub fn remove_planted(&self) -> Vec<Planted> {
        let writable = [&self.workspace].into_iter().chain(&self.temp).chain(&self.writable);
        remove_planted(&self.before, &writable.map(PathBuf::from).collect::<Vec<_>>())
    }

    fn check_whole(&self, root: &Path, found: &ProtectedPaths, denied_paths: &DeniedPaths) -> Result<()> {
        let rules = denied_paths.rules_in(root);
        let (Some(why), SandboxMode::Required, false) = (&found.cut, self.mode, rules.is_empty()) else {
            return Ok(());
        };
        let message = format!(
            "nothing was run: the sandbox is required, and its layer protected_paths cannot keep programs from what these \
             deny rules match, because not all of {} could be looked at: {why}: {}; write rules that name directories, or \
             files where they are, or take the sandbox best_effort",
            found.root,
            rules.join(", ")
        );
        Err(ToolError::new(Reason::IsolationUnavailable, message).with("layer", "protected_paths"))
    }

    /// Hidden directories in which something is to be shown all the same.
    fn hidden_around<'s>(&'s self, found: &'s ProtectedPaths) -> impl Iterator<Item = OsString> + 's {
        let paths = found.hidden.iter().map(|path| decode_path(&found.root).join(decode_path(path)));
        paths.filter(|path| self.shows_beneath(path)).map(OsString::from)
    }

    /// Whether the host wants a path, or something beneath it, to be shown.
    pub(super) fn shows_beneath(&self, path: &Path) -> bool {
        self.readable.iter().chain(&self.writable).any(|shown| Path::new(shown).starts_with(path))
    }

    /// What in the workspace rules keep from programs now.
    pub fn kept(&self) -> impl Iterator<Item = &String> {
        self.found.iter().flat_map(|found| found.hidden.iter().chain(&found.read_only))
    }

    /// None.
    pub fn off() -> Arc<Self> {
        static OFF: LazyLock<Arc<Confinement>> = LazyLock::new(|| {
            Arc::new(Confinement {
                mode: SandboxMode::Off,
                tier: Tier::Full,
                without: Vec::new(),
                workspace: OsString::new(),
                device: 0,
                inode: 0,
                temp: None,
                network: true,
                has_proxy: false,
                unix_sockets: true,
                readable: Vec::new(),
                writable: Vec::new(),
                read_only: Vec::new(),
                git_sources: Vec::new(),
                hidden: Vec::new(),
                found: Vec::new(),
                before: RepositorySnapshot::default(),
                bounds: ResourceLimits {
                    memory: u64::MAX,
                    memory_together: u64::MAX,
                    processes: u32::MAX,
                    cpu: None,
                    file_size: None,
                },
                exec_guard: false,
                exec_writable: true,
            })
        });
        Arc::clone(&OFF)
    }

    /// A directory that can be written, known by its device and inode number, under a host's sandbox; without a temporary
    /// directory, and nothing in it is protected yet.
    pub(super) fn new(workspace: &Path, (device, inode): (u64, u64), sandbox: &SandboxSettings) -> Self {
        let listed = |paths: &[String]| -> Vec<OsString> {
            paths.iter().map(|path| workspace.join(decode_path(path)).into()).collect()
        };
        Self {
            mode: sandbox.mode,
            tier: sandbox.tier,
            without: sandbox.without.clone(),
            workspace: workspace.into(),
            device,
            inode,
            temp: None,
            network: sandbox.network.is_all(),
            has_proxy: false,
            unix_sockets: sandbox.unix_sockets,
            readable: listed(&sandbox.readable),
            writable: listed(&sandbox.writable),
            read_only: Vec::new(),
            git_sources: Vec::new(),
            hidden: hidden_here(workspace),
            found: Vec::new(),
            before: RepositorySnapshot::default(),
            bounds: ResourceLimits {
                memory: sandbox.memory.unwrap_or(*MEMORY_OF_THE_MACHINE / 2),
                memory_together: sandbox.memory.unwrap_or(*MEMORY_OF_THE_MACHINE / 4 * 3),
                processes: sandbox.processes.unwrap_or(PROCESSES),
                cpu: sandbox.cpu,
                file_size: sandbox.file_size,
            },
            exec_guard: false,
            exec_writable: true,
        }
    }

    /// Whether `/tmp` is the session's or the reaper's own, and not what the host gave to be written.
    pub(super) fn has_own_tmp(&self) -> bool {
        let is_tmp = |path: &OsString| Path::new(path) == Path::new("/tmp");
        !is_tmp(&self.workspace) && !self.writable.iter().any(is_tmp)
    }

    /// Whether the host wants a path to be writable whatever protects it.
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|writable| Path::new(writable) == path)
    }
}

/// What is hidden on this machine, whoever uses it.
static HIDDEN_HERE: LazyLock<Vec<OsString>> = LazyLock::new(|| {
    // Whoever could write to the journals could have files undone that were never changed.
    secrets::OF_THE_MACHINE
        .map(PathBuf::from)
        .into_iter()
        .chain(journal::journals())
        .map(PathBuf::into)
        .collect()
});

/// What is hidden now: the machine's own places first, so that a home beneath one of them is found, then the secrets that
/// exist and do not hold the whole workspace.
fn hidden_here(workspace: &Path) -> Vec<OsString> {
    let secrets = secrets::present();
    let secrets = secrets.iter().filter(|path| workspace != path.as_path()).map(OsString::from);
    HIDDEN_HERE.iter().cloned().chain(secrets).collect()
}

static MEMORY_OF_THE_MACHINE: LazyLock<u64> = LazyLock::new(|| {
    let info = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion, reason = "a smaller number on some architectures")]
    let total = u64::from(info.totalram);
    total.saturating_mul(u64::from(info.mem_unit.max(1)))
});
