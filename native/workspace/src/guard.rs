//! Who decides about files that are open: rules are held on the handle that is used, not on the path that led to it.
//!
//! A path can lead somewhere else by the time it is opened. So a call's workspace may have a [`AccessGuard`], which every
//! opening asks before a byte is read or written, with the path as it was written and the path at which the opened
//! handle is. For a file that is made or replaced, that is the handle of its directory, and the name in it.
//!
//! A handle is judged where it is at one moment, after the opening and before the use. What another program moves
//! afterwards takes its new place as it would have done with the finished file.

use super::{WorkspacePath, path, resolve};
use beamai_base::Result;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// What an opened file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// The names in a directory are read, or a program is started in it.
    List,
    /// It is made, changed, replaced, moved or removed.
    Write,
}

/// Decides about files that are open, or about to be made in an open directory.
pub trait AccessGuard: Debug + Send + Sync {
    /// Whether a file may be used. Both paths are as results show them: `written` as the call names it, `real` where it
    /// is.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, access: Access, written: &str, real: &str) -> Result<()>;
}

/// The guard of one call. Clones share it, so that it also holds for places that were named before it was set.
#[derive(Debug, Clone, Default)]
pub(super) struct GuardSlot(Arc<OnceLock<Arc<dyn AccessGuard>>>);

impl GuardSlot {
    pub(super) fn set(&self, guard: Arc<dyn AccessGuard>) {
        // A call is judged once.
        _ = self.0.set(guard);
    }

    pub(super) fn get(&self) -> Option<&dyn AccessGuard> {
        self.0.get().map(|guard| &**guard)
    }
}

impl WorkspacePath {
    /// Opens what stands at the place, if the guard lets it be used.
    pub(super) fn open(&self, access: Access, flags: OFlags) -> Result<OwnedFd> {
        let failed = |error| match error {
            // A socket cannot be opened at all; it is reported as what it is.
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

    /// Asks the guard, if there is one, about a file that is to be made, replaced or taken away: it is in the directory
    /// that the target's handle is of, wherever that is by now.
    pub(super) fn check_target(&self, target: &resolve::ResolvedTarget) -> Result<()> {
        let Some(guard) = self.guard.get() else { return Ok(()) };
        let real = target.located(&self.root.anchor()).map_err(|error| self.error("find", error))?;
        self.ask(guard, Access::Write, &real)
    }

    /// Makes the directories on the way to a target that are missing. The guard is asked before and, where there were
    /// any, afterwards: another directory may have taken the place of one that was made.
    pub(super) fn make_missing(&self, target: &mut resolve::ResolvedTarget) -> Result<()> {
        self.check_target(target)?;
        if target.missing() > 0 {
            target.make_missing(&self.root.anchor()).map_err(|error| self.error("write", error))?;
            self.check_target(target)?;
        }
        Ok(())
    }

    /// Whether anybody is asked.
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
