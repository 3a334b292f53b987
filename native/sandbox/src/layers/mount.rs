//! Mounts as descriptors: copied from one path and attached at another.

use crate::SetupFailure;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// From the Linux kernel's `mount.h`.
pub(super) const READ_ONLY: u64 = 1;
/// From the Linux kernel's `mount.h`: no set-user-ID programs, no devices.
pub(super) const TAME: u64 = 2 | 4;
/// From the Linux kernel's `mount.h`: no execution, nor executable mappings.
pub(super) const NO_EXEC: u64 = 8;
/// From the Linux kernel's `mount.h`: no link is followed. Since Linux 5.14.
const NO_LINKS: u64 = 0x0020_0000;

/// A detached copy of the mounts at and below a path.
pub(super) struct MountCopy(OwnedFd);

/// Opens a path without following a link at its end.
pub(super) fn point(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

impl MountCopy {
    /// Copies the mounts of `fd`.
    pub(super) fn of(fd: BorrowedFd<'_>) -> Result<Self, Errno> {
        // Recursively: submounts may hide something that must not be uncovered.
        let recursive = OpenTreeFlags::from_bits_retain(libc::AT_RECURSIVE.cast_unsigned());
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let empty = OpenTreeFlags::AT_EMPTY_PATH;
        match rustix::mount::open_tree(fd, c"", flags | empty | recursive) {
            // A file has no submounts.
            Err(Errno::INVAL) => rustix::mount::open_tree(fd, c"", flags | empty).map(Self),
            copied => copied.map(Self),
        }
    }

    /// Sets attributes of the copy, recursively.
    pub(super) fn with(self, attributes: u64) -> Result<Self, Errno> {
        set(self.0.as_fd(), c"", attributes, libc::AT_RECURSIVE)?;
        Ok(self)
    }

    /// Has no link in the copy followed, where the Linux kernel can do that.
    pub(super) fn close_links(&self) -> Result<(), Errno> {
        match set(self.0.as_fd(), c"", NO_LINKS, libc::AT_RECURSIVE) {
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Attaches the copy at `target`.
    pub(super) fn attach(self, target: BorrowedFd<'_>) -> Result<(), Errno> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        rustix::mount::move_mount(&self.0, c"", target, c"", flags)
    }
}

/// Sets attributes of all mounts in this namespace.
pub(super) fn set_everywhere(attributes: u64) -> Result<(), Errno> {
    set(CWD, c"/", attributes, libc::AT_RECURSIVE)
}

/// Makes the mount at a path read-only, and those below stay as they are.
pub(super) fn set_read_only(path: &Path) -> Result<(), Errno> {
    set(point(path)?.as_fd(), c"", READ_ONLY, 0)
}

fn set(fd: BorrowedFd<'_>, path: &std::ffi::CStr, attributes: u64, depth: i32) -> Result<(), Errno> {
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = depth | libc::AT_EMPTY_PATH;
    // SAFETY: path and structure outlive the call, and its size is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// Mounts an empty tmpfs. `mode` is that of its root; `attributes` are added to [`TAME`].
pub(super) fn memory(target: &Path, mode: &str, bytes: Option<u64>, attributes: u64) -> Result<(), Errno> {
    let options = match bytes {
        Some(bytes) => format!("mode={mode},size={bytes}"),
        None => format!("mode={mode}"),
    };
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    flags.set(MountFlags::NOEXEC, attributes & NO_EXEC != 0);
    rustix::mount::mount("tmpfs", target, "tmpfs", flags, options.as_c_str())
}

/// Creates a mount point of the same type as `like` at `path`: the directories above it, and an empty directory or
/// file. Needed where a directory above has been covered.
pub(super) fn make_room(path: &Path, like: FileType) -> Result<(), Errno> {
    if point(path).is_ok() {
        return Ok(());
    }
    let to_errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    if like == FileType::Directory {
        return std::fs::create_dir_all(path).map_err(to_errno);
    }
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(to_errno)?;
    std::fs::File::create_new(path).map(drop).map_err(to_errno)
}

/// The file type of `fd`.
pub(super) fn kind(fd: BorrowedFd<'_>) -> Result<FileType, Errno> {
    let stat = rustix::fs::statat(fd, c"", AtFlags::EMPTY_PATH)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// The failure of a step on a path.
pub(super) fn failed<'p>(step: &'p str, path: &'p Path) -> impl Fn(Errno) -> SetupFailure + 'p {
    let shown = String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned();
    move |errno| SetupFailure::new(&format!("{step} {shown}"), errno)
}
