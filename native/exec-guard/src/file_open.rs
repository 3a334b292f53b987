//! A file that a process opens to write in the way of a shell's redirection.

use super::listener::Notification;
use super::memory::ProcessMemory;
use super::resolver::{MAX_LINKS, is_of_proc, open_for_all};
use super::task;
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Whether a notification is about an opened file, and not about a start.
pub(super) fn is_open(report: &Notification) -> bool {
    path_of(report).is_some()
}

/// The path that a process opens, as it gave it. `None` if the path stands for a descriptor of the process that is
/// already open for writing: that file was decided when it was opened.
///
/// # Errors
/// As for [`ProcessMemory::path`].
pub(super) fn opened(report: &Notification) -> Result<Option<OsString>, Errno> {
    let address = path_of(report).ok_or(Errno::NOSYS)?;
    let path = OsString::from_vec(ProcessMemory(report.thread).path(address)?);
    let Some(descriptor) = path.to_str().and_then(descriptor) else { return Ok(Some(path)) };
    match task::access(report.thread, descriptor) {
        Some(access) if access != OFlags::RDONLY => Ok(None),
        // The path does not name the file behind a descriptor that is open for reading only.
        _ => Ok(Some(task::link(report.thread, descriptor).unwrap_or(path))),
    }
}

/// The file that a path leads to, by its path in the sandbox without links; `None` if it is in no directory there, and
/// if it leads through a process's own files in `/proc`: they are another's here.
///
/// # Errors
/// `ENOENT` and `ENOTDIR`, if there is no such directory: the open would fail anyway.
pub(super) fn file(report: &Notification, root: &OwnedFd, path: &OsStr) -> Result<Option<PathBuf>, Errno> {
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    let Some(directory) = task::directory(report.thread) else { return Ok(None) };
    let mut path = directory.join(path);
    for _ in 0..=MAX_LINKS {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let Some(above) = open_directory(root, above)? else { return Ok(None) };
        let Some(real) = place(&above) else { return Ok(None) };
        match rustix::fs::readlinkat(&above, name, Vec::new()) {
            Ok(target) => path = real.join(OsStr::from_bytes(target.as_bytes())),
            Err(Errno::NOTDIR) => return Err(Errno::NOTDIR),
            Err(_) => return Ok(Some(real.join(name))),
        }
    }
    Ok(None)
}

/// Opens a directory; `None` for one that another process would see elsewhere.
fn open_directory(root: &OwnedFd, path: &Path) -> Result<Option<OwnedFd>, Errno> {
    match open_for_all(root, path) {
        Ok(found) => Ok(Some(found).filter(|found| !is_of_proc(found))),
        Err(Errno::NOTDIR) => Err(Errno::NOTDIR),
        Err(Errno::NOENT) if is_missing(root, path) => Err(Errno::NOENT),
        Err(_) => Ok(None),
    }
}

/// Whether a name on a path is certainly missing. Behind a link that leads nowhere here, there may be a process's own files.
fn is_missing(root: &OwnedFd, path: &Path) -> bool {
    let missing = |path: &Path| {
        let above = open_for_all(root, path.parent()?).ok()?;
        let found = rustix::fs::statat(&above, path.file_name()?, AtFlags::SYMLINK_NOFOLLOW);
        Some(!is_of_proc(&above) && found.is_err_and(|errno| errno == Errno::NOENT))
    };
    path.ancestors().find_map(missing).unwrap_or(false)
}

/// Where an open directory is.
fn place(directory: &OwnedFd) -> Option<PathBuf> {
    let real = rustix::fs::readlink(format!("/proc/self/fd/{}", directory.as_raw_fd()), Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(real.into_bytes())))
}

/// Where the path of an open call is in memory.
fn path_of(report: &Notification) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    if report.call == libc::SYS_open {
        return Some(report.arguments[0]);
    }
    (report.call == libc::SYS_openat).then_some(report.arguments[1])
}

/// The descriptor that a path stands for.
fn descriptor(path: &str) -> Option<u32> {
    match path {
        "/dev/stdin" => Some(0),
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        path => path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_have_several_paths() {
        for (path, expected) in [
            ("/dev/stderr", Some(2)),
            ("/dev/fd/63", Some(63)),
            ("/proc/self/fd/0", Some(0)),
            ("/dev/fd/3/x", None),
            ("/dev/null", None),
            ("dev/fd/3", None),
        ] {
            assert_eq!(descriptor(path), expected, "{path}");
        }
    }
}
