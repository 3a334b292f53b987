//! An index of protected paths in a directory: git repositories, and matches of deny rules.
//!
//! One walk builds it, and inotify keeps it up to date: the Linux kernel reports every name that is created or removed
//! in the directories, so that a check before a command costs one system call if nothing has happened. Directories
//! without a watch, because the limit is reached or because the file system is shared with other machines, are compared
//! by their timestamps instead.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod mounts;
mod scan;
mod targets;
mod tree;
mod watch;

#[cfg(test)]
mod tests;

use beamai_base::Result;
use beamai_policy::DeniedPaths;
use beamai_workspace::{decode_path, encode_path, journal};
use scan::Scan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use targets::ScanTargets;
use tree::DirectoryIndex;

/// Maximum number of indexes; beyond it, the least recently used one is dropped.
const MOST_KEPT: usize = 32;
/// Pause between two checks of an index that another call is updating.
const PAUSE: Duration = Duration::from_millis(1);

/// The protected paths beneath a directory: relative, in the workspace's text form, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedPaths {
    /// The directory.
    pub root: String,
    /// A number that changes when something may have been mounted or unmounted in the directory. A reaper sees only the
    /// mounts that were there when it started, so a new number means a new reaper.
    pub mounts: u64,
    /// Directories of git repositories, or files in their place: `.git`, and the directories of submodules and linked
    /// work trees inside.
    pub repositories: Vec<String>,
    /// Paths that cannot be read. Beneath them, only repositories are listed.
    pub hidden: Vec<String>,
    /// Paths that cannot be written. Beneath them, only repositories and hidden paths are listed.
    pub read_only: Vec<String>,
    /// Links that rules match: the files and directories that they lead to cannot be read.
    pub hidden_links: Vec<String>,
    /// Links that rules match: the files and directories that they lead to cannot be written.
    pub read_only_links: Vec<String>,
    /// Device and inode numbers of the first three.
    pub identities: Vec<(u64, u64)>,
    /// Directories that are repositories but for a name or two. They are not protected.
    pub begun: Vec<String>,
    /// Links in the directories of repositories that lie in a `.git`.
    pub links: Vec<String>,
    /// Directories that could not be listed, so that what is in them is not known.
    pub closed: Vec<String>,
    /// Why the lists may be incomplete.
    pub cut: Option<String>,
    /// Directories that were not looked into for that reason.
    #[serde(skip)]
    pub skipped: Arc<BTreeSet<PathBuf>>,
    /// Why paths that rules match may be missing although every directory was looked into.
    pub unmatched: Option<String>,
    /// Why repositories in hidden directories and inside of the directories of others may be missing.
    pub cut_inside: Option<String>,
}

/// Limits of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScanBounds {
    /// Number of directories.
    directories: usize,
    /// Number of names in them.
    names: usize,
    /// Number of protected paths.
    found: usize,
}

/// Without patterns: git repositories near the root are enough.
const BOUNDS_OF_REPOSITORIES: ScanBounds = ScanBounds { directories: 30_000, names: 1_000_000, found: 1_000 };
/// With patterns.
const BOUNDS_OF_PATTERNS: ScanBounds = ScanBounds { directories: 200_000, names: 4_000_000, found: 4_000 };

/// The index of one directory.
struct ProtectedPathIndex {
    key: IndexKey,
    state: Mutex<IndexState>,
}

/// Identifies an index.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexKey {
    root: PathBuf,
    is_workspace: bool,
    denied_paths: DeniedPaths,
}

#[derive(Default)]
struct IndexState {
    /// Taken out while it is updated, so an error leaves no inconsistent one.
    tree: Option<DirectoryIndex>,
    /// What was found last.
    found: Arc<ProtectedPaths>,
    /// Repositories that later walks find even beyond the limits.
    known: Vec<PathBuf>,
    is_noted: bool,
}

/// Whether new indexes get watches.
static WATCHES: AtomicBool = AtomicBool::new(true);

/// For a process that makes one call: new indexes get no watches, which the Linux kernel takes 15 ms to remove when the
/// process ends. Later checks compare timestamps.
pub fn do_not_watch() {
    WATCHES.store(false, Ordering::Relaxed);
}

static KEPT: Mutex<Vec<Arc<ProtectedPathIndex>>> = Mutex::new(Vec::new());

/// The protected paths beneath a directory. `check` is called regularly; its error ends the call.
///
/// # Errors
/// Those of `check`.
pub fn protected_paths(
    root: &Path,
    is_workspace: bool,
    denied_paths: &DeniedPaths,
    check: &dyn Fn() -> Result<()>,
) -> Result<Arc<ProtectedPaths>> {
    look(root, is_workspace, denied_paths, check, None)
}

