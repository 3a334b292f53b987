//! An index of protected paths in a directory: git repositories, and matches of deny rules.
//!
//! One walk builds it, and inotify keeps it up to date: the Linux kernel reports every name that is created or removed
//! in the directories, so that a check before a command costs one system call if nothing has happened. Directories
//! without a watch, because the limit is reached or because the file system is shared with other machines, are compared
//! by their timestamps instead.

mod scan;
mod targets;
mod tree;
mod watch;

#[cfg(test)]
mod tests;

use beamai_base::Result;
use beamai_policy::DeniedPaths;
use beamai_workspace::encode_path;
use scan::Scan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
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
    /// Directories of git repositories, or files in their place: `.git`, and the directories of submodules and linked
    /// work trees inside.
    pub repositories: Vec<String>,
    /// Paths that cannot be read. Nothing beneath them is listed.
    pub hidden: Vec<String>,
    /// Paths that cannot be written. Nothing beneath them is listed here.
    pub read_only: Vec<String>,
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
    /// Why repositories inside of the directories of others may be missing.
    pub cut_inside: Option<String>,
}

/// Limits of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanBounds {
    /// Number of directories.
    pub(super) directories: usize,
    /// Number of names in them.
    pub(super) names: usize,
    /// Number of protected paths.
    pub(super) found: usize,
}

/// Without patterns: git repositories near the root are enough.
const BOUNDS_OF_REPOSITORIES: ScanBounds = ScanBounds { directories: 30_000, names: 1_000_000, found: 1_000 };
/// With patterns.
const BOUNDS_OF_PATTERNS: ScanBounds = ScanBounds { directories: 200_000, names: 4_000_000, found: 4_000 };

/// The index of one directory.
struct ProtectedPathIndex {
    key: IndexKey,
    state: Mutex<Option<IndexState>>,
}

/// Identifies an index.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexKey {
    root: PathBuf,
    is_workspace: bool,
    denied_paths: DeniedPaths,
}

struct IndexState {
    tree: DirectoryIndex,
    found: Arc<ProtectedPaths>,
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
    look(root, is_workspace, denied_paths, check, false)
}

/// The same after a new walk: once a limit is hit, new directories are not looked into, although nearer ones come first.
///
/// # Errors
/// Those of `check`.
pub(crate) fn protected_paths_anew(
    root: &Path,
    is_workspace: bool,
    denied_paths: &DeniedPaths,
    check: &dyn Fn() -> Result<()>,
) -> Result<Arc<ProtectedPaths>> {
    look(root, is_workspace, denied_paths, check, true)
}

fn look(
    root: &Path,
    is_workspace: bool,
    denied_paths: &DeniedPaths,
    check: &dyn Fn() -> Result<()>,
    anew: bool,
) -> Result<Arc<ProtectedPaths>> {
    let index = kept(IndexKey { root: root.to_owned(), is_workspace, denied_paths: denied_paths.clone() });
    let mut state = index.lock(check)?;
    let targets = index.key.targets();
    let scan = Scan { targets: &targets, check };
    // The state is taken out while it is updated, so an error leaves no inconsistent state.
    let known = match state.take().filter(|known| !anew && known.tree.is_of(root)) {
        Some(known) => known.now(&scan)?,
        None => IndexState::of(DirectoryIndex::walk(root, targets.bounds(), &scan)?, &targets),
    };
    Ok(Arc::clone(&state.insert(known).found))
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
    fn lock(&self, check: &dyn Fn() -> Result<()>) -> Result<MutexGuard<'_, Option<IndexState>>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return Ok(state),
                Err(TryLockError::Poisoned(poisoned)) => {
                    // A panic has left no state behind: it is taken out while it is updated.
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

impl IndexState {
    fn of(tree: DirectoryIndex, targets: &ScanTargets<'_>) -> Self {
        Self { found: Arc::new(tree.found(targets)), tree }
    }

    fn now(mut self, scan: &Scan<'_>) -> Result<Self> {
        if !self.tree.is_current(scan)? {
            let found = self.tree.found(scan.targets);
            if found != *self.found {
                self.found = Arc::new(found);
            }
        }
        Ok(self)
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
