//! Mounts, by their number (`STATX_MNT_ID` of statx(2)). A directory that is mounted over itself has the same device
//! and inode number, and other things may be mounted in it.

use std::os::fd::AsFd;
use std::path::Path;

/// The mount that a path leads to; `None` if the system does not tell.
pub fn mount_at(path: &Path) -> Option<u64> {
    imp::mount_at(path)
}

/// The mount of an open directory; `None` if the system does not tell.
pub fn mount_of(directory: impl AsFd) -> Option<u64> {
    imp::mount_of(directory)
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    use std::os::fd::AsFd;
    use std::path::Path;

    pub(super) fn mount_at(path: &Path) -> Option<u64> {
        mount(CWD, path, AtFlags::empty())
    }

    pub(super) fn mount_of(directory: impl AsFd) -> Option<u64> {
        mount(directory, Path::new(""), AtFlags::EMPTY_PATH)
    }

    fn mount(at: impl AsFd, path: &Path, flags: AtFlags) -> Option<u64> {
        let found = statx(at, path, flags, StatxFlags::MNT_ID).ok()?;
        (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::os::fd::AsFd;
    use std::path::Path;

    pub(super) fn mount_at(_path: &Path) -> Option<u64> {
        None
    }

    pub(super) fn mount_of(_directory: impl AsFd) -> Option<u64> {
        None
    }
}