/// The same after a new walk: once a limit is hit, new directories are not looked into, although nearer ones come first. The
/// repositories that are known already are found whatever the limits say.
///
/// # Errors
/// Those of `check`.
pub fn protected_paths_anew(
    root: &Path,
    is_workspace: bool,
    denied_paths: &DeniedPaths,
    known: &ProtectedPaths,
) -> Result<Arc<ProtectedPaths>> {
    look(root, is_workspace, denied_paths, &|| Ok(()), Some(known))
}

fn look(
    root: &Path,
    is_workspace: bool,
    denied_paths: &DeniedPaths,
    check: &dyn Fn() -> Result<()>,
    anew: Option<&ProtectedPaths>,
) -> Result<Arc<ProtectedPaths>> {
    let index = kept(IndexKey { root: root.to_owned(), is_workspace, denied_paths: denied_paths.clone() });
    let mut state = index.lock(check)?;
    let targets = index.key.targets();
    let scan = Scan { targets: &targets, check };
    let (tree, is_current) = match state.tree.take().filter(|tree| anew.is_none() && tree.is_of(root)) {
        Some(mut tree) => {
            let is_current = tree.is_current(&scan)?;
            (tree, is_current)
        }
        None => {
            // Another process may have looked before.
            if state.found.root.is_empty() {
                state.known = noted(root);
                state.is_noted = !state.known.is_empty();
            }
            let before = anew.into_iter().flat_map(|before| before.repositories.iter().chain(&before.begun));
            let before = before.map(|path| decode_path(path));
            let known = state.known.iter().cloned().chain(before);
            (DirectoryIndex::walk(root, targets.bounds(), &scan, known)?, false)
        }
    };
    if !is_current {
        let found = tree.found(&targets);
        if found != *state.found {
            let known = tree.remembered();
            state.is_noted = note(root, &found, &known, state.is_noted);
            (state.found, state.known) = (Arc::new(found), known);
        }
    }
    state.tree = Some(tree);
    Ok(Arc::clone(&state.found))
}

fn kept(key: IndexKey) -> Arc<ProtectedPathIndex> {
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let index = match all.iter().position(|index| index.key == key) {
        Some(at) => all.remove(at),
        None => Arc::new(ProtectedPathIndex { key, state: Mutex::default() }),
    };
    all.push(Arc::clone(&index));
    let outlived = (all.len() > MOST_KEPT).then(|| all.remove(0));
    drop(all);
    drop(outlived);
    index
}

impl ProtectedPathIndex {
    /// Waits until no other call is updating the index, or until `check` fails.
    fn lock(&self, check: &dyn Fn() -> Result<()>) -> Result<MutexGuard<'_, IndexState>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return Ok(state),
                Err(TryLockError::Poisoned(poisoned)) => {
                    // A panic has left no tree behind: it is taken out while it is updated.
                    self.state.clear_poison();
                    return Ok(poisoned.into_inner());
                }
                Err(TryLockError::WouldBlock) => {
                    check()?;
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
}

/// What a process has noted that did not find all: a later one starts with these repositories.
fn noted(root: &Path) -> Vec<PathBuf> {
    let text = journal::read_note(root).and_then(|note| String::from_utf8(note).ok()).unwrap_or_default();
    text.split_terminator('\0').map(decode_path).collect()
}

/// Notes repositories for later processes, if those would not find all: without a note they find what is nearest. Returns
/// whether there is a note now.
fn note(root: &Path, found: &ProtectedPaths, known: &[PathBuf], is_noted: bool) -> bool {
    let count = found.repositories.len() + found.begun.len() + found.hidden.len() + found.read_only.len();
    if found.cut.is_some() || found.cut_inside.is_some() || count > BOUNDS_OF_REPOSITORIES.found {
        let text: String = known.iter().flat_map(|path| [encode_path(path), "\0".into()]).collect();
        journal::write_note(root, text.as_bytes()).is_ok()
    } else {
        is_noted && journal::write_note(root, b"").is_err()
    }
}

impl ProtectedPaths {
    /// Why paths that rules match may be missing.
    pub fn missed_by_rules(&self) -> Option<&str> {
        self.cut.as_deref().or(self.unmatched.as_deref())
    }
}

impl IndexKey {
    fn targets(&self) -> ScanTargets<'_> {
        ScanTargets::new(&self.root, self.is_workspace, &self.denied_paths)
    }
}

fn texts<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| encode_path(path)).collect()
}
