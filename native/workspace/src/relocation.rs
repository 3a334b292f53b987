//! Moving or removing a file.

use super::draft::fresh_name;
use super::journal::{FileIdentity, JournalStep, Record};
use super::names::NameAt;
use super::resolve::BaseDir;
use super::write::{lock_at, look, same_content, same_version};
use super::{WorkspacePath, names, resolve};
use beamai_base::{Reason, Result, ToolError};
use rustix::fs::{Access, AtFlags, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;

/// A move or removal in progress. Until it is settled, the file can be moved back.
#[derive(Debug)]
pub(super) struct Relocation<'p> {
    path: &'p WorkspacePath,
    stat: Stat,
    from: resolve::ResolvedTarget,
    to: RelocationTarget<'p>,
    is_applied: bool,
}

#[derive(Debug)]
enum RelocationTarget<'p> {
    /// A temporary name in the same directory; the file is removed on settling.
    Away(OsString),
    Path(&'p WorkspacePath, resolve::ResolvedTarget),
}

impl<'p> Relocation<'p> {
    /// Removes the file, which must be the one that `stat` describes.
    pub(super) fn away(path: &'p WorkspacePath, stat: Stat) -> Result<Self> {
        let removal = Self::new(path, stat, RelocationTarget::Away(fresh_name().into()))?;
        // A read-only file is not removed, as its content is not replaced either.
        let anchor = path.root.anchor();
        rustix::fs::accessat(
            removal.from.parent(&anchor),
            &removal.from.name,
            Access::WRITE_OK,
            AtFlags::empty(),
        )
        .map_err(|error| path.error("remove", error))?;
        Ok(removal)
    }

    /// Moves the file to an unused path; missing parent directories are created when that happens.
    pub(super) fn to(path: &'p WorkspacePath, stat: Stat, to: &'p WorkspacePath) -> Result<Self> {
        let target = to.walk(resolve::MissingDirs::Imagine).map_err(|error| to.error("write", error))?;
        to.check_target(&target)?;
        Self::new(path, stat, RelocationTarget::Path(to, target))
    }

    fn new(path: &'p WorkspacePath, stat: Stat, to: RelocationTarget<'p>) -> Result<Self> {
        let from = path.walk(resolve::MissingDirs::Refuse).map_err(|error| path.error("remove", error))?;
        path.check_target(&from)?;
        Ok(Self { path, stat, from, to, is_applied: false })
    }

    /// Adds the step to a journal.
    pub(super) fn note(&self, record: &mut Record) {
        let from = record.journal_path(&self.path.root, &self.from.resolved);
        let (to, missing, is_removal) = match &self.to {
            RelocationTarget::Away(name) => {
                (record.journal_path(&self.path.root, &self.from.resolved.with_file_name(name)), 0, true)
            }
            RelocationTarget::Path(to, target) => {
                (record.journal_path(&to.root, &target.resolved), target.missing(), false)
            }
        };
        record.add(JournalStep::Relocate {
            from,
            to,
            missing,
            file: FileIdentity::of(&self.stat),
            is_removal,
        });
    }

    /// Renames the file.
    pub(super) fn apply(&mut self) -> Result<()> {
        let anchor = self.path.root.anchor();
        let parent = self.from.parent(&anchor);
        let failed = |error| self.path.error("remove", error);
        let _lock = lock_at(parent, &self.from.name);
        if !look(parent, &self.from.name).map_err(failed)?.is_some_and(|now| same_version(&now, &self.stat)) {
            return Err(self.path.stale());
        }
        self.path.check_target(&self.from)?;
        if let RelocationTarget::Path(to, target) = &mut self.to {
            to.make_missing(target)?;
        }
        self.rename(true)?;
        self.is_applied = true;
        let is_same = self.with_new_name(|(dir, name)| look(dir, name));
        if is_same.map_err(failed)?.is_some_and(|now| same_content(&now, &self.stat)) {
            return Ok(());
        }
        self.roll_back()?;
        Err(self.path.stale())
    }

    /// Undoes [`Relocation::apply`], unless another file is at the path now.
    pub(super) fn roll_back(&mut self) -> Result<()> {
        if self.is_applied {
            self.rename(false)?;
            self.is_applied = false;
        }
        Ok(())
    }

    /// Makes the change permanent; a removed file is unlinked, and parent directories that became empty are removed.
    pub(super) fn make_permanent(&mut self) {
        match &mut self.to {
            RelocationTarget::Path(_, target) => target.made.keep(),
            RelocationTarget::Away(name) => {
                let anchor = self.path.root.anchor();
                // The path is free already; a leftover temporary file is harmless.
                _ = names::unlink((self.from.parent(&anchor), name));
            }
        }
        prune(&self.path.root.anchor(), &self.from.resolved);
    }

    fn with_new_name<T>(&self, act: impl FnOnce(NameAt<'_>) -> T) -> T {
        match &self.to {
            RelocationTarget::Away(name) => act((self.from.parent(&self.path.root.anchor()), name)),
            RelocationTarget::Path(to, target) => act((target.parent(&to.root.anchor()), &target.name)),
        }
    }

    fn rename(&self, is_forth: bool) -> Result<()> {
        let anchor = self.path.root.anchor();
        let old = (self.from.parent(&anchor), self.from.name.as_os_str());
        let renamed = self.with_new_name(|new| match is_forth {
            true => names::rename_to_nothing(old, new),
            false => names::rename_to_nothing(new, old),
        });
        let path = match (&self.to, is_forth) {
            (RelocationTarget::Path(to, _), true) => to,
            _ => self.path,
        };
        renamed.map_err(|error| match error {
            Errno::EXIST => path.stale(),
            Errno::XDEV => {
                let message = format!("{} cannot be moved to another file system", self.path.display());
                ToolError::new(Reason::Io, message).file(self.path.display())
            }
            error => path.error("rename", error),
        })
    }
}

/// Removes empty directories above a removed file. Does not follow a link that has replaced one.
pub(super) fn prune(anchor: &BaseDir<'_>, gone: &Path) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    for dir in gone.ancestors().skip(1) {
        let (Some(above), Some(name)) = (dir.parent(), dir.file_name()) else { return };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let holder = resolve::open_unlinked(anchor.dir, above, flags);
        match holder.and_then(|holder| names::remove_dir((holder.as_fd(), name))) {
            // Removed before, perhaps by a process that died afterwards.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => return,
        }
    }
}
