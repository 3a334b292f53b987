//! Whether commands can write a program or the directories that lead to it.

use super::resolver::open_real;
use beamai_isolation::Isolation;
use beamai_sandbox::{Confinement, layers as sandbox};
use rustix::fs::{Mode, StatVfsMountFlags, fstat, fstatvfs};
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Maximum number of cached directories.
const MAX_KNOWN: usize = 4_096;

/// The mechanism that prevents commands from writing.
pub(super) enum WriteProtection {
    /// The sandbox's mounts: everything outside read-only mounts counts as writable.
    Mounts,
    /// Landlock without mounts: everything beneath these directories counts as writable.
    Landlock(Vec<PathBuf>),
    /// File modes only: what the user owns, or group or others may write, counts as writable.
    Modes,
}

impl WriteProtection {
    pub(super) fn of(isolation: &Isolation, confinement: &Confinement) -> Self {
        let has = |layer: &str| isolation.on.iter().any(|on| on == layer);
        let roots = || {
            let roots = sandbox::writable(confinement).map(PathBuf::from);
            roots.map(|root| root.canonicalize().unwrap_or(root)).collect()
        };
        match (has("read_only_filesystem"), has("landlock")) {
            (true, _) => Self::Mounts,
            (false, true) => Self::Landlock(roots()),
            (false, false) => Self::Modes,
        }
    }

    /// Whether commands can write the file `fd` at `path`; true if that cannot be determined.
    pub(super) fn lets_write(&self, fd: BorrowedFd<'_>, path: &Path) -> bool {
        match self {
            Self::Mounts => {
                fstatvfs(fd).map_or(true, |found| !found.f_flag.contains(StatVfsMountFlags::RDONLY))
            }
            Self::Landlock(roots) => roots.iter().any(|root| path.starts_with(root)),
            Self::Modes => fstat(fd).map_or(true, |found| {
                let mode = Mode::from_raw_mode(found.st_mode);
                let is_own = found.st_uid == rustix::process::geteuid().as_raw();
                is_own || mode.intersects(Mode::WGRP | Mode::WOTH)
            }),
        }
    }
}

/// Cache of directories that commands can write neither directly nor in any ancestor. Mounts do not change during an
/// order.
#[derive(Default)]
pub(super) struct UnwritableDirs(Mutex<HashSet<PathBuf>>);

impl UnwritableDirs {
    /// Whether commands can change entries in a directory, or in any directory above it. The path contains no links.
    pub(super) fn is_writable(&self, protection: &WriteProtection, root: &OwnedFd, directory: &Path) -> bool {
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let unknown: Vec<&Path> = directory.ancestors().take_while(|path| !known.contains(*path)).collect();
        let is_writable =
            |path: &&Path| open_real(root, path).map_or(true, |fd| protection.lets_write(fd.as_fd(), path));
        if unknown.iter().any(is_writable) {
            return true;
        }
        if known.len() > MAX_KNOWN {
            known.clear();
        }
        known.extend(unknown.into_iter().map(Path::to_owned));
        false
    }
}
