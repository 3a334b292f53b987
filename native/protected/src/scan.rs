//! Lists directories beneath an open one, without following links.

use super::targets::ScanTargets;
use beamai_base::Result;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// More than the timestamp granularity of any file system.
const STEP: Duration = Duration::from_secs(3);

/// Git takes no directory for a repository without this name.
const HEAD: &str = "HEAD";

/// The targets of a scan, and when to stop.
pub(super) struct Scan<'a> {
    pub(super) targets: &'a ScanTargets<'a>,
    pub(super) check: &'a dyn Fn() -> Result<()>,
}

/// Identity and change time of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectoryStamp {
    seconds: i64,
    nanoseconds: i64,
    device: u64,
    inode: u64,
}

/// Opens the root directory of an index.
pub(super) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory for listing.
pub(super) fn open(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

/// Whether a path beneath a directory leads to something beneath it, links included.
pub(super) fn leads_within(root: &OwnedFd, directory: &Path, path: &Path) -> bool {
    let (Ok(opened), Ok(rest)) = (open(root, directory), path.strip_prefix(directory)) else { return false };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(&opened, rest, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).is_ok()
}

/// Opens a directory. Fails with `EACCES` also if it may be listed but not searched: then its entries cannot be looked at.
pub(super) fn enter(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let directory = open(root, path)?;
    rustix::fs::statat(&directory, ".", AtFlags::empty())?;
    Ok(directory)
}

/// The type of the file at a path; `None` if there is none.
pub(super) fn kind(root: &OwnedFd, path: &Path) -> Option<FileType> {
    let parent = path.parent()?;
    let directory = open(root, parent).ok()?;
    kind_of(directory.as_fd(), path.file_name()?)
}

fn kind_of(directory: BorrowedFd<'_>, name: &OsStr) -> Option<FileType> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Names and types of a directory's entries.
pub(super) fn entries(directory: OwnedFd) -> Result<Vec<(OsString, FileType)>, Errno> {
    let mut directory = Dir::new(directory)?;
    let mut found = Vec::new();
    while let Some(entry) = directory.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        // Some file systems do not report the type in a listing.
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

/// Whether a directory may have directories in it, or be a repository that has none. `known` is its stamp when it was
/// neither.
pub(super) fn may_have_directories(
    root: &OwnedFd,
    path: &Path,
    known: Option<&DirectoryStamp>,
) -> (bool, Option<DirectoryStamp>) {
    let Ok(stat) = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW) else { return (false, None) };
    let stamp = of_stat(&stat);
    let has = match stat.st_nlink {
        // Some file systems do not count directories.
        0..=2 if known == Some(&stamp) && !stamp.may_change_unseen() => false,
        0 | 1 => open(root, path).and_then(entries).is_ok_and(|entries| {
            entries.iter().any(|(name, kind)| *kind == FileType::Directory || name == HEAD)
        }),
        2 => exists(root, &path.join(HEAD)),
        _ => true,
    };
    (has, Some(stamp))
}

/// The stamp of the directory at a path, links followed.
pub(super) fn stamp_of(path: &Path) -> Result<DirectoryStamp, Errno> {
    rustix::fs::stat(path).map(|stat| of_stat(&stat))
}

/// The stamp of an open directory.
pub(super) fn stamp(directory: impl AsFd) -> Result<DirectoryStamp, Errno> {
    rustix::fs::fstat(directory).map(|stat| of_stat(&stat))
}

/// The stamp of the directory at a path beneath the root.
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

    pub(super) fn is_on_device_of(&self, other: &Self) -> bool {
        self.device == other.device
    }

    /// Whether the directory may change again without a new timestamp, given their granularity.
    pub(super) fn may_change_unseen(&self) -> bool {
        let changed =
            u64::try_from(self.seconds).ok().map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        changed.is_none_or(|changed| {
            changed.elapsed().is_ok_and(|age| age < STEP) || changed > SystemTime::now()
        })
    }
}
