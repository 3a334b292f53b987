//! Atomic replacement of a file: it has all of the new bytes or all of the old ones at any moment.
//!
//! The new content goes into a nameless file in the same directory and is renamed to the target. Mode and owner are
//! kept. A symbolic link stays, and its target is replaced. A concurrent change by another program is detected, up to
//! the moment of the replacement, and is kept. The data is not fsynced: a crash of the process loses nothing, a power
//! loss may.

use super::draft::{AttributeSource, Draft};
use super::journal::{FileIdentity, JournalStep, Record};
use super::{WorkspacePath, names, resolve};
use beamai_base::{Reason, Result, ToolError};
use rustix::fs::{Access, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// Number of attempts, and the pause between them, for a lock that another process holds.
const LOCK_TRIES: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_micros(500);

/// What must be at the target when it is replaced.
#[derive(Debug, Clone, Copy)]
pub enum Expected<'a> {
    /// The file that was read; see [`WorkspacePath::open_file`].
    Unchanged(&'a Stat),
    /// Nothing.
    Absent,
    /// Anything or nothing.
    Anything,
}

impl WorkspacePath {
    /// Begins a replacement of the file. Missing parent directories are created on commit.
    ///
    /// # Errors
    /// `is_a_directory`, `not_a_file`, `outside_workspace`, `access_denied` (for a read-only file too) or `io`.
    pub fn replace(&self) -> Result<Replacement<'_>> {
        let failed = |error| self.error("write", error);
        let (target, existing) = self.begin()?;
        let anchor = self.root.anchor();
        let parent = target.parent(&anchor);
        let like = existing.as_ref().map(|stat| AttributeSource { parent, name: &target.name, stat });
        let draft = Draft::create(parent, like).map_err(failed)?;
        Ok(Replacement { path: self, target, existing, draft, state: ReplacementState::Drafted })
    }

    /// As [`WorkspacePath::replace`], with the mode, owner and other attributes of another file, which must exist.
    ///
    /// # Errors
    /// As there, and `no_such_file` about the other.
    pub fn replace_like(&self, other: &Self) -> Result<Replacement<'_>> {
        let failed = |error| other.error("read", error);
        let source = other.walk(resolve::MissingDirs::Refuse).map_err(failed)?;
        let anchor = other.root.anchor();
        let parent = source.parent(&anchor);
        let stat = look(parent, &source.name).and_then(|stat| stat.ok_or(Errno::NOENT)).map_err(failed)?;
        let like = AttributeSource { parent, name: &source.name, stat: &stat };
        let (target, existing) = self.begin()?;
        let own = self.root.anchor();
        let draft =
            Draft::create(target.parent(&own), Some(like)).map_err(|error| self.error("write", error))?;
        Ok(Replacement { path: self, target, existing, draft, state: ReplacementState::Drafted })
    }

    /// Resolves the target, and reads the metadata of the existing file.
    fn begin(&self) -> Result<(resolve::ResolvedTarget, Option<Stat>)> {
        self.refuse_directory_name()?;
        let failed = |error| self.error("write", error);
        let target = self.walk(resolve::MissingDirs::Imagine).map_err(failed)?;
        self.check_target(&target)?;
        if target.missing() > 0 {
            return Ok((target, None));
        }
        let anchor = self.root.anchor();
        let parent = target.parent(&anchor);
        let existing = look(parent, &target.name).map_err(failed)?;
        if let Some(stat) = &existing {
            self.refuse_other(FileType::from_raw_mode(stat.st_mode))?;
            // A rename checks the directory's permissions only; a read-only file is not replaced either.
            rustix::fs::accessat(parent, &target.name, Access::WRITE_OK, AtFlags::empty()).map_err(failed)?;
        }
        Ok((target, existing))
    }

    /// Opens the file for appending, and creates it and its parent directories if they are missing. Also returns the
    /// previous metadata, `None` if the file was created.
    ///
    /// # Errors
    /// As [`WorkspacePath::replace`].
    pub fn append(&self) -> Result<(File, Option<Stat>)> {
        self.refuse_directory_name()?;
        let failed = |error| self.error("write", error);
        let mut target = self.walk(resolve::MissingDirs::Imagine).map_err(failed)?;
        self.make_missing(&mut target)?;
        let anchor = self.root.anchor();
        let (fd, is_new) = match open_or_make(target.parent(&anchor), &target.name) {
            // A device or socket without a peer.
            Err(Errno::NXIO) => return Err(self.not_a_file(self.kind_of(&target))),
            other => other.map_err(failed)?,
        };
        let stat = rustix::fs::fstat(&fd).map_err(failed)?;
        self.refuse_other(FileType::from_raw_mode(stat.st_mode))?;
        target.made.keep();
        Ok((File::from(fd), (!is_new).then_some(stat)))
    }

    /// Creates a file that only this user may read, and opens it for writing.
    ///
    /// # Errors
    /// `already_exists`, `no_such_file` for a missing directory, or other errors of the operating system.
    pub fn create_private(&self) -> Result<File> {
        let failed = |error| self.error("make the file", error);
        let target = self.walk(resolve::MissingDirs::Refuse).map_err(failed)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        match rustix::fs::openat(target.parent(&self.root.anchor()), &target.name, flags, mode) {
            Err(Errno::EXIST) => {
                let message = format!("{} already exists; choose another name", self.display());
                Err(ToolError::new(Reason::AlreadyExists, message).file(self.display()))
            }
            made => Ok(File::from(made.map_err(failed)?)),
        }
    }

    fn kind_of(&self, target: &resolve::ResolvedTarget) -> FileType {
        let stat = look(target.parent(&self.root.anchor()), &target.name).ok().flatten();
        stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
    }

    fn refuse_other(&self, kind: FileType) -> Result<()> {
        if kind == FileType::RegularFile { Ok(()) } else { Err(self.not_a_file(kind)) }
    }

    fn refuse_directory_name(&self) -> Result<()> {
        let name = self.relative.as_os_str().as_encoded_bytes();
        if name.ends_with(b"/") || name.ends_with(b"/.") {
            return Err(self.not_a_file(FileType::Directory));
        }
        Ok(())
    }
}

