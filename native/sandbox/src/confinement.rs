//! The confinement of a program: the host's sandbox settings, applied to one workspace and session.

use beamai_base::{
    Entry, EntryIdentity, HostHint, PathWay, Reason, Result, ToolError, entry_identity, temp_dir,
};
use beamai_isolation::secrets::{self, PresentSecrets};
use beamai_isolation::{Planted, SandboxMode, SandboxSettings, Tier};
use beamai_planted::{RepositorySnapshot, remove_planted};
use beamai_policy::{DeniedPaths, StartRules};
use beamai_protected::{ProtectedPaths, protected_paths};
use beamai_workspace::{Workspace, decode_path, journal};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Default maximum number of processes and threads.
const PROCESSES: u32 = 2_048;

/// The confinement of a program. Programs with equal confinements can be run by the same reaper, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Which layers are required.
    pub mode: SandboxMode,
    /// The minimum tier in the mode `required`.
    pub tier: Tier,
    /// Layers that the host gives up.
    pub without: Vec<String>,
    /// The workspace, which is writable.
    pub workspace: OsString,
    /// Device number of the workspace, so that a replaced directory is noticed.
    pub device: u64,
    /// Inode number of the workspace.
    pub inode: u64,
    /// The session's temporary directory, mounted at `/tmp` and at its own path; without one, `/tmp` is an empty
    /// directory of the reaper.
    pub temp: Option<OsString>,
    /// Whether the machine's network is reachable.
    pub network: bool,
    /// Whether the network namespace has a proxy socket at [`PROXY`](crate::PROXY), whose connections are served
    /// outside.
    pub has_proxy: bool,
    /// What programs are to trust because the proxy decrypts some connections; `None` if it does not.
    pub trusted: Option<TrustedAuthorities>,
    /// Whether UNIX sockets may be opened.
    pub unix_sockets: bool,
    /// Absolute paths that are visible although they or a directory above them would be hidden, and read-only unless
    /// they are writable, too.
    pub readable: Vec<OsString>,
    /// Further writable paths, absolute.
    pub writable: Vec<OsString>,
    /// The files and directories at `readable` and `writable` when the confinement was made. A reaper's mounts show
    /// these; if the host replaces one, the confinement differs and the next command gets a new reaper.
    pub listed: Vec<EntryIdentity>,
    /// Read-only paths, absolute, also within the workspace. Those that do not exist cannot be created.
    pub read_only: Vec<OsString>,
    /// Absolute paths that git reads settings or hooks from because its settings say so; read-only if mounts can make
    /// them so.
    pub git_sources: Vec<OsString>,
    /// Absolute paths that are shown empty.
    pub hidden: Vec<OsString>,
    /// Whether hidden paths cannot be opened, nor names in them looked up, instead.
    pub denies_hidden: bool,
    /// How many of the hidden paths, the first ones, are places of secrets.
    pub secrets: usize,
    /// Absolute paths of links and directories that lead to secrets. Without them, the next command would see where
    /// these lie.
    pub held: Vec<OsString>,
    /// Protected paths found in the workspace and in each other writable directory.
    pub found: Vec<Arc<ProtectedPaths>>,
    /// The state of repositories there, for comparison after a command.
    #[serde(skip)]
    pub before: RepositorySnapshot,
    /// Resource limits.
    pub bounds: ResourceLimits,
    /// Whether an exec guard decides about every program start. Such programs are given a judge in their `ProgramSpec`
    /// (`beamai-process`).
    pub exec_guard: bool,
    /// Whether programs in writable directories may be executed: the workspace, temporary directories, shared memory,
    /// and the host's writable paths.
    pub exec_writable: bool,
    /// Absolute paths, among those that are shown or writable, beneath which no link is followed.
    pub without_links: Vec<OsString>,
}

/// Certificate authorities for programs to trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedAuthorities {
    /// The certificate of the proxy's authority, as PEM.
    pub own: String,
    /// The file with the machine's authorities, if it has one.
    pub file: Option<OsString>,
}

