//! Who carries out the plan of mounts: the reaper itself, or a program that is told beforehand what to mount where.

use super::devices::Devices;
use super::mount::{MountCopy, READ_ONLY, TAME, make_room, memory, point, set_everywhere};
use super::nothing;
use super::script::{HostPath, MountScript};
use crate::SetupFailure;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Carries out what the layers plan.
pub(super) enum MountBackend {
    /// The reaper, at once, in a mount namespace in which it may mount.
    Own,
    /// Somebody else, later. What is planned is looked at where it lies on the machine.
    Script(MountScript),
}

/// A part of the machine's file system, taken to be shown.
pub(super) enum MountSource {
    Copy(MountCopy),
    Source(HostPath),
}

/// What of the machine is seen at a path.
pub(super) enum VisiblePath {
    /// What lies here on the machine.
    At(PathBuf),
    /// A place of the reaper's own, in memory.
    Memory,
    /// Nothing, and nothing can be made there.
    Nothing,
}

impl MountBackend {
    /// Takes what `fd` names, before everything becomes read-only.
    pub(super) fn take(&self, fd: BorrowedFd<'_>, attributes: u64) -> Result<MountSource, Errno> {
        match self {
            Self::Own => MountCopy::of(fd)?.with(attributes).map(MountSource::Copy),
            Self::Script(_) => HostPath::of(fd, attributes & READ_ONLY != 0).map(MountSource::Source),
        }
    }

    /// Makes everything read-only, and a `/dev` whose shared memory has room for `bytes`; `attributes` are of what can be
    /// written.
    pub(super) fn prepare(&self, bytes: u64, attributes: u64) -> Result<(), SetupFailure> {
        // A script begins with that.
        let Self::Own = self else { return Ok(()) };
        let devices = Devices::take()?;
        set_everywhere(READ_ONLY | TAME)
            .map_err(|errno| SetupFailure::new("make the file system read-only", errno))?;
        devices.arrange(bytes, attributes)?;
        nothing::arrange()
    }

    /// Shows what was taken.
    pub(super) fn show(&mut self, taken: MountSource, path: &Path, kind: FileType) -> Result<(), Errno> {
        match (self, taken) {
            (Self::Script(script), MountSource::Source(source)) => {
                script.show(source, path);
                Ok(())
            }
            (_, MountSource::Copy(copy)) => {
                make_room(path, kind)?;
                copy.attach(point(path)?.as_fd())
            }
            (Self::Own, MountSource::Source(_)) => Err(Errno::INVAL),
        }
    }

    /// Mounts an empty temporary directory with room for `bytes`.
    pub(super) fn temporary(&mut self, path: &Path, bytes: u64, attributes: u64) -> Result<(), Errno> {
        match self {
            Self::Own => memory(path, "1777", Some(bytes), attributes),
            Self::Script(script) => {
                script.temporary(path);
                Ok(())
            }
        }
    }

    /// Mounts an empty directory in which something is to be shown.
    pub(super) fn bare(&mut self, path: &Path) -> Result<(), Errno> {
        match self {
            Self::Own => memory(path, "0755", None, TAME),
            Self::Script(script) => {
                script.bare(path);
                Ok(())
            }
        }
    }

    /// Shows nothing in place of a directory or a file, if it can be seen at all.
    pub(super) fn cover(&mut self, path: &Path, kind: FileType) -> Result<(), Errno> {
        match self {
            Self::Script(script) => {
                script.cover(path, kind);
                Ok(())
            }
            Self::Own => {
                let nothing = nothing::in_place_of(path, kind)?;
                // Something above may have been covered meanwhile, and this with it.
                match point(path) {
                    Ok(target) => nothing.attach(target.as_fd()),
                    Err(Errno::NOENT) => Ok(()),
                    Err(errno) => Err(errno),
                }
            }
        }
    }

    /// Shows nothing in place of what `fd` names, which lies at `path`.
    pub(super) fn hide(&mut self, fd: BorrowedFd<'_>, path: &Path, kind: FileType) -> Result<(), Errno> {
        match self {
            Self::Own => nothing::of(kind)?.attach(fd),
            Self::Script(script) => {
                script.hide(path, kind);
                Ok(())
            }
        }
    }

    /// Mounts what `fd` names, which is seen at `path`, over itself, with further attributes.
    pub(super) fn fix(&mut self, fd: BorrowedFd<'_>, path: &Path, attributes: u64) -> Result<(), Errno> {
        match self {
            Self::Own => MountCopy::of(fd)?.with(attributes | TAME)?.attach(fd),
            Self::Script(script) => script.fix(fd, path, attributes & READ_ONLY != 0),
        }
    }

    /// Where on the machine it lies what will be seen at a path.
    pub(super) fn seen(&self, path: &Path) -> VisiblePath {
        match self {
            Self::Own => VisiblePath::At(path.to_owned()),
            Self::Script(script) => script.seen(path),
        }
    }

    /// Whether what lies at a path on the machine is what will be seen there.
    pub(super) fn shows(&self, path: &Path) -> bool {
        match self {
            Self::Own => true,
            Self::Script(script) => script.shows(path),
        }
    }

    /// Puts an empty file, which cannot be written, in a place of the reaper's own.
    pub(super) fn cover_in_memory(&mut self, path: &Path) -> Result<(), Errno> {
        match self {
            Self::Own => Err(Errno::INVAL),
            Self::Script(script) => {
                script.hide(path, FileType::RegularFile);
                Ok(())
            }
        }
    }
}
