//! Atomic replacement of a file: all of the new bytes or all of the old ones, whatever happens between.
//!
//! The new content goes into a nameless file in the same directory, gets a name there, and is renamed over the
//! target. Mode and owner are kept, and so is a link that led to the file: its target is what is replaced.
//! The data is not forced to disk: a crash of the process loses nothing, a loss of power may.

use super::{Place, resolve};
use crate::error::{Reason, Result, ToolError};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hasher};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What must stand at the target when it is replaced.
#[derive(Debug, Clone, Copy)]
pub enum Expected<'a> {
    /// The very file that was read; see [`Place::open_file`].
    Unchanged(&'a Stat),
    /// Whatever is there, or nothing.
    Anything,
}

/// Locks that keep two replacements of one file by this process apart, by hash of the target.
static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// The exclusive right, within this process, to replace one file.
pub struct WriteGuard(#[allow(dead_code, reason = "held for its drop")] MutexGuard<'static, ()>);

impl std::fmt::Debug for WriteGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteGuard")
    }
}

impl Place {
    /// Waits for the right to replace the file; hold it from reading to [`Replacement::commit`].
    pub fn lock(&self) -> WriteGuard {
        let key = self.resolved().unwrap_or_else(|_| self.display());
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let hash = hasher.hash_one((self.root.device, self.root.inode, key));
        let lock = &LOCKS[usize::try_from(hash % 64).unwrap_or(0)];
        WriteGuard(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins a replacement of the file; missing directories on the way are made.
    ///
    /// # Errors
    /// `is_a_directory`, `not_a_file`, `outside_workspace`, `access_denied` or `io`.
    pub fn replace(&self) -> Result<Replacement<'_>> {
        let target = self.walk(resolve::Missing::Create).map_err(|error| self.error("write", error))?;
        let anchor = self.root.anchor();
        let existing =
            match rustix::fs::statat(target.parent(&anchor), &target.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile => Some(stat),
                    other => return Err(self.not_a_file(other)),
                },
                Err(Errno::NOENT) => None,
                Err(error) => return Err(self.error("write", error)),
            };
        let draft = Draft::create(target.parent(&anchor), existing.as_ref())
            .map_err(|error| self.error("write", error))?;
        Ok(Replacement { place: self, target, existing, draft })
    }

    /// Opens the file for appending, making it and the directories on the way where they are missing.
    ///
    /// # Errors
    /// As [`Place::replace`].
    pub fn append(&self) -> Result<(File, Option<Stat>)> {
        let target = self.walk(resolve::Missing::Create).map_err(|error| self.error("write", error))?;
        let anchor = self.root.anchor();
        let parent = target.parent(&anchor);
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        let (fd, is_new) = match rustix::fs::openat(parent, &target.name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                let mode = Mode::from_raw_mode(0o666);
                let made = rustix::fs::openat(parent, &target.name, flags | OFlags::CREATE, mode);
                (made.map_err(|error| self.error("write", error))?, true)
            }
            Err(Errno::NXIO) => return Err(self.not_a_file(FileType::Fifo)),
            other => (other.map_err(|error| self.error("write", error))?, false),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| self.error("look at", error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((File::from(fd), (!is_new).then_some(stat))),
            other => Err(self.not_a_file(other)),
        }
    }
}

/// A replacement under way. Dropped without [`Replacement::commit`], it leaves the target as it was.
#[derive(Debug)]
pub struct Replacement<'p> {
    place: &'p Place,
    target: resolve::Target,
    existing: Option<Stat>,
    draft: Draft,
}