/// Resource limits of a command's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Bytes of memory per process.
    pub memory: u64,
    /// Bytes of memory in total.
    pub memory_together: u64,
    /// Number of processes and threads.
    pub processes: u32,
    /// Seconds of CPU time per process.
    pub cpu: Option<u64>,
    /// Size of a written file in bytes.
    pub file_size: Option<u64>,
}

impl Confinement {
    /// The confinement of a command's programs: the workspace and the session's temporary directory, without what deny
    /// rules name. `starts` are the rules for program starts, if any.
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

    /// The confinement of programs in a workspace, without what deny rules name. `check` is called repeatedly for
    /// cancellation.
    ///
    /// # Errors
    /// `isolation_unavailable` if the sandbox is required and the search for files that rules match was incomplete;
    /// those of `check`.
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
        confinement.hide_other_sessions();
        confinement.deny(&denied_paths.hidden, &denied_paths.read_only);
        confinement.resolve_listed()?;
        confinement.exec_guard = !denied_paths.starts.is_empty();
        let listed = |paths: &[OsString]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let lifted = denied_paths.lifted_by(&listed(&confinement.readable), &listed(&confinement.writable));
        confinement.find(&lifted, check)?;
        confinement.keep_hidden_readable(denied_paths);
        Ok(Arc::new(confinement))
    }

    /// Adds a temporary directory, which is empty.
    #[must_use]
    pub fn with_temp(&self, path: &Path) -> Self {
        Self { temp: Some(path.into()), ..self.clone() }
    }

    /// Adds a proxy socket, whose connections are served outside, and an authority for programs to trust, as PEM.
    #[must_use]
    pub fn with_proxy(&self, authority: Option<String>) -> Self {
        // The machine's own are looked for here, because the environment may name them.
        let trusted = authority.map(|own| TrustedAuthorities {
            own,
            file: openssl_probe::probe().cert_file.map(OsString::from),
        });
        Self { has_proxy: true, trusted, ..self.clone() }
    }

    /// Hides the directory of temporary files, where sessions have theirs, as `/tmp` is; each command has its own
    /// session's on top. One that has more than temporary files in it stays.
    fn hide_other_sessions(&mut self) {
        let Ok(all) = temp_dir().canonicalize() else { return };
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let is_wide = Path::new(&self.workspace).starts_with(&all)
            || home.is_some_and(|home| home.starts_with(&all))
            || secrets::is_of_system(&all);
        if !is_wide && !all.starts_with("/tmp") {
            self.hidden.push(all.into());
        }
    }

    /// Denies what these paths lead to, and holds the links on them, and the directories that they leave by `..`:
    /// without them, a rule would be about another file. A hidden directory above the workspace shows the workspace
    /// alone. Left out is what every command needs, if a link leads there that commands can make.
    fn deny(&mut self, hidden: &[PathBuf], read_only: &[PathBuf]) {
        let workspace = PathBuf::from(&self.workspace);
        let writable: Vec<PathBuf> = self.writable().map(PathBuf::from).collect();
        let can_be_made = |link: &Path| writable.iter().any(|root| link.starts_with(root));
        for (paths, list, hides) in
            [(hidden, &mut self.hidden, true), (read_only, &mut self.read_only, false)]
        {
            for path in paths {
                let way = PathWay::of(path, Entry::at);
                let is_temp = self.temp.as_ref().is_some_and(|temp| Path::new(temp).starts_with(&way.end));
                let is_needed = is_temp || way.is_needed_by_commands(&workspace);
                if way.links().any(can_be_made) && (is_needed || way.is_in_repository()) {
                    continue;
                }
                self.held.extend(way.turns().map(OsString::from));
                let contains_workspace = workspace.starts_with(&way.end);
                if contains_workspace && !path.starts_with(&workspace) {
                    // All there is read-only but the workspace, for which the patterns hold.
                    let is_above = way.end != workspace && way.end.parent().is_some();
                    list.extend((hides && is_above).then(|| way.end.into()));
                    continue;
                }
                // Programs could not run without these.
                list.push(if is_needed { path.into() } else { way.end.into() });
            }
        }
    }

    /// Denies what links lead to that a pattern matches.
    fn deny_linked(&mut self) {
        let leads_to_something = |path: &PathBuf| PathWay::of(path, Entry::at).exists();
        for found in self.found.clone() {
            let root = decode_path(&found.root);
            let [hidden, read_only] = [&found.hidden_links, &found.read_only_links].map(|links| {
                let paths = links.iter().map(|link| root.join(decode_path(link)));
                paths.filter(leads_to_something).collect::<Vec<_>>()
            });
            self.deny(&hidden, &read_only);
        }
    }

    /// Replaces the paths that the host lists by those without links.
    ///
    /// # Errors
    /// `isolation_unavailable` if one does not exist, or leads through a link that commands can replace. With such a
    /// link, commands would decide what is shown or writable.
    fn resolve_listed(&mut self) -> Result<()> {
        if self.readable.is_empty() && self.writable.is_empty() {
            return Ok(());
        }
        let real = |path: &OsString| Path::new(path).canonicalize().unwrap_or_else(|_| PathBuf::from(path));
        let roots: Vec<PathBuf> = self.writable().map(real).collect();
        for (option, list) in [("readable", &mut self.readable), ("writable", &mut self.writable)] {
            for path in list {
                let way = PathWay::of(Path::new(path), Entry::at);
                let is_replaceable =
                    |link: &&Path| roots.iter().any(|root| *link != root && link.starts_with(root));
                if let Some(link) = way.links().find(is_replaceable) {
                    return Err(replaceable(option, Path::new(path), link, &way.end));
                }
                if !way.exists() {
                    return Err(absent(option, Path::new(path)));
                }
                if way.end == Path::new("/") {
                    return Err(whole_machine(option, Path::new(path)));
                }
                self.listed.push(entry_identity(&way.end));
                *path = way.end.into();
            }
        }
        Ok(())
    }

    /// Removes the readable paths that need no mount: nothing hides them, or they are writable as well.
    fn keep_hidden_readable(&mut self, denied_paths: &DeniedPaths) {
        let writable: Vec<PathBuf> = self.writable().map(PathBuf::from).collect();
        let (hidden, listed) = (&self.hidden, &self.writable);
        self.readable.retain(|path| {
            let path = Path::new(path);
            let is_hidden = hidden.iter().any(|hidden| path.starts_with(hidden))
                || denied_paths.hides_at_or_above(path)
                || !writable.iter().any(|root| path.starts_with(root));
            is_hidden && !listed.iter().any(|writable| path == Path::new(writable))
        });
    }

    /// The directories that commands may write to on the machine.
    fn writable(&self) -> impl Iterator<Item = &OsString> {
        [&self.workspace].into_iter().chain(&self.temp).chain(&self.writable)
    }

    /// Finds the protected paths in writable directories.
    fn find(&mut self, denied_paths: &DeniedPaths, check: &dyn Fn() -> Result<()>) -> Result<()> {
        let workspace = PathBuf::from(&self.workspace);
        let others = self.writable.iter().map(PathBuf::from);
        let others = others.filter(|path| path.is_dir() && !path.starts_with(&workspace));
        for root in [workspace.clone()].into_iter().chain(others) {
            let found = protected_paths(&root, root == workspace, denied_paths, check)?;
            self.check_whole(&root, &found, denied_paths)?;
            self.found.push(found);
        }
        self.deny_linked();
        let covered: Vec<OsString> = self.found.iter().flat_map(|found| self.hidden_around(found)).collect();
        self.hidden.extend(covered);
        let is_held = self.mode == SandboxMode::Required && self.tier == Tier::Full;
        (self.before, self.git_sources) =
            RepositorySnapshot::now(&self.found, &workspace, denied_paths, is_held);
        Ok(())
    }

    /// After a command has ended, removes files that it planted for the person's own git.
    pub fn remove_planted(&self) -> Vec<Planted> {
        let denied = self.found.iter().flat_map(|found| {
            let paths = found.hidden.iter().chain(&found.read_only);
            paths.map(|path| decode_path(&found.root).join(decode_path(path)))
        });
        let workspace = Path::new(&self.workspace);
        let is_within = |path: &PathBuf| !workspace.starts_with(path) || workspace == path;
        let hidden = self.hidden.iter().chain(&self.read_only).map(PathBuf::from).filter(is_within);
        let writable: Vec<PathBuf> = self.writable().map(PathBuf::from).collect();
        remove_planted(&self.before, &writable, hidden.chain(denied))
    }

    /// Whether there is something to check after a command.
    pub fn is_cleaned_up_after(&self) -> bool {
        !self.before.is_empty()
    }

    /// The result for a command that cannot be cleaned up after, and why.
    pub fn not_cleaned(&self, why: &str) -> Vec<Planted> {
        self.before.unchecked(why)
    }

    fn check_whole(&self, root: &Path, found: &ProtectedPaths, denied_paths: &DeniedPaths) -> Result<()> {
        let rules = denied_paths.rules_in(root);
        let (Some(why), SandboxMode::Required, false) =
            (found.missed_by_rules(), self.mode, rules.is_empty())
        else {
            return Ok(());
        };
        let message = format!(
            "nothing was run: the sandbox is required, and its layer protected_paths cannot keep programs from what these \
             rules match, because not all of {} could be looked at: {why}: {}",
            found.root,
            rules.join(", ")
        );
        let hint = |option: &str| {
            format!("Write rules that name directories, or files where they are, or take {option}")
        };
        let hint = HostHint::new(hint("sandbox => best_effort"), hint("--sandbox best_effort"));
        Err(ToolError::new(Reason::IsolationUnavailable, message).with("layer", "protected_paths").hint(hint))
    }

    /// Hidden directories that contain visible paths.
    fn hidden_around<'s>(&'s self, found: &'s ProtectedPaths) -> impl Iterator<Item = OsString> + 's {
        let paths = found.hidden.iter().map(|path| decode_path(&found.root).join(decode_path(path)));
        paths.filter(|path| self.shows_beneath(path)).map(OsString::from)
    }

    /// Whether the host makes a path, or something below it, visible.
    pub(super) fn shows_beneath(&self, path: &Path) -> bool {
        self.readable.iter().chain(&self.writable).any(|shown| Path::new(shown).starts_with(path))
    }

    /// The paths that programs currently cannot read or write because of rules or secrets, with what lies there. A
    /// running program can use a file that is put at such a path later.
    pub fn kept(&self) -> impl Iterator<Item = (PathBuf, EntryIdentity)> {
        let found = self.found.iter().flat_map(|found| {
            let root = decode_path(&found.root);
            found.hidden.iter().chain(&found.read_only).map(move |path| root.join(decode_path(path)))
        });
        let denied = self.hidden.iter().chain(&self.read_only).map(PathBuf::from);
        found.chain(denied).map(|path| {
            let identity = entry_identity(&path);
            (path, identity)
        })
    }

    /// The absolute paths that programs cannot read, and those that they cannot change, because of rules or secrets.
    /// Paths that the host shows can be read, and those that it makes writable can be read and changed.
    pub fn closed(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let found = |list: fn(&ProtectedPaths) -> &Vec<String>| {
            self.found.iter().flat_map(move |found| {
                let root = decode_path(&found.root);
                list(found).iter().map(move |path| root.join(decode_path(path)))
            })
        };
        let lifted = |path: &PathBuf| {
            self.is_writable(path) || self.readable.iter().any(|shown| Path::new(shown) == path)
        };
        let named = |list: &[OsString]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let unread = named(&self.hidden).into_iter().chain(found(|found| &found.hidden));
        let unchanged = named(&self.read_only).into_iter().chain(found(|found| &found.read_only));
        (
            unread.filter(|path| !lifted(path)).collect(),
            unchanged.filter(|path| !self.is_writable(path)).collect(),
        )
    }

    /// The numbers of mounts in the workspace and in each other writable directory ([`ProtectedPaths::mounts`]).
    pub fn mounts(&self) -> impl Iterator<Item = u64> {
        self.found.iter().map(|found| found.mounts)
    }

    /// No limits.
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
                trusted: None,
                unix_sockets: true,
                readable: Vec::new(),
                writable: Vec::new(),
                listed: Vec::new(),
                read_only: Vec::new(),
                git_sources: Vec::new(),
                hidden: Vec::new(),
                denies_hidden: false,
                secrets: 0,
                held: Vec::new(),
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
                without_links: Vec::new(),
            })
        });
        Arc::clone(&OFF)
    }

    /// A writable directory, identified by device and inode number, under the host's sandbox settings; without a
    /// temporary directory, and without protected paths.
    pub(super) fn new(workspace: &Path, (device, inode): (u64, u64), sandbox: &SandboxSettings) -> Self {
        let listed = |paths: &[String]| -> Vec<OsString> {
            paths.iter().map(|path| workspace.join(decode_path(path)).into()).collect()
        };
        let secrets = secrets::present();
        let hidden: Vec<OsString> = hidden_here(workspace, &secrets).collect();
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
            trusted: None,
            unix_sockets: sandbox.unix_sockets,
            readable: listed(&sandbox.readable),
            writable: listed(&sandbox.writable),
            listed: Vec::new(),
            read_only: Vec::new(),
            git_sources: Vec::new(),
            secrets: hidden.len(),
            hidden: hidden.into_iter().chain(listed(&sandbox.hidden)).collect(),
            denies_hidden: false,
            held: secrets.steps.iter().map(OsString::from).collect(),
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
            without_links: Vec::new(),
        }
    }

    /// Whether `/tmp` is private, and not one of the host's writable paths.
    pub(super) fn has_own_tmp(&self) -> bool {
        let is_tmp = |path: &OsString| Path::new(path) == Path::new("/tmp");
        !is_tmp(&self.workspace) && !self.writable.iter().any(is_tmp)
    }

    /// The paths that the host makes writable beneath a protected one, relative to it.
    pub(super) fn writable_beneath(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        self.writable
            .iter()
            .filter_map(move |writable| Path::new(writable).strip_prefix(path).ok().map(Path::to_owned))
    }

    /// Whether the host makes a protected path writable.
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|writable| Path::new(writable) == path)
    }
}

