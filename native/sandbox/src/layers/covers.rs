//! Checks that the mounts of a reaper still cover the paths that they were made for.
//!
//! A mount belongs to the directory entry that it was made on. If somebody moves that entry, the mount moves along; if
//! somebody deletes it, the mount goes, too. A file that comes to the path later is not covered, even if it has the
//! same inode number.

use super::git::SEALED;
use crate::Confinement;
use beamai_workspace::decode_path;
use rustix::fs::{AtFlags, CWD, FileType, StatxAttributes, StatxFlags, statx};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two checks of the places of secrets.
const FRESH: Duration = Duration::from_secs(1);

/// The paths that are covered, or were absent, when a reaper had entered its layers.
#[derive(Debug)]
pub struct MountCovers {
    denied: Vec<Cover>,
    secrets: Vec<Cover>,
    /// When the secrets were looked at.
    looked: Instant,
    /// Whether each path that existed had a mount of its own. Links need none, nor does what the host shows or makes
    /// writable.
    pub are_whole: bool,
}

#[derive(Debug)]
struct Cover {
    path: PathBuf,
    there: Option<Covering>,
}

/// What lies at a path.
#[derive(Debug, PartialEq, Eq)]
struct Covering {
    mount: u64,
    is_mount: bool,
    is_link: bool,
}

impl MountCovers {
    /// For this process, which has entered its layers.
    pub fn now(confinement: &Confinement) -> Self {
        let (secrets, hidden) =
            confinement.hidden.split_at(confinement.secrets.min(confinement.hidden.len()));
        let fixed = [&confinement.read_only, &confinement.git_sources, &confinement.held];
        let listed = [&confinement.readable, &confinement.writable];
        let named = fixed.into_iter().chain(listed).flatten().chain(hidden).map(PathBuf::from);
        let found = confinement.found.iter().flat_map(|found| {
            let root = decode_path(&found.root);
            let sealed =
                found.repositories.iter().flat_map(|path| SEALED.map(|name| decode_path(path).join(name)));
            let paths = found.hidden.iter().chain(&found.read_only).chain(&found.repositories);
            paths.map(|path| decode_path(path)).chain(sealed).map(move |path| root.join(path))
        });
        let denied: Vec<Cover> = named.chain(found).map(Cover::now).collect();
        let secrets: Vec<Cover> = secrets.iter().map(PathBuf::from).map(Cover::now).collect();
        let are_whole = denied.iter().chain(&secrets).all(|cover| cover.is_whole(confinement));
        Self { denied, secrets, looked: Instant::now(), are_whole }
    }

    /// Whether each path still has the same mount, and paths that did not exist still do not.
    pub fn hold(&mut self) -> bool {
        let hold = |covers: &[Cover]| covers.iter().all(|cover| Covering::at(&cover.path) == cover.there);
        if self.looked.elapsed() >= FRESH {
            self.looked = Instant::now();
            if !hold(&self.secrets) {
                return false;
            }
        }
        hold(&self.denied)
    }
}

impl Cover {
    fn now(path: PathBuf) -> Self {
        Self { there: Covering::at(&path), path }
    }

    /// Whether it has the mount that it needs. The target of a link is covered instead of the link.
    fn is_whole(&self, confinement: &Confinement) -> bool {
        let Some(there) = &self.there else { return true };
        there.is_mount
            || there.is_link
            || confinement.shows_beneath(&self.path)
            || confinement.is_writable(&self.path)
    }
}

impl Covering {
    fn at(path: &Path) -> Option<Self> {
        let wanted = StatxFlags::TYPE | StatxFlags::MNT_ID;
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let is_link = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Symlink;
        let is_mount = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
        Some(Self { mount: found.stx_mnt_id, is_mount, is_link })
    }
}
