//! The confinement of one of our own programs that works in one git repository.

use crate::Confinement;
use beamai_isolation::SandboxSettings;
use beamai_policy::DeniedPaths;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files in a repository's directory that determine settings and executed programs, or that belong to other
/// repositories.
const KEPT: [&str; 7] = ["config", "config.worktree", "hooks", "info", "modules", "commondir", "gitdir"];

/// The paths of a repository, absolute and without links.
#[derive(Debug)]
pub struct RepositoryPaths {
    /// The work tree.
    pub work_tree: PathBuf,
    /// The git directory of the work tree.
    pub git_dir: PathBuf,
    /// The common directory of all work trees, which contains the git directory or is the same.
    pub common_dir: PathBuf,
    /// Device number of the common directory, so that a replaced directory is noticed.
    pub device: u64,
    /// Inode number of the common directory.
    pub inode: u64,
}

impl Confinement {
    /// Everything is readable; only the common directory is writable, except for its settings and hooks. There is no
    /// network. In work tree and repository nothing is hidden, because a file that looks empty would be taken for an
    /// empty one; [`limit_reads`](crate::limit_reads) keeps the program from reading it. Elsewhere, secrets and paths
    /// in deny rules cannot be opened: settings that look absent would be taken for none. No link in the common
    /// directory and in the work tree is followed, if mounts can prevent it.
    pub fn of_repository(
        repository: &RepositoryPaths,
        sandbox: &SandboxSettings,
        denied: &DeniedPaths,
        unchanged: &[PathBuf],
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
        // Hooks may be in any directory, also in those that are private for commands; their existence must be visible.
        let work_tree = repository.work_tree.parent().map(|_| repository.work_tree.as_path());
        let shown = [Path::new("/tmp")].into_iter().filter(|path| path.is_dir()).chain(work_tree);
        own.readable.extend(shown.map(|path| path.canonicalize().unwrap_or(path.to_owned()).into()));
        let dirs = [&repository.common_dir, &repository.git_dir];
        let kept = dirs.into_iter().flat_map(|dir| KEPT.map(|name| dir.join(name)));
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_symlink());
        let unchanged = unchanged.iter().filter(|path| path.starts_with(&repository.common_dir)).cloned();
        own.git_sources = kept.chain(unchanged).filter(is_there).map(OsString::from).collect();
        own.git_sources.sort();
        own.git_sources.dedup();
        own.denies_hidden = true;
        own.exec_writable = false;
        // Where the home directory is in the work tree, its settings may be links.
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let work_tree = work_tree.filter(|tree| !home.is_some_and(|home| home.starts_with(tree)));
        own.without_links = [Some(repository.common_dir.as_path()), work_tree]
            .into_iter()
            .flatten()
            .map(OsString::from)
            .collect();
        Arc::new(own)
    }
}
