//! Files that commands can write to and that git reads settings or hooks from because trusted settings name them.

use super::budget::UNREAD;
use super::config::CONFIGS;
use super::directory::{OpenDirectory, read_all};
use super::environment;
use super::hooks::RelativeHooks;
use super::known::KnownSettings;
use super::layout::RepositoryLayout;
use super::pathname::expanded;
use super::rights::{KnownModes, is_own_doing};
use super::way::{KnownLinks, known_way_of};
use beamai_base::PathWay;
use beamai_git_config::{ConfigEntry, read_right_lines, system_directory};
use beamai_workspace::decode_path;
use rustix::fs::{Access, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum depth of includes that git follows.
const DEPTH: usize = 10;
/// Maximum number of cached config files.
const MOST_KEPT: usize = 4_096;
/// Installed templates of git for new repositories.
const TEMPLATES: [&str; 3] = [
    "/usr/share/git-core/templates",
    "/usr/local/share/git-core/templates",
    "/usr/local/git/share/git-core/templates",
];

/// Such files and directories.
#[derive(Debug, Default)]
pub(super) struct ConfigSources {
    pub(super) trusted: Vec<TrustedPath>,
    pub(super) relative_hooks: RelativeHooks,
    /// The directories of repositories elsewhere whose settings have been followed, links resolved.
    pub(super) elsewhere: BTreeSet<PathBuf>,
    /// What git reads settings from, although it could not be read.
    pub(super) closed: Vec<PathBuf>,
    /// Settings with a mistake: what the wrong lines name is not known.
    pub(super) mistaken: BTreeSet<PathBuf>,
    /// The modes of what git reads settings from, unless mounts keep them.
    pub(super) modes: KnownModes,
}

/// A path by which git finds settings or hooks.
#[derive(Debug)]
pub(super) struct TrustedPath {
    pub(super) kind: TrustedKind,
    pub(super) way: PathWay,
    /// The settings and hooks in it, if it existed.
    pub(super) known: Option<KnownSettings>,
}

/// What git takes from a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TrustedKind {
    Config,
    Hooks,
    Hook,
    /// A file that names the directory with the settings.
    CommonDirectory,
}

/// What a config file refers to.
#[derive(Debug, Default)]
struct References {
    includes: Vec<PathBuf>,
    hooks: Vec<PathBuf>,
    templates: Vec<PathBuf>,
    trees: Vec<PathBuf>,
    has_mistake: bool,
}

/// Collects trusted paths.
struct Search<'s> {
    /// Writable directories, links resolved.
    roots: &'s [PathBuf],
    links: &'s KnownLinks,
    /// What git reads settings from.
    read: BTreeSet<PathBuf>,
    /// What of it this user may not read.
    refused: Vec<PathBuf>,
    /// What of it git rejects.
    mistaken: BTreeSet<PathBuf>,
    seen: BTreeSet<(PathBuf, TrustedKind)>,
    /// Paths of hooks, which are relative to the work tree.
    hooks: BTreeSet<PathBuf>,
    /// Paths of a repository's work trees, relative to its directory.
    trees: BTreeSet<PathBuf>,
    trusted: Vec<TrustedPath>,
}

impl ConfigSources {
    /// Those named by the user's own settings, and by repositories beneath and around one directory, whose path has no
    /// links.
    pub(super) fn of(
        root: &Path,
        roots: &[PathBuf],
        top: &OpenDirectory,
        repositories: &[String],
        links: &KnownLinks,
        is_held: bool,
    ) -> Self {
        let mut search = Search::new(roots, links);
        for config in own_configs() {
            search.note(&config, TrustedKind::Config);
            search.follow(&config, DEPTH);
        }
        // Git itself takes no relative includes from there.
        search.take(&References::of(environment::entries()), Path::new("/"), DEPTH);
        let own = search.hooks.clone();
        let beneath = repositories.iter().map(|path| RepositoryLayout::of(top, root, &decode_path(path)));
        let mut layouts: Vec<_> = beneath.chain(RepositoryLayout::around(root)).collect();
        let directories = |layouts: &[RepositoryLayout]| -> BTreeSet<PathBuf> {
            let all = layouts.iter().flat_map(|layout| &layout.directories);
            all.filter(|path| !path.starts_with(root)).cloned().collect()
        };
        let around = directories(&layouts);
        layouts.extend(around.iter().flat_map(|path| RepositoryLayout::inside(path)));
        let elsewhere = directories(&layouts);
        let mut bases = Vec::new();
        for layout in layouts {
            search.trees.clear();
            search.note_read(&layout.path);
            layout.directories.iter().for_each(|path| search.note_repository(path));
            bases.extend(layout.of_hooks(&search.trees));
        }
        let hooks = std::mem::take(&mut search.hooks);
        let mut relative_hooks = RelativeHooks::new();
        for hooks in hooks {
            // An absolute path is that of repositories elsewhere, too.
            let directories: Vec<PathBuf> = match hooks.is_absolute() {
                true => vec![hooks.clone()],
                false => bases.iter().map(|base| base.join(&hooks)).collect(),
            };
            directories.iter().for_each(|directory| search.note_hooks(directory));
            if hooks.is_relative() {
                let is_own = own.contains(&hooks);
                relative_hooks.insert((hooks, is_own), directories);
            }
        }
        search.refused.retain(|path| is_own_doing(path));
        let modes = if is_held { KnownModes::default() } else { KnownModes::of(&search.read) };
        Self {
            trusted: search.trusted,
            relative_hooks,
            elsewhere,
            closed: search.refused,
            mistaken: search.mistaken,
            modes,
        }
    }