/// Metadata of `name`, links not followed.
pub(super) fn look(parent: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the file for appending; also returns whether it was created.
fn open_or_make(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(OwnedFd, bool), Errno> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC;
    loop {
        match rustix::fs::openat(parent, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            other => return Ok((other?, false)),
        }
        let make = flags | OFlags::CREATE | OFlags::EXCL;
        match rustix::fs::openat(parent, name, make, Mode::from_raw_mode(0o666)) {
            // Another process has created it meanwhile.
            Err(Errno::EXIST) => {}
            other => return Ok((other?, true)),
        }
    }
}

/// A replacement in progress. Dropped without [`Replacement::commit`], it leaves the target unchanged.
#[derive(Debug)]
pub struct Replacement<'p> {
    path: &'p WorkspacePath,
    target: resolve::ResolvedTarget,
    existing: Option<Stat>,
    draft: Draft,
    state: ReplacementState,
}

/// The stage of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplacementState {
    /// The target is unchanged.
    Drafted,
    /// The new content is at the target, where nothing was before.
    Placed,
    /// The new content is at the target; the old file has the draft's temporary name.
    Exchanged,
    /// The new content is at the target; the old file is gone.
    Overwritten,
}

impl Replacement<'_> {
    /// The file to write the new content to.
    pub fn file(&mut self) -> &mut File {
        &mut self.draft.file
    }

    /// The content written so far, for positioned reads.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn reader(&self) -> Result<File> {
        self.draft.file.try_clone().map_err(|error| ToolError::io("read", self.path.display(), error))
    }

    /// Metadata of the file at the target, `None` if there was none.
    pub fn existing(&self) -> Option<&Stat> {
        self.existing.as_ref()
    }

    /// Whether the old content stays reachable through another hard link.
    pub fn breaks_link(&self) -> bool {
        self.existing.as_ref().is_some_and(|stat| stat.st_nlink > 1)
    }

    /// Replaces the target by the new content.
    ///
    /// # Errors
    /// `stale` when the target is not as expected; the I/O reasons from the operating system. The target is unchanged
    /// then.
    pub fn commit(mut self, expected: Expected<'_>) -> Result<()> {
        self.apply(expected)?;
        self.make_permanent();
        Ok(())
    }

    /// Replaces the target; the old file is kept until the replacement is dropped.
    pub(super) fn apply(&mut self, expected: Expected<'_>) -> Result<()> {
        match expected {
            Expected::Unchanged(_) => self.path.check_target(&self.target)?,
            Expected::Absent | Expected::Anything => self.path.make_missing(&mut self.target)?,
        }
        self.state = match expected {
            Expected::Unchanged(_) if self.target.missing() > 0 => return Err(self.stale()),
            Expected::Unchanged(read) => self.swap(read)?,
            Expected::Absent if self.existing.is_some() || !self.place_anew()? => return Err(self.stale()),
            Expected::Anything if self.existing.is_some() || !self.place_anew()? => self.overwrite()?,
            Expected::Absent | Expected::Anything => ReplacementState::Placed,
        };
        Ok(())
    }

    /// Makes the change permanent: directories created for it are kept.
    pub(super) fn make_permanent(&mut self) {
        self.target.made.keep();
    }

    /// Whether parent directories are created for it.
    pub(super) fn makes_directories(&self) -> bool {
        self.target.missing() > 0
    }

    /// Adds the step for the file that was read to a journal.
    pub(super) fn note(&self, read: Option<&Stat>, record: &mut Record) -> Result<()> {
        let draft = rustix::fs::fstat(&self.draft.file).map_err(|error| self.path.error("look at", error))?;
        let step = JournalStep::Replace {
            at: record.journal_path(&self.path.root, &self.target.resolved),
            missing: self.target.missing(),
            draft: FileIdentity::of(&draft),
            old: read.map(FileIdentity::of),
            names: self.draft.names.clone(),
        };
        record.add(step);
        Ok(())
    }

    /// Undoes [`Replacement::apply`], unless somebody has changed the file since.
    pub(super) fn roll_back(&mut self) -> Result<()> {
        if self.state == ReplacementState::Drafted {
            return Ok(());
        }
        let anchor = self.path.root.anchor();
        let (parent, name) = (self.target.parent(&anchor), &self.target.name);
        let failed = |error| self.path.error("put back", error);
        let own = rustix::fs::fstat(&self.draft.file).map_err(failed)?;
        let is_own = look(parent, name).map_err(failed)?.is_some_and(|now| same_content(&now, &own));
        match self.state {
            _ if !is_own => return Err(self.stale()),
            ReplacementState::Drafted => {}
            ReplacementState::Placed => names::unlink((parent, name)).map_err(failed)?,
            ReplacementState::Exchanged => self.draft.restore(parent, name).map_err(failed)?,
            ReplacementState::Overwritten => return Err(failed(Errno::NOTSUP)),
        }
        self.state = ReplacementState::Drafted;
        Ok(())
    }

    /// Renames the draft to the target if nothing is there; false otherwise.
    fn place_anew(&mut self) -> Result<bool> {
        let anchor = self.path.root.anchor();
        match self.draft.place_anew(self.target.parent(&anchor), &self.target.name) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(self.path.error("write", error)),
        }
    }

    fn overwrite(&mut self) -> Result<ReplacementState> {
        let anchor = self.path.root.anchor();
        let parent = self.target.parent(&anchor);
        let done = self.draft.rename_over(parent, &self.target.name);
        done.map_err(|error| self.path.error("write", error))?;
        Ok(ReplacementState::Overwritten)
    }

    /// Exchanges draft and target and checks the file that came out, so that no concurrent change is lost between a
    /// check and a rename.
    fn swap(&mut self, read: &Stat) -> Result<ReplacementState> {
        let anchor = self.path.root.anchor();
        let parent = self.target.parent(&anchor);
        let failed = |error| self.path.error("write", error);
        let _lock = lock_at(parent, &self.target.name);
        if !look(parent, &self.target.name).map_err(failed)?.is_some_and(|now| same_version(&now, read)) {
            return Err(self.stale());
        }
        let named = self.draft.name_in(parent).map_err(failed)?;
        let spots = ((parent, OsStr::new(named)), (parent, self.target.name.as_os_str()));
        match names::exchange(spots.0, spots.1) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.stale()),
            // Not every file system can exchange names.
            Err(error) if names::is_unknown(error) => {
                self.draft.set_aside_and_replace(parent, &self.target.name).map_err(failed)?;
                return Ok(ReplacementState::Exchanged);
            }
            Err(error) => return Err(failed(error)),
        }
        if look(parent, spots.0.1).map_err(failed)?.is_some_and(|old| same_content(&old, read)) {
            return Ok(ReplacementState::Exchanged);
        }
        names::exchange(spots.0, spots.1).map_err(failed)?;
        Err(self.stale())
    }

    fn stale(&self) -> ToolError {
        self.path.stale()
    }
}

impl WorkspacePath {
    /// The error about a file that is not the one that was read.
    pub fn stale(&self) -> ToolError {
        let shown = self.display();
        ToolError::new(
            Reason::Stale,
            format!("{shown} was changed by another program meanwhile; read it again and repeat the change"),
        )
        .file(shown)
    }
}

/// Locks the file during its replacement against other processes that do the same: of two that read one version, the
/// second finds another file. Locks that a program holds for its own purposes are not waited for, and some file systems
/// have no locks; then only the check afterwards detects a change.
pub(super) fn lock_at(parent: BorrowedFd<'_>, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::empty()).ok()?;
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
            _ => break,
        }
    }
    Some(file)
}

/// Whether two stats show the same file with the same content, as far as the file system reports it.
pub(super) fn same_version(a: &Stat, b: &Stat) -> bool {
    same_content(a, b) && (a.st_ctime, a.st_ctime_nsec) == (b.st_ctime, b.st_ctime_nsec)
}

/// The same without the ctime, which a rename changes.
pub(super) fn same_content(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino, a.st_size) == (b.st_dev, b.st_ino, b.st_size)
        && (a.st_mtime, a.st_mtime_nsec) == (b.st_mtime, b.st_mtime_nsec)
}
