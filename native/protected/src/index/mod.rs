//! What in a directory is to be protected from commands: git repositories, and what patterns of deny rules match.
//!
//! It is found by one walk and kept up to date from then on: the kernel tells of every name that comes or goes in the
//! directories that were walked (inotify), so that looking again before each command costs one call where nothing has
//! happened. Directories that the kernel does not watch, because it has no room for more watches or because somebody
//! else changes the file system, are compared by their dates instead.

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
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use targets::ScanTargets;
use tree::DirectoryIndex;

/// Most surveys that are kept; for a further one, the one that was asked for longest ago is given up.
const MOST_KEPT: usize = 32;
/// Pause between two looks at a survey that another call is making.
const PAUSE: Duration = Duration::from_millis(1);

/// What was found beneath a directory, by relative paths in the text form of the workspace, each list in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedPaths {
    /// The directory.
    pub root: String,
    /// Directories, and files in their place, of git repositories: `.git`, and those of submodules and linked work
    /// trees within.
    pub repositories: Vec<String>,
    /// What cannot be read. Nothing beneath it is listed.
    pub hidden: Vec<String>,
    /// What cannot be changed. Nothing beneath it is listed here.
    pub read_only: Vec<String>,
    /// Why there may be more than this.
    pub cut: Option<String>,
}

/// How much is looked at before a survey is cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanBounds {
    /// Directories.
    pub(super) directories: usize,
    /// Names in directories.
    pub(super) names: usize,
    /// Things that are found.
    pub(super) found: usize,
}

/// For git repositories alone: the nearest directories.
const BOUNDS_OF_REPOSITORIES: ScanBounds = ScanBounds { directories: 30_000, names: 1_000_000, found: 1_000 };
/// With patterns to be found.
const BOUNDS_OF_PATTERNS: ScanBounds = ScanBounds { directories: 200_000, names: 4_000_000, found: 4_000 };

/// The survey of one directory.
struct ProtectedPathIndex {
    key: IndexKey,
    state: Mutex<Option<IndexState>>,
}

/// What makes two surveys the same one.
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

/// What is beneath a directory now. `check` is asked now and then whether to go on.
///
/// # Errors
/// Those of `check`.
pub fn protected_paths(
    root: &Path,
    is_workspace: bool,
    denied_paths: &DeniedPaths,
    check: &dyn Fn() -> Result<()>,
) -> Result<Arc<ProtectedPaths>> {
    let index = kept(IndexKey { root: root.to_owned(), is_workspace, denied_paths: denied_paths.clone() });
    let mut state = index.lock(check)?;
    let targets = index.key.targets();
    let scan = Scan { targets: &targets, check };
    // Should the check end this, nothing half done is kept.
    let known = match state.take().filter(|known| known.tree.stands_for(root)) {
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
    /// Waits for whoever else is looking, as long as `check` permits.
    fn lock(&self, check: &dyn Fn() -> Result<()>) -> Result<MutexGuard<'_, Option<IndexState>>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return Ok(state),
                Err(TryLockError::Poisoned(poisoned)) => {
                    // Whoever panicked has left nothing behind: the state is taken out while it is worked on.
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
