//! A file that leaves its path: for another one, or for good.

use super::draft::fresh_name;
use super::journal::{Mark, Record, Step};
use super::names::Name;
use super::resolve::Anchor;
use super::write::{lock_at, look, same_content, same_version};
use super::{Place, names, resolve};
use beamai_base::{Reason, Result, ToolError};
use rustix::fs::{Access, AtFlags, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::AsFd;
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

    /// Moves the file to a path where nothing stands; missing directories on the way are made then.
    pub(super) fn to(place: &'p Place, stat: Stat, to: &'p Place) -> Result<Self> {
        let target = to.walk(resolve::Missing::Imagine).map_err(|error| to.error("write", error))?;
        to.check_target(&target)?;
        Self::new(place, stat, To::Path(to, target))
    }

    fn new(place: &'p Place, stat: Stat, to: To<'p>) -> Result<Self> {
        let from = place.walk(resolve::Missing::Refuse).map_err(|error| place.error("remove", error))?;
        place.check_target(&from)?;
        Ok(Self { place, stat, from, to, is_put: false })
    }

    /// Writes into a journal what is about to happen.
    pub(super) fn note(&self, record: &mut Record) {
        let from = record.spot(&self.place.root, &self.from.resolved);
        let (to, missing, is_removal) = match &self.to {
            To::Away(name) => {
                (record.spot(&self.place.root, &self.from.resolved.with_file_name(name)), 0, true)
            }
            To::Path(to, target) => (record.spot(&to.root, &target.resolved), target.missing(), false),
        };
        record.add(Step::Relocate { from, to, missing, file: Mark::of(&self.stat), is_removal });
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
        self.place.check_target(&self.from)?;
        if let To::Path(to, target) = &mut self.to {
            to.make_missing(target)?;
        }
        self.rename(true)?;
        self.is_put = true;
        let is_same = self.with_new_name(|(dir, name)| look(dir, name));
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
                _ = names::unlink((self.from.parent(&anchor), name));
            }
        }
        prune(&self.place.root.anchor(), &self.from.resolved);
    }

    fn with_new_name<T>(&self, act: impl FnOnce(Name<'_>) -> T) -> T {
        match &self.to {
            To::Away(name) => act((self.from.parent(&self.place.root.anchor()), name)),
            To::Path(to, target) => act((target.parent(&to.root.anchor()), &target.name)),
        }
    }

    fn rename(&self, is_forth: bool) -> Result<()> {
        let anchor = self.place.root.anchor();
        let old = (self.from.parent(&anchor), self.from.name.as_os_str());
        let renamed = self.with_new_name(|new| match is_forth {
            true => names::rename_to_nothing(old, new),
            false => names::rename_to_nothing(new, old),
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

/// Removes the directories above a file that is gone, as far as they are empty. A link that has taken the place of one
/// is not followed.
pub(super) fn prune(anchor: &Anchor<'_>, gone: &Path) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    for dir in gone.ancestors().skip(1) {
        let (Some(above), Some(name)) = (dir.parent(), dir.file_name()) else { return };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let holder = resolve::open_unlinked(anchor.dir, above, flags);
        match holder.and_then(|holder| names::remove_dir((holder.as_fd(), name))) {
            // Removed before, perhaps by a process that got no further.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => return,
        }
    }
}
