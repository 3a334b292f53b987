//! Serializes replacements of a file.
//!
//! The lock works within this process and identifies a file independently of path and workspace. Writes by other
//! programs are detected when the replacement is committed.

use super::{WorkspacePath, resolve};
use beamai_base::Result;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a waiting call checks whether to go on waiting.
const PATIENCE: Duration = Duration::from_millis(20);

/// Identity of a file, whether it exists or not: its directory's device and inode, and its file name.
type Key = (u64, u64, OsString);

static HELD: Mutex<BTreeSet<Key>> = Mutex::new(BTreeSet::new());
static FREED: Condvar = Condvar::new();

/// The exclusive right, within this process, to replace one file.
#[derive(Debug)]
pub struct WriteGuard(Key);

impl Drop for WriteGuard {
    fn drop(&mut self) {
        held().remove(&self.0);
        FREED.notify_all();
    }
}

fn held() -> MutexGuard<'static, BTreeSet<Key>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the right to replace each of these files. `check` is called repeatedly while waiting; its error ends the
/// wait.
///
/// # Errors
/// Those of `check`.
pub fn lock_all(paths: &[&WorkspacePath], check: impl Fn() -> Result<()>) -> Result<Vec<WriteGuard>> {
    // All callers lock in the same order, which prevents deadlocks.
    let keys: BTreeSet<Key> = paths.iter().map(|path| path.identity()).collect();
    keys.into_iter().map(|key| wait_for(key, &check)).collect()
}

fn wait_for(key: Key, check: &impl Fn() -> Result<()>) -> Result<WriteGuard> {
    let mut held = held();
    while !held.insert(key.clone()) {
        held = FREED.wait_timeout(held, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        check()?;
    }
    Ok(WriteGuard(key))
}

impl WorkspacePath {
    /// The right to replace the file, if nobody holds it. Hold it from reading to the commit.
    pub fn try_lock(&self) -> Option<WriteGuard> {
        let key = self.identity();
        held().insert(key.clone()).then(|| WriteGuard(key))
    }

    /// Waits for the right to replace the file. `check` is called repeatedly while waiting; its error ends the wait.
    ///
    /// # Errors
    /// Those of `check`.
    pub fn lock(&self, check: impl Fn() -> Result<()>) -> Result<WriteGuard> {
        wait_for(self.identity(), &check)
    }

    /// Identity of the file, independent of the path to it. If its directory is missing too, one file may have several;
    /// two calls may both hold a lock then, and the later commit fails.
    pub fn identity(&self) -> Key {
        let anchor = self.root.anchor();
        let target = self.walk(resolve::MissingDirs::Refuse).ok();
        let parent = target.as_ref().and_then(|target| rustix::fs::fstat(target.parent(&anchor)).ok());
        match (target, parent) {
            #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
            (Some(target), Some(stat)) => (stat.st_dev as u64, stat.st_ino as u64, target.name),
            _ => (self.root.device, self.root.inode, self.relative.clone().into_os_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Workspace;
    use beamai_base::{Reason, ToolError};

    #[test]
    fn a_file_is_locked_by_whatever_path_it_is_reached() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::os::unix::fs::symlink("d/f", dir.path().join("link")).unwrap();
        let outer = Workspace::open(dir.path()).unwrap();
        let inner = Workspace::open(&dir.path().join("d")).unwrap();
        let guard = outer.parse_path("d/f").unwrap().try_lock().unwrap();
        for same in [outer.parse_path("link"), outer.parse_path("d/../d/./f"), inner.parse_path("f")] {
            assert!(same.unwrap().try_lock().is_none());
        }
        assert!(outer.parse_path("d/other").unwrap().try_lock().is_some());
        drop(guard);
        assert!(inner.parse_path("f").unwrap().try_lock().is_some());
    }

    #[test]
    fn several_locks_are_taken_without_a_deadlock() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let (a, b) = (workspace.parse_path("a").unwrap(), workspace.parse_path("b").unwrap());
        std::thread::scope(|scope| {
            for paths in [[&a, &b, &a], [&b, &a, &b]] {
                scope
                    .spawn(move || (0..1000).for_each(|_| drop(super::lock_all(&paths, || Ok(())).unwrap())));
            }
        });
        assert!(a.try_lock().is_some() && b.try_lock().is_some());
    }

    #[test]
    fn a_wait_ends_when_the_call_should_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = Workspace::open(dir.path()).unwrap().parse_path("f").unwrap();
        let _guard = path.try_lock().unwrap();
        let error = path.lock(|| Err(ToolError::new(Reason::Cancelled, "stop"))).unwrap_err();
        assert_eq!(error.reason, Reason::Cancelled);
    }
}
