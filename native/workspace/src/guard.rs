//! Access checks on open files: rules apply to the handle that is used, not to the path that led to it.
//!
//! A path can be redirected between check and open. So a call's workspace can carry an [`AccessGuard`]. Every open asks
//! it before a byte is read or written, with the path as written and the real path of the opened handle. For a file
//! that is created or replaced, the real path is that of its directory's handle, plus the name.
//!
//! The check describes one moment, after the open and before the use. If another program moves the file later, the data
//! moves with it, as it would after the call.

use super::{WorkspacePath, path, resolve};
use beamai_base::Result;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Why a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// A directory is listed, or is the working directory of a program.
    List,
    /// The file is created, changed, replaced, moved or removed.
    Write,
}

/// Decides about files that are open, or about to be created in an open directory.
pub trait AccessGuard: Debug + Send + Sync {
    /// Whether a file may be used. Both paths are as results show them: `written` as in the call, `real` where the
    /// handle is.
    ///
    /// # Errors
    /// Why the access is denied.
    fn check(&self, access: Access, written: &str, real: &str) -> Result<()>;
}

/// The guard of one call. Clones share it, so it also applies to paths that were created before it was set.
#[derive(Debug, Clone, Default)]
pub(super) struct GuardSlot(Arc<OnceLock<Arc<dyn AccessGuard>>>);

impl GuardSlot {
    pub(super) fn set(&self, guard: Arc<dyn AccessGuard>) {
        // The first guard stays: a call is judged once.
        _ = self.0.set(guard);
    }

    pub(super) fn get(&self) -> Option<&dyn AccessGuard> {
        self.0.get().map(|guard| &**guard)
    }
}

impl WorkspacePath {
    /// Opens the file at this path, if the guard allows it.
    pub(super) fn open(&self, access: Access, flags: OFlags) -> Result<OwnedFd> {
        let failed = |error| match error {
            // open(2) fails on a socket; report the file type instead.
            Errno::NXIO => self.not_a_file(rustix::fs::FileType::Socket),
            error => self.error(if access == Access::List { "open directory" } else { "open" }, error),
        };
        match self.guard.get() {
            None => resolve::open(&self.root.anchor(), &self.relative, flags).map_err(failed),
            Some(guard) => {
                let opened = resolve::open_located(&self.root.anchor(), &self.relative, flags);
                let (handle, real) = opened.map_err(failed)?;
                self.ask(guard, access, &real)?;
                Ok(handle)
            }
        }
    }

    /// Asks the guard, if there is one, about a file that is to be created, replaced or removed in the target's
    /// directory, at the directory's current location.
    pub(super) fn check_target(&self, target: &resolve::ResolvedTarget) -> Result<()> {
        let Some(guard) = self.guard.get() else { return Ok(()) };
        let real = target.located(&self.root.anchor()).map_err(|error| self.error("find", error))?;
        self.ask(guard, Access::Write, &real)
    }

    /// Creates the missing directories above a target. The guard is asked before and, if any were created, afterwards:
    /// somebody may have replaced one of them meanwhile.
    pub(super) fn make_missing(&self, target: &mut resolve::ResolvedTarget) -> Result<()> {
        self.check_target(target)?;
        if target.missing() > 0 {
            target.make_missing(&self.root.anchor()).map_err(|error| self.error("write", error))?;
            self.check_target(target)?;
        }
        Ok(())
    }

    /// Whether a guard is set.
    pub(super) fn is_guarded(&self) -> bool {
        self.guard.get().is_some()
    }

    /// Asks the guard, if there is one, about an open file.
    pub(super) fn check_real(&self, access: Access, real: &Path) -> Result<()> {
        self.guard.get().map_or(Ok(()), |guard| self.ask(guard, access, real))
    }

    fn ask(&self, guard: &dyn AccessGuard, access: Access, real: &Path) -> Result<()> {
        let written = self.written.as_deref().unwrap_or(&self.relative);
        guard.check(access, &path::encode(&self.shown(written)), &path::encode(&self.shown(real)))
    }
}