    /// Absolute paths of those that exist, links resolved, which commands could write.
    pub(super) fn present<'s>(&'s self, roots: &'s [PathBuf]) -> impl Iterator<Item = &'s PathBuf> {
        let is_present = |trusted: &&TrustedPath| match trusted.kind {
            // If the hooks directory is the workspace itself, it cannot be made read-only.
            TrustedKind::Hooks => trusted.way.is_directory() && !roots.contains(&trusted.way.end),
            TrustedKind::Hook => trusted.way.exists() && !trusted.way.is_directory(),
            TrustedKind::Config | TrustedKind::CommonDirectory => trusted.way.exists(),
        };
        let is_beneath = |end: &&PathBuf| roots.iter().any(|root| end.starts_with(root));
        self.trusted.iter().filter(is_present).map(|trusted| &trusted.way.end).filter(is_beneath)
    }
}

impl<'s> Search<'s> {
    fn new(roots: &'s [PathBuf], links: &'s KnownLinks) -> Self {
        let (read, refused, mistaken, seen, hooks, trees, trusted) = Default::default();
        Self { roots, links, read, refused, mistaken, seen, hooks, trees, trusted }
    }

    /// Notes what leads on from a repository's directory.
    fn note_repository(&mut self, path: &Path) {
        [path, &path.join("commondir")].into_iter().for_each(|path| self.note_read(path));
        if let Ok(directory) = OpenDirectory::root(path) {
            self.note_own_links(path, &directory);
        }
        CONFIGS.iter().for_each(|name| self.follow(&path.join(name), DEPTH));
    }

    /// Notes the files of a repository that are links; what is not is protected in its place.
    fn note_own_links(&mut self, path: &Path, directory: &OpenDirectory) {
        for (name, kind) in [
            ("config", TrustedKind::Config),
            ("config.worktree", TrustedKind::Config),
            ("commondir", TrustedKind::CommonDirectory),
        ] {
            if directory.kind(name) == Some(FileType::Symlink) {
                self.note(&path.join(name), kind);
            }
        }
        match directory.kind("hooks") {
            Some(FileType::Symlink) => self.note_hooks(&path.join("hooks")),
            Some(FileType::Directory) => self.note_linked_hooks(&path.join("hooks")),
            _ => {}
        }
    }

    fn follow(&mut self, config: &Path, depth: usize) {
        self.read.insert(config.to_owned());
        match references(config) {
            Ok(references) => {
                if references.has_mistake {
                    self.mistaken.insert(config.to_owned());
                }
                self.take(&references, config.parent().unwrap_or(config), depth);
            }
            Err(Errno::ACCESS) => self.refused.push(config.to_owned()),
            // Git cannot read it either.
            Err(_) => {}
        }
    }

    /// Notes a path by which git finds settings.
    fn note_read(&mut self, path: &Path) {
        if rustix::fs::access(path, Access::READ_OK) == Err(Errno::ACCESS) {
            self.refused.push(path.to_owned());
        }
        self.read.insert(path.to_owned());
    }

    /// Notes what settings in a directory refer to.
    fn take(&mut self, references: &References, directory: &Path, depth: usize) {
        self.hooks.extend(references.hooks.iter().flat_map(|path| expanded(path)).map(|path| in_tree(&path)));
        self.trees.extend(references.trees.iter().cloned());
        for include in references.includes.iter().flat_map(|path| expanded(path)) {
            let path = directory.join(include);
            self.note(&path, TrustedKind::Config);
            if depth > 0 {
                self.follow(&path, depth - 1);
            }
        }
    }

    fn note_hooks(&mut self, path: &Path) {
        // The hooks in Husky's directory run files from its parent.
        if let (true, Some(parent)) = (path.ends_with(".husky/_"), path.parent()) {
            self.note_hooks(parent);
        }
        if self.note(path, TrustedKind::Hooks) {
            self.note_linked_hooks(path);
        }
    }

    fn note_linked_hooks(&mut self, path: &Path) {
        let Ok(hooks) = OpenDirectory::root(path) else { return };
        for hook in hooks.links() {
            self.note(&path.join(hook), TrustedKind::Hook);
        }
    }

    /// Records a path, unless commands cannot change where it leads. Returns whether it was unknown.
    fn note(&mut self, path: &Path, kind: TrustedKind) -> bool {
        if !self.seen.insert((path.to_owned(), kind)) {
            return false;
        }
        if self.is_surely_elsewhere(path) {
            return true;
        }
        let mut way = known_way_of(path, self.links);
        way.steps.retain(|step| self.roots.iter().any(|root| step.path.starts_with(root)));
        if !way.steps.is_empty() {
            self.trusted.push(TrustedPath { kind, way, known: None });
        }
        true
    }
}

