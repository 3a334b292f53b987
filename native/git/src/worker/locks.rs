//! Removes the lock files of a worker that was killed while writing. They would block git forever.

use beamai_workspace::WorkspacePath;
use rustix::fs::{AtFlags, FileType};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Granularity of file system timestamps.
const STEP: Duration = Duration::from_millis(20);

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
    use beamai_workspace::Workspace;

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
