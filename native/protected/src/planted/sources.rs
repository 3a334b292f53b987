//! Files that commands can write to and that git reads settings or hooks from because trusted settings name them.

use super::config::{self, ConfigEntry};
use super::directory::{OpenDirectory, read_all};
use beamai_workspace::decode_path;
use rustix::fs::{CWD, Mode, OFlags};
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

/// Such files and directories beneath one directory.
#[derive(Debug, Default)]
pub(super) struct ConfigSources {
    /// Absolute paths of existing ones, links resolved.
    pub(super) present: BTreeSet<PathBuf>,
    /// Relative paths of missing config files.
    pub(super) absent_configs: BTreeSet<PathBuf>,
    /// Relative paths of missing hooks directories.
    pub(super) absent_hooks: BTreeSet<PathBuf>,
}

/// What a config file refers to.
#[derive(Debug, Default)]
struct References {
    includes: Vec<String>,
    hooks: Vec<String>,
    templates: Vec<String>,
}

impl ConfigSources {
    /// Those named by the user's own settings, and by repositories.
    pub(super) fn of(root: &Path, top: &OpenDirectory, repositories: &[String]) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut sources = Self::default();
        let mut hooks = BTreeSet::new();
        for config in own_configs() {
            sources.note_config(&root, &config);
            sources.follow(&root, &config, DEPTH, &mut hooks);
        }
        let repositories: Vec<PathBuf> = repositories.iter().map(|path| decode_path(path)).collect();
        for repository in repositories.iter().filter(|path| top.beneath(path).is_ok()) {
            for name in ["config", "config.worktree"] {
                sources.follow(&root, &root.join(repository).join(name), DEPTH, &mut hooks);
            }
        }
        for hooks in hooks {
            for repository in &repositories {
                sources.note_hooks(&root, &root.join(work_tree(repository)).join(&hooks));
            }
        }
        sources
    }

    fn follow(&mut self, root: &Path, config: &Path, depth: usize, hooks: &mut BTreeSet<PathBuf>) {
        let references = references(config);
        hooks.extend(references.hooks.iter().map(|path| at_home(path)));
        for include in &references.includes {
            let path = cleaned(&config.parent().unwrap_or(config).join(at_home(include)));
            self.note_config(root, &path);
            if depth > 0 {
                self.follow(root, &path, depth - 1, hooks);
            }
        }
    }

    /// Records a config file, if commands can write to it by any path.
    fn note_config(&mut self, root: &Path, path: &Path) {
        match path.canonicalize() {
            Ok(real) if real.starts_with(root) => _ = self.present.insert(real),
            Ok(_) => {}
            Err(_) => self.absent_configs.extend(path.strip_prefix(root).map(Path::to_owned)),
        }
    }

    fn note_hooks(&mut self, root: &Path, path: &Path) {
        let path = cleaned(path);
        // The hooks in Husky's directory run files from its parent.
        let path = if path.ends_with(".husky/_") { path.parent().unwrap_or(&path) } else { &path };
        match path.canonicalize() {
            // If the hooks directory is the workspace itself, it cannot be made read-only.
            Ok(real) if real.starts_with(root) && real != root && real.is_dir() => {
                _ = self.present.insert(real)
            }
            Ok(_) => {}
            Err(_) => self.absent_hooks.extend(path.strip_prefix(root).map(Path::to_owned)),
        }
    }
}

/// The directory where git runs the hooks of a repository.
fn work_tree(repository: &Path) -> &Path {
    match (repository.file_name(), repository.parent()) {
        (Some(name), Some(parent)) if name == ".git" => parent,
        _ => repository,
    }
}

/// The config files of this user and machine.
fn own_configs() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let all = [
        Some(PathBuf::from("/etc/gitconfig")),
        config.map(|config| config.join("git/config")),
        home.map(|home| home.join(".gitconfig")),
        variable("GIT_CONFIG_GLOBAL"),
        variable("GIT_CONFIG_SYSTEM"),
    ];
    all.into_iter().flatten().collect()
}

/// Directories whose hooks git copies into new repositories.
pub(super) fn templates() -> Vec<PathBuf> {
    let configs = own_configs();
    let named = configs.iter().flat_map(|config| {
        let references = references(config);
        references.templates.iter().map(|path| at_home(path)).collect::<Vec<_>>()
    });
    let variable = std::env::var_os("GIT_TEMPLATE_DIR").map(PathBuf::from);
    let all = named.chain(variable).chain(TEMPLATES.map(PathBuf::from));
    all.filter(|path| path.is_absolute()).collect()
}

/// A path in a setting, with `~` expanded.
fn at_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.into(),
    }
}

/// A path without `.` and `..`.
fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = clean.pop(),
            part => clean.push(part),
        }
    }
    clean
}

/// What a config file refers to; empty if git cannot read it.
fn references(path: &Path) -> Arc<References> {
    type Stamp = (u64, u64, i64, i64, u64);
    type Kept = HashMap<PathBuf, (Stamp, Arc<References>)>;
    static KEPT: Mutex<Option<Kept>> = Mutex::new(None);
    let Ok(found) = std::fs::metadata(path) else { return Arc::default() };
    let stamp = (found.dev(), found.ino(), found.ctime(), found.ctime_nsec(), found.size());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if let Some((then, references)) = kept.get(path)
        && *then == stamp
    {
        return Arc::clone(references);
    }
    let references = Arc::new(read(path));
    if kept.len() >= MOST_KEPT {
        kept.clear();
    }
    kept.insert(path.to_owned(), (stamp, Arc::clone(&references)));
    references
}

fn read(path: &Path) -> References {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let text = rustix::fs::openat(CWD, path, flags, Mode::empty()).and_then(read_all);
    let entries = text.ok().and_then(|text| config::read(&text).ok()).unwrap_or_default();
    let mut references = References::default();
    for entry in entries {
        let value = entry.text();
        let ConfigEntry { section, key, .. } = entry;
        match (section.as_str(), key.as_str()) {
            _ if value.is_empty() => {}
            ("include" | "includeif", "path") => references.includes.push(value),
            ("core", "hookspath") => references.hooks.push(value),
            ("init", "templatedir") => references.templates.push(value),
            _ => {}
        }
    }
    references
}
