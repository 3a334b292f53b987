//! A file that leaves its path: for another one, or for good.

use super::draft::fresh_name;
use super::write::{lock_at, look, same_content, same_version};
use super::{Place, resolve};
use crate::error::{Reason, Result, ToolError};
use rustix::fs::{Access, AtFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// A relocation under way. Until it is settled the file can go back to where it was.
#[derive(Debug)]
pub(super) struct Relocation<'p> {
    place: &'p Place,
    stat: Stat,
    from: resolve::Target,
    to: To<'p>,
    is_put: bool,
}

#[derive(Debug)]
enum To<'p> {
    /// A temporary name in the same directory, until it is removed.
    Away(OsString),
    Path(&'p Place, resolve::Target),
}

impl<'p> Relocation<'p> {
    /// Removes the file, which must be the one that `stat` describes.
    pub(super) fn away(place: &'p Place, stat: Stat) -> Result<Self> {
        let removal = Self::new(place, stat, To::Away(fresh_name().into()))?;
        // As when its content is replaced: a file that may not be written to is not removed either.
        let anchor = place.root.anchor();
        rustix::fs::accessat(
            removal.from.parent(&anchor),
            &removal.from.name,
            Access::WRITE_OK,
            AtFlags::empty(),
        )
        .map_err(|error| place.error("remove", error))?;
        Ok(removal)
    }

    /// Moves the file to a path where nothing stands; missing directories on the way are made.
    pub(super) fn to(place: &'p Place, stat: Stat, to: &'p Place) -> Result<Self> {
        let target = to.walk(resolve::Missing::Create).map_err(|error| to.error("write", error))?;
        Self::new(place, stat, To::Path(to, target))
    }

    fn new(place: &'p Place, stat: Stat, to: To<'p>) -> Result<Self> {
        let from = place.walk(resolve::Missing::Refuse).map_err(|error| place.error("remove", error))?;
        Ok(Self { place, stat, from, to, is_put: false })
    }

    /// Renames the file.
    pub(super) fn put(&mut self) -> Result<()> {
        let anchor = self.place.root.anchor();
        let parent = self.from.parent(&anchor);
        let failed = |error| self.place.error("remove", error);
        let _lock = lock_at(parent, &self.from.name);
        if !look(parent, &self.from.name).map_err(failed)?.is_some_and(|now| same_version(&now, &self.stat)) {
            return Err(self.place.stale());
        }
        self.rename(true)?;
        self.is_put = true;
        let is_same = self.with_new_name(|dir, name| look(dir, Path::new(name).as_os_str()));
        if is_same.map_err(failed)?.is_some_and(|now| same_content(&now, &self.stat)) {
            return Ok(());
        }
        self.take_back()?;
        Err(self.place.stale())
    }

    /// Undoes [`Relocation::put`], unless something else stands there now.
    pub(super) fn take_back(&mut self) -> Result<()> {
        if self.is_put {
            self.rename(false)?;
            self.is_put = false;
        }
        Ok(())
    }

    /// Makes it stay: the file is gone from its path, and so are directories that this leaves empty.
    pub(super) fn settle(&mut self) {
        match &mut self.to {
            To::Path(_, target) => target.made.keep(),
            To::Away(name) => {
                let anchor = self.place.root.anchor();
                // The path is free already; what cannot be removed now is in nobody's way.
                _ = rustix::fs::unlinkat(self.from.parent(&anchor), &*name, AtFlags::empty());
            }
        }
        self.place.prune(&self.from.resolved);
    }

    fn with_new_name<T>(&self, act: impl FnOnce(BorrowedFd<'_>, &OsString) -> T) -> T {
        match &self.to {
            To::Away(name) => act(self.from.parent(&self.place.root.anchor()), name),
            To::Path(to, target) => act(target.parent(&to.root.anchor()), &target.name),
        }
    }

    fn rename(&self, is_forth: bool) -> Result<()> {
        let anchor = self.place.root.anchor();
        let old = (self.from.parent(&anchor), &self.from.name);
        let renamed = self.with_new_name(|dir, name| match is_forth {
            true => rename_to_nothing(old, (dir, name)),
            false => rename_to_nothing((dir, name), old),
        });
        let place = match (&self.to, is_forth) {
            (To::Path(to, _), true) => to,
            _ => self.place,
        };
        renamed.map_err(|error| match error {
            Errno::EXIST => place.stale(),
            Errno::XDEV => {
                let message = format!("{} cannot be moved to another file system", self.place.display());
                ToolError::new(Reason::Io, message).file(self.place.display())
            }
            error => place.error("rename", error),
        })
    }
}

type Named<'a> = (BorrowedFd<'a>, &'a OsString);

/// Renames, unless something stands at the new name.
fn rename_to_nothing((dir, name): Named<'_>, (new_dir, new_name): Named<'_>) -> Result<(), Errno> {
    match rustix::fs::renameat_with(dir, name, new_dir, new_name, RenameFlags::NOREPLACE) {
        // Not every file system knows the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match look(new_dir, new_name)? {
            Some(_) => Err(Errno::EXIST),
            None => rustix::fs::renameat(dir, name, new_dir, new_name),
        },
        other => other,
    }
}

impl Place {
    /// Removes the directories above a file that is gone, as far as they are empty.
    fn prune(&self, gone: &Path) {
        let anchor = self.root.anchor();
        for dir in gone.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()) {
            let Ok(target) = resolve::walk(&anchor, dir, resolve::Missing::Refuse) else { return };
            let parent = target.parent(&anchor);
            if rustix::fs::unlinkat(parent.as_fd(), &target.name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }
}
