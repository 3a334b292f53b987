//! What in a directory is to be protected from commands: git repositories, and what patterns of deny rules match.
//!
//! It is found by one walk and kept up to date from then on: the kernel tells of every name that comes or goes in the
//! directories that were walked (inotify), so that looking again before each command costs one call where nothing has
//! happened. Directories that the kernel does not watch, because it has no room for more watches or because somebody
//! else changes the file system, are compared by their dates instead.

mod look;
mod sought;
mod tree;
mod watch;

#[cfg(test)]
mod tests;

use beamai_base::Result;
use beamai_policy::Sealed;
use beamai_workspace::encode_path;
use look::Look;
use serde::{Deserialize, Serialize};
use sought::Sought;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use tree::Tree;

/// Most surveys that are kept; for a further one, the one that was asked for longest ago is given up.
const MOST_KEPT: usize = 32;
/// Pause between two looks at a survey that another call is making.
const PAUSE: Duration = Duration::from_millis(1);

/// What was found beneath a directory, by relative paths in the text form of the workspace, each list in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
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
pub(super) struct Bounds {
    /// Directories.
    pub(super) directories: usize,
    /// Names in directories.
    pub(super) names: usize,
    /// Things that are found.
    pub(super) found: usize,
}

/// For git repositories alone: the nearest directories.
const BOUNDS_OF_REPOSITORIES: Bounds = Bounds { directories: 30_000, names: 1_000_000, found: 1_000 };
/// With patterns to be found.
const BOUNDS_OF_PATTERNS: Bounds = Bounds { directories: 200_000, names: 4_000_000, found: 4_000 };

/// The survey of one directory.
struct Survey {
    key: Key,
    state: Mutex<Option<State>>,
}

/// What makes two surveys the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    root: PathBuf,
    is_workspace: bool,
    sealed: Sealed,
}

struct State {
    tree: Tree,
    found: Arc<Found>,
}

static KEPT: Mutex<Vec<Arc<Survey>>> = Mutex::new(Vec::new());

/// What is beneath a directory now. `check` is asked now and then whether to go on.
///
/// # Errors
/// Those of `check`.
pub fn survey(
    root: &Path,
    is_workspace: bool,
    sealed: &Sealed,
    check: &dyn Fn() -> Result<()>,
) -> Result<Arc<Found>> {
    let survey = kept(Key { root: root.to_owned(), is_workspace, sealed: sealed.clone() });
    let mut state = survey.lock(check)?;
    let sought = survey.key.sought();
    let look = Look { sought: &sought, check };
    // Should the check end this, nothing half done is kept.
    let known = match state.take().filter(|known| known.tree.stands_for(root)) {
        Some(known) => known.now(&look)?,
        None => State::of(Tree::walk(root, sought.bounds(), &look)?, &sought),
    };
    Ok(Arc::clone(&state.insert(known).found))
}

fn kept(key: Key) -> Arc<Survey> {
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let survey = match all.iter().position(|survey| survey.key == key) {
        Some(at) => all.remove(at),
        None => Arc::new(Survey { key, state: Mutex::default() }),
    };
    all.push(Arc::clone(&survey));
    let outlived = (all.len() > MOST_KEPT).then(|| all.remove(0));
    drop(all);
    drop(outlived);
    survey
}

impl Survey {
    /// Waits for whoever else is looking, as long as `check` permits.
    fn lock(&self, check: &dyn Fn() -> Result<()>) -> Result<MutexGuard<'_, Option<State>>> {
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

impl State {
    fn of(tree: Tree, sought: &Sought<'_>) -> Self {
        Self { found: Arc::new(tree.found(sought)), tree }
    }

    fn now(mut self, look: &Look<'_>) -> Result<Self> {
        if !self.tree.is_current(look)? {
            let found = self.tree.found(look.sought);
            if found != *self.found {
                self.found = Arc::new(found);
            }
        }
        Ok(self)
    }
}

impl Key {
    fn sought(&self) -> Sought<'_> {
        Sought::new(&self.root, self.is_workspace, &self.sealed)
    }
}

fn texts<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| encode_path(path)).collect()
}