impl Replacement<'_> {
    /// Where the new content is written.
    pub fn file(&mut self) -> &mut File {
        &mut self.draft.file
    }

    /// What stands at the target now, or `None`.
    pub fn existing(&self) -> Option<&Stat> {
        self.existing.as_ref()
    }

    /// Whether another name of the old file will keep the old content.
    pub fn breaks_link(&self) -> bool {
        self.existing.as_ref().is_some_and(|stat| stat.st_nlink > 1)
    }

    /// Puts the new content in the target's place.
    ///
    /// # Errors
    /// `stale` when the target is not what was expected; `io` and the like from the operating system.
    pub fn commit(self, expected: Expected<'_>) -> Result<()> {
        let anchor = self.place.root.anchor();
        let parent = self.target.parent(&anchor);
        self.check(parent, expected)?;
        let named = self.draft.name_in(parent).map_err(|error| self.place.error("write", error))?;
        match rustix::fs::renameat(parent, &named, parent, &self.target.name) {
            Ok(()) => Ok(()),
            Err(error) => {
                _ = rustix::fs::unlinkat(parent, &named, AtFlags::empty());
                Err(self.place.error("write", error))
            }
        }
    }

    fn check(&self, parent: BorrowedFd<'_>, expected: Expected<'_>) -> Result<()> {
        let Expected::Unchanged(read) = expected else { return Ok(()) };
        let now = rustix::fs::statat(parent, &self.target.name, AtFlags::SYMLINK_NOFOLLOW);
        if now.is_ok_and(|now| same_version(&now, read)) {
            return Ok(());
        }
        let shown = self.place.display();
        Err(ToolError::new(
            Reason::Stale,
            format!("{shown} changed while it was edited; read it again and repeat the edit"),
        )
        .file(shown))
    }
}

/// Whether two looks at a file saw the same file with the same content, as far as the file system tells.
fn same_version(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino, a.st_size) == (b.st_dev, b.st_ino, b.st_size)
        && (a.st_mtime, a.st_mtime_nsec, a.st_ctime, a.st_ctime_nsec)
            == (b.st_mtime, b.st_mtime_nsec, b.st_ctime, b.st_ctime_nsec)
}

/// New content that has no place yet.
#[derive(Debug)]
struct Draft {
    file: File,
    /// Its name where the file system has no nameless files; removed when the draft is dropped unused.
    name: Option<(OwnedFd, String)>,
}

impl Draft {
    fn create(parent: BorrowedFd<'_>, like: Option<&Stat>) -> Result<Self, Errno> {
        // Without a model, the mode is what any program's new file gets: 0666 less the umask.
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let draft = match nameless(parent, mode) {
            Some(fd) => Self { file: File::from(fd), name: None },
            None => Self::named(parent, mode)?,
        };
        if let Some(stat) = like {
            // A change of owner may be refused; the content still is the caller's to write.
            let owner = (rustix::fs::Uid::from_raw(stat.st_uid), rustix::fs::Gid::from_raw(stat.st_gid));
            _ = rustix::fs::fchown(&draft.file, Some(owner.0), Some(owner.1));
            rustix::fs::fchmod(&draft.file, Mode::from_raw_mode(stat.st_mode))?;
        }
        Ok(draft)
    }

    fn named(parent: BorrowedFd<'_>, mode: Mode) -> Result<Self, Errno> {
        let name = fresh_name();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(parent, &name, flags, mode)?;
        Ok(Self { file: File::from(fd), name: Some((rustix::io::fcntl_dupfd_cloexec(parent, 3)?, name)) })
    }

    /// Gives the draft a name beside the target, and hands the duty to remove it to the caller.
    fn name_in(mut self, parent: BorrowedFd<'_>) -> Result<String, Errno> {
        if let Some((_, name)) = self.name.take() {
            return Ok(name);
        }
        let name = fresh_name();
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, &own, parent, &name, AtFlags::SYMLINK_FOLLOW)?;
        Ok(name)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some((parent, name)) = &self.name {
            _ = rustix::fs::unlinkat(parent.as_fd(), name, AtFlags::empty());
        }
    }
}

#[cfg(target_os = "linux")]
fn nameless(parent: BorrowedFd<'_>, mode: Mode) -> Option<OwnedFd> {
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
