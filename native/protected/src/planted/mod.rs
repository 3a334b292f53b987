//! Finds what a command leaves behind that the user's own git would run later, outside the sandbox.
//!
//! What exists when a command starts is protected by mounts, including files that git's settings include and the hooks
//! that they name ([`sources`]); where mounts are not allowed, it is compared at the end with what it was. Links on the
//! way to these ([`way`]) can be replaced meanwhile, and are put back at the end ([`trusted`]). What a command
//! creates can only be checked when it ends: in each new repository, settings that run programs are removed and hooks are
//! renamed; in each existing one, new `exec` commands of a rebase are removed, and so is other state that git would not have
//! made ([`files`], [`sequence`]). An ordinary clone stays unchanged.

mod config;
mod directory;
mod files;
mod hooks;
mod index;
mod links;
mod named;
mod nested;
mod packs;
mod parts;
mod pointers;
mod references;
mod refused;
mod repository;
mod sequence;
mod settings;
mod shared;
mod sources;
mod state;
mod trees;
mod trusted;
mod way;

use crate::{ProtectedPaths, protected_paths};
use beamai_base::Result;
use beamai_isolation::Planted;
use beamai_policy::DeniedPaths;
use beamai_workspace::decode_path;
use directory::OpenDirectory;
use files::KnownFiles;
use hooks::RelativeHooks;
use repository::Cleaner;
use sequence::SequenceCommands;
use sources::ConfigSources;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use way::{Entry, KnownLinks};

/// Maximum size of a file that is read, in bytes; no person writes larger ones.
const MOST: u64 = 1 << 20;

/// Maximum depth of a path, in directories.
const MOST_LEVELS: usize = 2_048;

/// What existed when a command started, besides protected paths.
#[derive(Debug, Default)]
struct RepositoryBaseline {
    denied_paths: DeniedPaths,
    roots: Vec<SnapshotRoot>,
    /// Whether the command has ended and was cleaned up after.
    is_over: AtomicBool,
}

/// Those of running commands, oldest first.
static RUNNING: Mutex<Vec<Weak<RepositoryBaseline>>> = Mutex::new(Vec::new());

/// What existed before. All snapshots are equal: they must not make two confinements differ.
#[derive(Debug, Clone, Default)]
pub struct RepositorySnapshot(Arc<RepositoryBaseline>);

impl PartialEq for RepositorySnapshot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for RepositorySnapshot {}

#[derive(Debug)]
struct SnapshotRoot {
    path: PathBuf,
    is_workspace: bool,
    found: Arc<ProtectedPaths>,
    /// Pending commands of a rebase or cherry-pick, by repository.
    steps: HashMap<String, SequenceCommands>,
    /// Indexes and remotes, by repository.
    files: HashMap<String, KnownFiles>,
    /// Repositories that no mount protects, with the settings and hooks that they had.
    unpinned: HashMap<String, BTreeSet<String>>,
    /// Directories that a name or two would make repositories, with the same.
    begun: HashMap<String, BTreeSet<String>>,
    sources: ConfigSources,
}

impl RepositorySnapshot {
    /// Takes a snapshot. Also returns further paths that must be read-only. `is_held` says whether mounts will keep commands
    /// from changing what exists; otherwise that is part of the snapshot as well.
    pub fn now(
        found: &[Arc<ProtectedPaths>],
        workspace: &Path,
        denied_paths: &DeniedPaths,
        is_held: bool,
    ) -> (Self, Vec<OsString>) {
        let real = |found: &Arc<ProtectedPaths>| {
            let path = decode_path(&found.root);
            path.canonicalize().unwrap_or(path)
        };
        let writable: Vec<PathBuf> = found.iter().map(real).collect();
        let links = known_links();
        let at_start = Start { writable: &writable, links: &links, is_held };
        let roots: Vec<SnapshotRoot> =
            found.iter().map(|found| SnapshotRoot::now(found, workspace, &at_start)).collect();
        let present = roots.iter().flat_map(|root| root.sources.present(&writable));
        let read_only: BTreeSet<OsString> = present.map(OsString::from).collect();
        let denied_paths = denied_paths.clone();
        let baseline = Arc::new(RepositoryBaseline { denied_paths, roots, is_over: AtomicBool::new(false) });
        if baseline.links().next().is_some() {
            RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&baseline));
        }
        (Self(baseline), read_only.into_iter().collect())
    }
}

impl RepositoryBaseline {
    /// The relative paths of hooks that the settings of all directories name.
    fn relative_hooks(&self) -> RelativeHooks {
        let mut all = RelativeHooks::new();
        for (path, directories) in self.roots.iter().flat_map(|root| &root.sources.relative_hooks) {
            all.entry(path.clone()).or_default().extend(directories.iter().cloned());
        }
        all
    }

    /// The links by which git finds settings and hooks.
    fn links(&self) -> impl Iterator<Item = (&PathBuf, &OsString)> {
        let trusted = self.roots.iter().flat_map(|root| &root.sources.trusted);
        trusted.flat_map(|trusted| &trusted.way.steps).filter_map(|step| match &step.entry {
            Entry::Link(target) => Some((&step.path, target)),
            _ => None,
        })
    }
}