impl Search<'_> {
    /// Whether no step of a path is in a writable directory, as the kernel can say in one call for most paths.
    fn is_surely_elsewhere(&self, path: &Path) -> bool {
        let is_plain =
            || path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let is_beneath = || self.roots.iter().any(|root| path.starts_with(root));
        self.links.is_empty() && is_plain() && !is_beneath() && PathWay::leading_elsewhere(path).is_none()
    }
}

/// The relative paths of hooks that the settings in these directories name.
pub(super) fn relative_hooks_of(directories: &[PathBuf]) -> BTreeSet<PathBuf> {
    let links = KnownLinks::new();
    let mut search = Search::new(&[], &links);
    directories.iter().for_each(|path| search.note_repository(path));
    search.hooks.into_iter().filter(|path| path.is_relative()).collect()
}

/// Whether git would find something in writable directories because the settings in these directories of repositories
/// name it.
pub(super) fn leads_to(directories: &[PathBuf], writable: &[PathBuf]) -> bool {
    let links = KnownLinks::new();
    let writable: Vec<PathBuf> = writable.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut search = Search::new(&writable, &links);
    directories.iter().for_each(|path| search.note_repository(path));
    let hooks = std::mem::take(&mut search.hooks);
    hooks.iter().filter(|path| path.is_absolute()).for_each(|path| search.note_hooks(path));
    search.trusted.iter().any(|trusted| trusted.way.exists())
}

/// The config files of this user and machine.
fn own_configs() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let all = [
        Some(system_directory().join("gitconfig")),
        config.map(|config| config.join("git/config")),
        home.map(|home| home.join(".gitconfig")),
        variable("GIT_CONFIG_GLOBAL"),
        variable("GIT_CONFIG_SYSTEM"),
    ];
    all.into_iter().flatten().collect()
}

/// Directories whose hooks git copies into new repositories.
pub(super) fn templates() -> Vec<PathBuf> {
    let of_files = own_configs().into_iter().filter_map(|config| references(&config).ok());
    let all = of_files.chain([Arc::new(References::of(environment::entries()))]);
    let named = all.flat_map(|references| {
        references.templates.iter().flat_map(|path| expanded(path)).collect::<Vec<_>>()
    });
    let variable = std::env::var_os("GIT_TEMPLATE_DIR").map(PathBuf::from);
    let all = named.chain(variable).chain(TEMPLATES.map(PathBuf::from));
    all.filter(|path| path.is_absolute()).collect()
}

/// A path of hooks, relative to the work tree if it leads there whatever that is.
fn in_tree(path: &Path) -> PathBuf {
    let inside =
        ["/proc/self/cwd", "/proc/thread-self/cwd"].iter().find_map(|cwd| path.strip_prefix(cwd).ok());
    inside.unwrap_or(path).to_owned()
}

/// What a config file refers to.
fn references(path: &Path) -> Result<Arc<References>, Errno> {
    type Stamp = (u64, u64, i64, i64, u64);
    type Kept = HashMap<PathBuf, (Stamp, Arc<References>)>;
    static KEPT: Mutex<Option<Kept>> = Mutex::new(None);
    let found = std::fs::metadata(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let stamp = (found.dev(), found.ino(), found.ctime(), found.ctime_nsec(), found.size());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if let Some((then, references)) = kept.get(path)
        && *then == stamp
    {
        return Ok(Arc::clone(references));
    }
    let references = Arc::new(read(path)?);
    if kept.len() >= MOST_KEPT {
        kept.clear();
    }
    kept.insert(path.to_owned(), (stamp, Arc::clone(&references)));
    Ok(references)
}

/// The same, read from the file; empty if it has no settings. Fails if it may be read another time.
fn read(path: &Path) -> Result<References, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let text = rustix::fs::openat(CWD, path, flags, Mode::empty()).and_then(read_all);
    let text = match text {
        Err(errno @ (UNREAD | Errno::ACCESS)) => return Err(errno),
        text => text.unwrap_or_default(),
    };
    Ok(match beamai_git_config::read(&text) {
        Ok(entries) => References::of(entries),
        // Git rejects the whole file at a mistake, until the person corrects it.
        Err(_) => References { has_mistake: true, ..References::of(read_right_lines(&text)) },
    })
}

impl References {
    fn of(entries: Vec<ConfigEntry>) -> Self {
        let mut references = Self::default();
        for entry in entries {
            let value = entry.path();
            if entry.is_work_tree() && !value.as_os_str().is_empty() {
                references.trees.push(value.clone());
            }
            let ConfigEntry { section, key, .. } = entry;
            match (section.as_str(), key.as_str()) {
                _ if value.as_os_str().is_empty() => {}
                ("include" | "includeif", "path") => references.includes.push(value),
                ("core", "hookspath") => references.hooks.push(value),
                ("init", "templatedir") => references.templates.push(value),
                _ => {}
            }
        }
        references
    }
}
