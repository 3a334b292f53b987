//! What a program of our own is confined to that works in one git repository.

use crate::Confinement;
use beamai_isolation::SandboxSettings;
use beamai_policy::DeniedPaths;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What in a repository's directory says where settings come from and what is run, or belongs to other repositories.
const KEPT: [&str; 7] = ["config", "config.worktree", "hooks", "info", "modules", "commondir", "gitdir"];

/// Where a repository is. All paths are absolute and without links.
#[derive(Debug)]
pub struct RepositoryPaths {
    /// Its work tree.
    pub work_tree: PathBuf,
    /// The work tree's own directory of the repository.
    pub git_dir: PathBuf,
    /// The directory that its work trees share, which holds the other one, or is the same.
    pub common_dir: PathBuf,
    /// Device number of the shared directory, so that another one in its place is noticed.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
}

impl Confinement {
    /// Everything can be read, the directory that the work trees share can be written, and nothing else; in it, neither
    /// settings nor hooks. There is no network. In the work tree and in the repository nothing is hidden: a file that
    /// looks empty would be taken for an empty one. Elsewhere, secrets and what deny rules name are.
    pub fn of_repository(
        repository: &RepositoryPaths,
        sandbox: &SandboxSettings,
        denied: &DeniedPaths,
    ) -> Arc<Self> {
        let is_own = |path: &OsString| {
            let path = Path::new(path);
            path.starts_with(&repository.work_tree) || path.starts_with(&repository.common_dir)
        };
        let mut own = Self::new(&repository.common_dir, (repository.device, repository.inode), sandbox);
        (own.network, own.unix_sockets) = (false, false);
        (own.readable, own.writable) = (Vec::new(), Vec::new());
        own.hidden.extend(denied.hidden.iter().map(OsString::from));
        own.hidden.retain(|path| !is_own(path));
        // Hooks may be anywhere, also where commands have a directory of their own; whether one is there has to be seen.
        own.readable.extend(["/tmp".into()].into_iter().filter(|path: &OsString| Path::new(path).is_dir()));
        own.readable.extend(repository.work_tree.parent().map(|_| repository.work_tree.clone().into()));
        let dirs = [&repository.common_dir, &repository.git_dir];
        let kept = dirs.into_iter().flat_map(|dir| KEPT.map(|name| dir.join(name)));
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_symlink());
        own.git_sources = kept.filter(is_there).map(OsString::from).collect();
        own.git_sources.sort();
        own.git_sources.dedup();
        own.exec_writable = false;
        Arc::new(own)
    }
}
