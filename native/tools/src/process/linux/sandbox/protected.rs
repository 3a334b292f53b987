//! Paths in what can be written that cannot be written all the same.

use super::git;
use super::mount::{Copy, READ_ONLY, TAME, failed, kind, point};
use super::placeholders::Placeholder;
use super::tree::cover;
use super::{Layer, Stage};
use crate::process::linux::message::Failure;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(super) struct Protected;

impl Layer for Protected {
    fn name(&self) -> &'static str {
        "protected_paths"
    }

    fn enter(&self, stage: &mut Stage<'_>) -> Result<(), Failure> {
        let confinement = stage.confinement;
        let roots = [&confinement.workspace].into_iter().chain(&confinement.writable);
        for root in roots.map(PathBuf::from).filter(|root| root.is_dir()) {
            let mut guard = Guard::new(root.clone(), stage).map_err(failed("open", &root))?;
            git::protect(&mut guard).map_err(failed("protect the git repositories in", &root))?;
        }
        for path in confinement.read_only.iter().map(PathBuf::from) {
            protect(&path, stage).map_err(failed("protect", &path))?;
        }
        Ok(())
    }
}

/// Makes a path read-only, or, where there is nothing, keeps it so.
fn protect(path: &Path, stage: &mut Stage<'_>) -> Result<(), Errno> {
    if stage.confinement.is_writable(path) {
        return Ok(());
    }
    match point(path) {
        Ok(fd) => Copy::of(fd.as_fd())?.with(READ_ONLY | TAME)?.attach(fd.as_fd()),
        Err(Errno::NOENT) => keep_absent(path, stage),
        // Something on the way is no directory; then there is nothing to be protected.
        Err(Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Puts an empty file, which cannot be written, where something could be created. In a directory that is not there
/// either, that directory is kept absent.
fn keep_absent(path: &Path, stage: &mut Stage<'_>) -> Result<(), Errno> {
    let mut path = path;
    while let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
        path = parent;
    }
    match std::fs::File::create_new(path) {
        Ok(_) => stage.placeholders.push(Placeholder { path: path.into(), is_made: true }),
        // What cannot be created here cannot be created by the command.
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::ROFS | Errno::ACCESS | Errno::PERM | Errno::NOTDIR) => return Ok(()),
            Some(Errno::EXIST) => {}
            errno => return Err(errno.unwrap_or(Errno::IO)),
        },
    }
    cover(path, FileType::RegularFile)
}

/// Mounts things over each other beneath one directory, following no links.
pub(super) struct Guard<'s, 'a> {
    root: PathBuf,
    fd: OwnedFd,
    stage: &'s mut Stage<'a>,
}

impl<'s, 'a> Guard<'s, 'a> {
    fn new(root: PathBuf, stage: &'s mut Stage<'a>) -> Result<Self, Errno> {
        let fd = point(&root.canonicalize().map_err(|_| Errno::NOENT)?)?;
        Ok(Self { root, fd, stage })
    }

    /// Names what lies at a path beneath the root, as it is seen through the mounts so far.
    pub(super) fn point(&self, relative: &Path) -> Result<OwnedFd, Errno> {
        self.open(relative, OFlags::PATH | OFlags::NOFOLLOW)
    }

    pub(super) fn open(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(&self.fd, relative, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    }

    /// What kind of file lies at a path; `None` where there is nothing.
    pub(super) fn kind(&self, relative: &Path) -> Option<FileType> {
        let Some(parent) = relative.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
            return kind_at(self.fd.as_fd(), relative);
        };
        kind_at(self.point(parent).ok()?.as_fd(), Path::new(relative.file_name()?))
    }

    /// Keeps something where it is: what is mounted can neither be removed nor renamed.
    pub(super) fn pin(&self, relative: &Path) -> Result<(), Errno> {
        let fd = self.point(relative)?;
        Copy::of(fd.as_fd())?.with(TAME)?.attach(fd.as_fd())
    }

    /// Makes something read-only, and with it keeps it where it is.
    pub(super) fn seal(&mut self, relative: &Path) -> Result<(), Errno> {
        let path = self.root.join(relative);
        if self.stage.confinement.is_writable(&path) {
            return Ok(());
        }
        let fd = self.point(relative)?;
        if is_empty(&path, kind(fd.as_fd())?) {
            self.stage.placeholders.push(Placeholder { path: path.into(), is_made: false });
        }
        Copy::of(fd.as_fd())?.with(READ_ONLY | TAME)?.attach(fd.as_fd())
    }

    /// Makes an empty file or directory and seals it.
    pub(super) fn seal_absent(&mut self, relative: &Path, kind: FileType) -> Result<(), Errno> {
        let path = self.root.join(relative);
        if self.stage.confinement.is_writable(&path) {
            return Ok(());
        }
        let parent = self.point(relative.parent().unwrap_or(Path::new("")))?;
        let name = relative.file_name().unwrap_or_default();
        let made = match kind {
            FileType::Directory => rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)),
            _ => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o644)).map(drop)
            }
        };
        match made {
            Ok(()) => self.stage.placeholders.push(Placeholder { path: path.into(), is_made: true }),
            Err(Errno::EXIST) => {}
            // What cannot be created here cannot be created by the command.
            Err(Errno::ROFS | Errno::ACCESS) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        let fd = self.point(relative)?;
        Copy::of(fd.as_fd())?.with(READ_ONLY | TAME)?.attach(fd.as_fd())
    }

    /// Has a file removed whenever a command has created it.
    pub(super) fn keep_absent(&mut self, directory: &Path, name: &'static str) -> Result<(), Errno> {
        let fd = self.open(directory, OFlags::RDONLY | OFlags::DIRECTORY)?;
        self.stage.intruders.forbid(fd, name);
        Ok(())
    }

    /// Has the reaper give way to another one once something is there.
    pub(super) fn expect(&mut self, relative: &Path) {
        self.stage.intruders.await_(self.root.join(relative));
    }
}

fn kind_at(directory: BorrowedFd<'_>, name: &Path) -> Option<FileType> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

fn is_empty(path: &Path, kind: FileType) -> bool {
    match kind {
        FileType::Directory => std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        _ => std::fs::metadata(path).is_ok_and(|found| found.len() == 0),
    }
}