/// Links as they were before the commands that still run.
fn known_links() -> KnownLinks {
    let mut links = KnownLinks::new();
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|running| {
        let running = running.upgrade().filter(|running| !running.is_over.load(Ordering::Acquire));
        for (path, target) in running.iter().flat_map(|running| running.links()) {
            links.entry(path.clone()).or_insert_with(|| target.clone());
        }
        running.is_some()
    });
    links
}

/// The circumstances of a snapshot.
struct Start<'s> {
    writable: &'s [PathBuf],
    links: &'s KnownLinks,
    is_held: bool,
}

impl SnapshotRoot {
    fn now(found: &Arc<ProtectedPaths>, workspace: &Path, start: &Start<'_>) -> Self {
        let path = decode_path(&found.root);
        let mut root = Self {
            is_workspace: path == workspace,
            found: Arc::clone(found),
            steps: HashMap::new(),
            files: HashMap::new(),
            unpinned: HashMap::new(),
            begun: HashMap::new(),
            sources: ConfigSources::default(),
            path,
        };
        let Ok(top) = OpenDirectory::root(&root.path) else { return root };
        root.sources = ConfigSources::of(&root.path, start.writable, &top, &found.repositories, start.links);
        for repository in &found.repositories {
            let path = decode_path(repository);
            if let Ok(directory) = top.beneath(&path) {
                root.files.insert(repository.clone(), KnownFiles::of(&path, &directory, found));
                root.steps.extend(SequenceCommands::of(&directory).map(|steps| (repository.clone(), steps)));
            } else {
                let known = KnownFiles::of_gitfile(&path, &top, &root.path);
                root.files.extend(known.map(|known| (repository.clone(), known)));
            }
            if !start.is_held || repository::is_link(&top, &path) || has_other_names(&top, &path) {
                let directory = pointers::directory_of(&top, &root.path, &path);
                root.unpinned.insert(repository.clone(), repository::risky_settings(&directory));
            }
        }
        for trusted in root.sources.trusted.iter_mut().filter(|trusted| trusted.way.exists()) {
            // A mount does not make these read-only.
            let is_root = start.writable.contains(&trusted.way.end);
            if is_root || !start.is_held {
                trusted.kept = Some(trusted::risky_content(trusted, is_root));
            }
        }
        for begun in &found.begun {
            let path = decode_path(begun);
            if let Ok(directory) = top.beneath(&path) {
                root.files.insert(begun.clone(), KnownFiles::of(&path, &directory, found));
            }
            let path = root.path.join(path);
            root.begun.insert(begun.clone(), repository::risky_settings_of_begun(&path));
        }
        root
    }
}

/// Whether a mount does not keep a repository's settings and hooks, because they have other names.
fn has_other_names(top: &OpenDirectory, path: &Path) -> bool {
    top.beneath(path).is_ok_and(|repository| !shared::shared_files(&repository).is_empty())
}

impl SnapshotRoot {
    /// The protected paths after a command. If the command has taken away the right to list a directory, that right is
    /// restored first: git opens files in such a directory by their names.
    fn now_that_all_is_listed(&self, denied_paths: &DeniedPaths) -> Result<Arc<ProtectedPaths>> {
        let look = || protected_paths(&self.path, self.is_workspace, denied_paths, &|| Ok(()));
        let mut now = look()?;
        for _ in 0..MOST_LEVELS {
            let Ok(top) = OpenDirectory::root(&self.path) else { break };
            let opened =
                self.closed(&now).filter(|path| top.made_readable(&decode_path(path)).is_ok()).count();
            if opened == 0 {
                break;
            }
            now = look()?;
        }
        Ok(now)
    }

    /// Directories that could be listed before.
    fn closed<'n>(&'n self, now: &'n ProtectedPaths) -> impl Iterator<Item = &'n String> {
        now.closed.iter().filter(|path| !self.found.closed.contains(path))
    }
}

/// Checks what a command has created, after its end, and removes what runs programs.
pub fn remove_planted(before: &RepositorySnapshot, writable: &[PathBuf]) -> Vec<Planted> {
    let before = &before.0;
    let mut all = Vec::new();
    let hooks = before.relative_hooks();
    for root in &before.roots {
        // The call has ended, so nothing can cancel this.
        let now = root.now_that_all_is_listed(&before.denied_paths);
        match (now, OpenDirectory::root(&root.path)) {
            (Ok(now), Ok(top)) => {
                let cuts = [(&root.found.cut, &now.cut), (&root.found.cut_inside, &now.cut_inside)];
                for cut in cuts
                    .into_iter()
                    .filter(|(before, _)| before.is_none())
                    .filter_map(|(_, now)| now.as_ref())
                {
                    all.push(unchecked(&root.path, &format!("not completely: {cut}")));
                }
                all.extend(
                    root.closed(&now)
                        .map(|path| unchecked(&root.path.join(decode_path(path)), "it cannot be opened")),
                );
                Cleaner::new(root, &top, &now, writable, &hooks, &mut all).clean();
            }
            (Err(error), _) => all.push(unchecked(&root.path, &error.message)),
            (_, Err(errno)) => all.push(unchecked(&root.path, &errno.to_string())),
        }
    }
    before.is_over.store(true, Ordering::Release);
    all
}

/// The result if the changes of a command cannot be determined.
fn unchecked(root: &Path, why: &str) -> Planted {
    Planted {
        path: root.display().to_string(),
        setting: "unknown".to_owned(),
        outcome: format!(
            "could not be checked: {why}; look for new git repositories before you use git there"
        ),
    }
}
