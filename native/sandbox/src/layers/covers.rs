//! Whether the mounts of a reaper still cover what they are to cover.
//!
//! A mount stays with what lay at a path: it moves away with it, and disappears with it. What lies there later, whatever its inode
//! number, is not covered.

use super::git::SEALED;
use crate::Confinement;
use beamai_workspace::decode_path;
use rustix::fs::{AtFlags, CWD, FileType, StatxAttributes, StatxFlags, statx};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long places of secrets are not looked at again.
const FRESH: Duration = Duration::from_secs(1);

/// The paths that are covered, or were absent, when a reaper had entered its layers.
#[derive(Debug)]
pub struct MountCovers {
    denied: Vec<Cover>,
    secrets: Vec<Cover>,
    /// When the secrets were looked at.
    looked: Instant,
    /// Whether each path that was there had a mount of its own, unless it needs none.
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

    /// Whether all is as it was: the same mounts, and nothing where nothing was.
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

    /// Links are not covered, but what they lead to, and the host may show or give a path.
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
