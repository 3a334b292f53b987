//! The path of an open handle.
//!
//! Linux reports it in `/proc/self/fd` (proc(5)): the current path of the handle, however it was opened. Both anchor
//! and handle are looked up, so it does not matter if the workspace has been moved.

use super::resolve::BaseDir;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The path of an open handle beneath the anchor; `.` for the anchor itself.
///
/// # Errors
/// `NOTSUP` if the system has no such lookup, `STALE` for a removed file, `XDEV` for a file that is not beneath the
/// anchor.
pub(super) fn of(anchor: &BaseDir<'_>, handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    imp::of(anchor, handle)
}

/// The absolute path of `inside`, a path beneath the anchor, without a trailing slash; `None` if the system cannot
/// report the paths of handles.
///
/// # Errors
/// Those of the operating system.
pub(super) fn absolute(anchor: &BaseDir<'_>, inside: &Path) -> Result<Option<Vec<u8>>, Errno> {
    let top = match imp::absolute(anchor.dir) {
        Err(Errno::NOTSUP) => return Ok(None),
        top => top?,
    };
    let top = top.strip_suffix(b"/").unwrap_or(&top);
    Ok(Some(match inside.as_os_str().as_bytes() {
        b"" | b"." => top.to_vec(),
        inside => [top, b"/", inside].concat(),
    }))
}

/// Checks that an open handle is at a path beneath a directory, if the system can report that.
///
/// # Errors
/// `STALE` if it is elsewhere, and those of the operating system.
pub fn expect_at(top: BorrowedFd<'_>, below: &[u8], handle: BorrowedFd<'_>) -> Result<(), Errno> {
    let anchor = BaseDir { dir: top, path: Path::new(""), alias: Path::new("") };
    absolute(&anchor, Path::new(OsStr::from_bytes(below)))?.map_or(Ok(()), |path| expect(&path, handle))
}

/// Checks that an open handle is at this absolute path, if the system can report that.
///
/// # Errors
/// `STALE` if it is elsewhere.
pub(super) fn expect(path: &[u8], handle: BorrowedFd<'_>) -> Result<(), Errno> {
    match imp::absolute(handle) {
        Ok(real) if real == path || path.is_empty() && real == b"/" => Ok(()),
        Ok(_) => Err(Errno::STALE),
        Err(Errno::NOTSUP) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use super::super::names::OWN_FILES;
    use super::super::resolve::{BaseDir, open_unlinked};
    use rustix::fs::{OFlags, fstat};
    use rustix::io::Errno;
    use std::ffi::OsString;
    use std::os::fd::{AsRawFd, BorrowedFd};
    use std::os::unix::ffi::OsStringExt;
    use std::path::{Path, PathBuf};

    /// Suffix in `/proc/self/fd` of a handle whose file was removed.
    const DELETED: &[u8] = b" (deleted)";
    /// Attempts while the anchor is being renamed.
    const TRIES: usize = 16;

    pub(super) fn of(anchor: &BaseDir<'_>, handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
        for _ in 0..TRIES {
            let (top, path) = (absolute(anchor.dir)?, absolute(handle)?);
            let is_marked = path.ends_with(DELETED);
            let (top, path) = (into_path(top), into_path(path));
            let Ok(inside) = path.strip_prefix(&top) else { continue };
            if is_marked && !is_at(anchor, handle, inside) {
                return Err(Errno::STALE);
            }
            return Ok(if inside.as_os_str().is_empty() { PathBuf::from(".") } else { inside.to_owned() });
        }
        Err(Errno::XDEV)
    }

    pub(super) fn absolute(handle: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
        let own = format!("{OWN_FILES}/{}", handle.as_raw_fd());
        match rustix::fs::readlink(own, Vec::with_capacity(256)) {
            Ok(path) => Ok(path.into_bytes()),
            // No procfs, or that of another PID namespace.
            Err(Errno::NOENT) => Err(Errno::NOTSUP),
            Err(error) => Err(error),
        }
    }

    fn into_path(bytes: Vec<u8>) -> PathBuf {
        OsString::from_vec(bytes).into()
    }

    /// Distinguishes a file whose name ends in the suffix from a removed one.
    fn is_at(anchor: &BaseDir<'_>, handle: BorrowedFd<'_>, path: &Path) -> bool {
        let there = open_unlinked(anchor.dir, path, OFlags::PATH | OFlags::NOFOLLOW).and_then(fstat);
        let identity = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        matches!((there, fstat(handle)), (Ok(there), Ok(own)) if identity(there) == identity(own))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::BaseDir;
    use rustix::io::Errno;
    use std::os::fd::BorrowedFd;
    use std::path::PathBuf;

    pub(super) fn of(_: &BaseDir<'_>, _: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
        Err(Errno::NOTSUP)
    }

    pub(super) fn absolute(_: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
        Err(Errno::NOTSUP)
    }
}
