//! Rights to read git's settings. In the tier `landlock`, commands can change modes, also outside of the workspace.
//! Settings that cannot be read name nothing: no hooks, which a later command could then change unseen before it gives
//! the right back. So what a command has taken away is given back when it ends, and what could not be read when it
//! started is reported.

use super::way::way_of;
use beamai_base::PathWay;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsRawFd;
use std::path::{Component, Path, PathBuf};

/// Modes as they were, of the files and directories of this user by which git finds settings. Paths have no links.
#[derive(Debug, Default)]
pub(super) struct KnownModes {
    modes: BTreeMap<PathBuf, Mode>,
    seen: BTreeSet<PathBuf>,
}

impl KnownModes {
    /// Those of some paths, and of all on the way to them.
    pub(super) fn of<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        let mut known = Self::default();
        paths.into_iter().for_each(|path| known.note(path));
        known
    }

    fn note(&mut self, path: &Path) {
        let leads_up = path.components().any(|part| part == Component::ParentDir);
        let way = if leads_up { Some(way_of(path)) } else { PathWay::leading_elsewhere(path) };
        match way {
            // All above a known path is known, too.
            None => _ = path.ancestors().all(|path| self.note_one(path)),
            Some(way) => way.steps.iter().for_each(|step| _ = self.note_one(&step.path)),
        }
    }

    /// Returns whether a path was unknown.
    fn note_one(&mut self, path: &Path) -> bool {
        let is_new = self.seen.insert(path.to_owned());
        if is_new && let Some(found) = own(path) {
            self.modes.insert(path.to_owned(), mode_of(&found));
        }
        is_new
    }

    /// Gives rights to read back that this user had. Returns where that was needed, and whether it was done.
    pub(super) fn restore(&self) -> Vec<(PathBuf, Result<(), Errno>)> {
        let restored = self.modes.iter().filter_map(|(path, mode)| {
            let needed = mode.intersection(Mode::RUSR | Mode::XUSR);
            let found = own(path)?;
            (!mode_of(&found).contains(needed)).then(|| (path.clone(), set(path, *mode)))
        });
        restored.collect()
    }
}

/// Whether this user may not read a path because of a mode that this user may have set: that of the last file or
/// directory on the way that can be looked up.
pub(super) fn is_own_doing(path: &Path) -> bool {
    let found = |path: &PathBuf| rustix::fs::lstat(path).is_ok();
    let reached = way_of(path).steps.into_iter().map(|step| step.path).take_while(found).last();
    reached.is_some_and(|reached| own(&reached).is_some())
}

/// What lies at a path, if it is this user's and no link.
fn own(path: &Path) -> Option<Stat> {
    let is_own = |found: &Stat| {
        found.st_uid == rustix::process::geteuid().as_raw()
            && FileType::from_raw_mode(found.st_mode) != FileType::Symlink
    };
    rustix::fs::lstat(path).ok().filter(is_own)
}

fn mode_of(found: &Stat) -> Mode {
    Mode::from_raw_mode(found.st_mode)
}

fn set(path: &Path, mode: Mode) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn rights_to_read_come_back_and_other_changes_of_modes_stay() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        let change = |name: &str, mode| set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        let mode = |name: &str| metadata(at(name)).unwrap().permissions().mode() & 0o7777;
        std::fs::create_dir_all(at("git/x")).unwrap();
        for name in ["git/config", "git/x/included", "other"] {
            std::fs::write(at(name), "").unwrap();
            change(name, 0o644);
        }
        change("git", 0o750);
        symlink("git/config", at("link")).unwrap();
        let known = KnownModes::of(&[at("link"), at("git/x/../x/included")]);
        change("git/config", 0);
        change("git/x/included", 0o600);
        change("other", 0);
        change("git", 0o311);
        let restored = known.restore();
        assert_eq!(restored, [(at("git"), Ok(())), (at("git/config"), Ok(()))]);
        assert_eq!(["git", "git/config", "git/x/included", "other"].map(mode), [0o750, 0o644, 0o600, 0]);
    }
}
