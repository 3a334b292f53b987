//! Removes the lock files of a worker that was killed while writing. They would block git forever.

use super::confine::identified;
use beamai_sandbox::ReadableDir;
use beamai_workspace::{Workspace, WorkspaceId, WorkspacePath, encode_path};
use rustix::fs::{AtFlags, FileType};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Granularity of file system timestamps.
const STEP: Duration = Duration::from_millis(20);

/// The repository's common directory, and the lock files in it that a worker has announced.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LockNotice(WorkspaceId, Vec<(Vec<u8>, SystemTime)>);

/// Lock files that a worker has announced; none of them existed at that time.
#[derive(Debug)]
pub(super) struct AnnouncedLocks {
    /// The repository's common directory.
    common: WorkspacePath,
    announced: Vec<(Vec<u8>, SystemTime)>,
}

impl AnnouncedLocks {
    pub(super) fn new(common: WorkspacePath) -> Self {
        Self { common, announced: Vec::new() }
    }

    /// Records lock files that a worker is about to create.
    pub(super) fn announce(&mut self, paths: Vec<Vec<u8>>) {
        let now = SystemTime::now();
        self.announced.extend(paths.into_iter().filter(|path| is_lock(path)).map(|path| (path, now)));
    }

    /// Those of a notice; `None` if another directory is in the place of the repository's.
    pub(super) fn noticed(LockNotice(common, announced): LockNotice) -> Option<Self> {
        Some(Self { common: Workspace::pinned(&common).ok()?.top(), announced })
    }

    /// What another process needs to remove them.
    pub(super) fn notice(&self) -> Option<LockNotice> {
        let ReadableDir { path, device, inode } = identified(&self.common).ok()?;
        let common = WorkspaceId { path: encode_path(&path), device, inode, alias: None };
        Some(LockNotice(common, self.announced.clone()))
    }

    /// Whether a worker is in the middle of a write.
    pub(super) fn are_announced(&self) -> bool {
        !self.announced.is_empty()
    }

    /// Removes those that exist, after the worker has ended. Works by handle, so that links cannot redirect it.
    pub(super) fn remove(self) {
        for (path, since) in &self.announced {
            let lock = self.common.join(Path::new(OsStr::from_bytes(path)));
            let Some((above, name)) = lock.parent() else { continue };
            let Ok(dir) = above.open_dir() else { continue };
            let Ok(stat) = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            if is_file && changed(&stat) + STEP >= *since {
                _ = rustix::fs::unlinkat(&dir, name, AtFlags::empty());
            }
        }
    }
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_sign_loss)]
fn changed(stat: &rustix::fs::Stat) -> SystemTime {
    let seconds = u64::try_from(stat.st_ctime).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, stat.st_ctime_nsec as u32)
}

fn is_lock(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    path.extension() == Some(OsStr::new("lock"))
        && path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_that_were_announced_and_made_since_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        std::fs::create_dir(file("refs")).unwrap();
        std::fs::write(file("old.lock"), "").unwrap();
        std::thread::sleep(STEP * 3);
        let mut locks = AnnouncedLocks::new(Workspace::open(dir.path()).unwrap().top());
        let named = ["index.lock", "refs/x.lock", "old.lock", "index", "../up.lock", "none.lock"];
        locks.announce(named.map(|name| name.as_bytes().to_vec()).into());
        for name in ["index.lock", "refs/x.lock", "index", "other.lock"] {
            std::fs::write(file(name), "").unwrap();
        }
        assert!(locks.are_announced());
        locks.remove();
        let left =
            ["index.lock", "refs/x.lock", "old.lock", "index", "other.lock"].map(|name| file(name).exists());
        assert_eq!(left, [false, false, true, true, true]);
    }
}
