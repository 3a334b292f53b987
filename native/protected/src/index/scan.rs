//! Looking at directories, beneath one that was opened, following no links.

use super::targets::ScanTargets;
use beamai_base::Result;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longer than a step of any clock of a file system, and than the second that is not looked at.
const STEP: Duration = Duration::from_secs(3);

/// What is looked for, and whether to go on.
pub(super) struct Scan<'a> {
    pub(super) targets: &'a ScanTargets<'a>,
    pub(super) check: &'a dyn Fn() -> Result<()>,
}

/// When a directory has changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectoryStamp {
    seconds: i64,
    nanoseconds: i64,
    device: u64,
    inode: u64,
}

/// Opens the directory that a survey is of.
pub(super) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory to list it.
pub(super) fn open(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

/// The kind of what lies at a path; `None` where nothing does.
pub(super) fn kind(root: &OwnedFd, path: &Path) -> Option<FileType> {
    let parent = path.parent()?;
    let directory = open(root, parent).ok()?;
    kind_of(directory.as_fd(), path.file_name()?)
}

fn kind_of(directory: BorrowedFd<'_>, name: &OsStr) -> Option<FileType> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Names and kinds of what is in a directory.
pub(super) fn entries(directory: OwnedFd) -> Result<Vec<(OsString, FileType)>, Errno> {
    let mut directory = Dir::new(directory)?;
    let mut found = Vec::new();
    while let Some(entry) = directory.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        // Some file systems leave the kind to be asked for.
        let kind = match entry.file_type() {
            FileType::Unknown => kind_of(directory.fd()?, name),
            kind => Some(kind),
        };
        found.extend(kind.map(|kind| (name.to_owned(), kind)));
    }
    Ok(found)
}

pub(super) fn exists(root: &OwnedFd, path: &Path) -> bool {
    kind(root, path).is_some()
}

/// The stamp of the directory that a path leads to.
pub(super) fn stamp_of(path: &Path) -> Result<DirectoryStamp, Errno> {
    rustix::fs::stat(path).map(|stat| of_stat(&stat))
}

/// The stamp of an open directory.
pub(super) fn stamp(directory: impl AsFd) -> Result<DirectoryStamp, Errno> {
    rustix::fs::fstat(directory).map(|stat| of_stat(&stat))
}

/// The stamp of the directory at a path.
pub(super) fn stamp_at(root: &OwnedFd, path: &Path) -> Result<DirectoryStamp, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW).map(|stat| of_stat(&stat))
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
fn of_stat(stat: &rustix::fs::Stat) -> DirectoryStamp {
    DirectoryStamp {
        seconds: stat.st_ctime as i64,
        nanoseconds: stat.st_ctime_nsec as i64,
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
    }
}

impl DirectoryStamp {
    pub(super) fn is_same_directory(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether the directory may change again under the same stamp: the clock of a file system goes in steps.
    pub(super) fn is_fresh(&self) -> bool {
        let changed =
            u64::try_from(self.seconds).ok().map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        changed.is_none_or(|changed| {
            changed.elapsed().is_ok_and(|age| age < STEP) || changed > SystemTime::now()
        })
    }
}