fn replaceable(option: &str, path: &Path, link: &Path, end: &Path) -> ToolError {
    let message = format!(
        "nothing was run: the option {option} of the sandbox names {}, which leads through the link {} to {}, and commands can \
         replace that link",
        path.display(),
        link.display(),
        end.display()
    );
    unusable(
        message,
        format!("Name {}, if commands did not make the link, or remove the link", end.display()),
    )
}

fn absent(option: &str, path: &Path) -> ToolError {
    let path = path.display();
    let message = format!(
        "nothing was run: the option {option} of the sandbox names {path}, where nothing is to be found"
    );
    unusable(message, format!("Create {path}, or take it out of {option}"))
}

fn whole_machine(option: &str, path: &Path) -> ToolError {
    let message = format!(
        "nothing was run: the option {option} of the sandbox names {}, which leads to /, the whole machine",
        path.display()
    );
    unusable(message, format!("Name the directories that commands need in {option}"))
}

/// A path that the host lists cannot be used.
fn unusable(message: String, hint: String) -> ToolError {
    ToolError::new(Reason::IsolationUnavailable, message)
        .with("layer", "read_only_filesystem")
        .hint(HostHint::new(hint.clone(), hint))
}

/// Paths that are hidden on this machine for all users.
static HIDDEN_HERE: LazyLock<Vec<OsString>> = LazyLock::new(|| {
    // Write access to journals would allow to "undo" changes that never happened.
    secrets::OF_THE_MACHINE
        .map(PathBuf::from)
        .into_iter()
        .chain(journal::journals())
        .map(PathBuf::into)
        .collect()
});

/// The paths to hide: the machine's own directories first, so that a home directory below one of them is found, then
/// existing secrets that do not contain the whole workspace.
fn hidden_here(workspace: &Path, secrets: &PresentSecrets) -> impl Iterator<Item = OsString> {
    let secrets = secrets.paths.iter().filter(move |path| workspace != path.as_path()).map(OsString::from);
    HIDDEN_HERE.iter().cloned().chain(secrets)
}

static MEMORY_OF_THE_MACHINE: LazyLock<u64> = LazyLock::new(|| {
    let info = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion, reason = "a smaller number on some architectures")]
    let total = u64::from(info.totalram);
    total.saturating_mul(u64::from(info.mem_unit.max(1)))
});
