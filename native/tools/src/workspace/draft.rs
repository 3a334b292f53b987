//! New content on its way to a place.

use super::attributes;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// New content that has no place yet.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) file: File,
    /// Its temporary name, once it has one, and the directory of it; removed with the draft.
    name: Option<(OwnedFd, String)>,
}

impl Draft {
    pub(super) fn create(parent: BorrowedFd<'_>, name: &OsStr, like: Option<&Stat>) -> Result<Self, Errno> {
        // Without a model, the mode is what any program's new file gets: 0666 less the umask.
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let draft = match nameless(parent, mode) {
            Some(fd) => Self { file: File::from(fd), name: None },
            None => Self::named(parent, mode)?,
        };
        if let Some(stat) = like {
            attributes::copy(parent, name, stat, &draft.file)?;
        }
        Ok(draft)
    }

    fn named(parent: BorrowedFd<'_>, mode: Mode) -> Result<Self, Errno> {
        let name = fresh_name();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(parent, &name, flags, mode)?;
        Ok(Self { file: File::from(fd), name: Some((rustix::io::fcntl_dupfd_cloexec(parent, 3)?, name)) })
    }

    /// Gives the draft a name beside the target, if it has none.
    pub(super) fn name_in(&mut self, parent: BorrowedFd<'_>) -> Result<&str, Errno> {
        if self.name.is_none() {
            let name = fresh_name();
            let holder = rustix::io::fcntl_dupfd_cloexec(parent, 3)?;
            self.link(parent, OsStr::new(&name))?;
            self.name = Some((holder, name));
        }
        Ok(self.name.as_ref().map_or("", |(_, name)| name))
    }

    /// Takes a place where nothing stands; `EXIST` when something does.
    pub(super) fn place_anew(&mut self, parent: BorrowedFd<'_>, target: &OsStr) -> Result<(), Errno> {
        let Some((_, name)) = &self.name else { return self.link(parent, target) };
        match rustix::fs::renameat_with(parent, name, parent, target, RenameFlags::NOREPLACE) {
            // Not every file system knows the flag; a link does the same, and the temporary name goes later.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(parent, name, parent, target, AtFlags::empty())
            }
            Ok(()) => {
                self.name = None;
                Ok(())
            }
            other => other,
        }
    }

    /// Takes the place of whatever stands there.
    pub(super) fn rename_over(&mut self, parent: BorrowedFd<'_>, target: &OsStr) -> Result<(), Errno> {
        let name = self.name_in(parent)?;
        rustix::fs::renameat(parent, name, parent, target)?;
        self.name = None;
        Ok(())
    }

    fn link(&self, parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let own = format!("{OWN_FILES}/{}", self.file.as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, &own, parent, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some((parent, name)) = &self.name {
            _ = rustix::fs::unlinkat(parent.as_fd(), name, AtFlags::empty());
        }
    }
}

/// Where Linux shows a process its own open files, by which a nameless one gets a name.
const OWN_FILES: &str = "/proc/self/fd";

#[cfg(target_os = "linux")]
fn nameless(parent: BorrowedFd<'_>, mode: Mode) -> Option<OwnedFd> {
    static CAN_BE_NAMED: LazyLock<bool> = LazyLock::new(|| rustix::fs::stat(OWN_FILES).is_ok());
    if !*CAN_BE_NAMED {
        return None;
    }
    // An O_PATH handle cannot be the start of O_TMPFILE's own lookup of "."; naming "." beneath it can.
    rustix::fs::openat(parent, ".", OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, mode).ok()
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: BorrowedFd<'_>, _: Mode) -> Option<OwnedFd> {
    None
}

/// A name that no other file in the directory has.
fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!(".beamai-{random:016x}-{}.tmp", COUNT.fetch_add(1, Ordering::Relaxed))
}
