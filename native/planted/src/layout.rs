//! Where a repository has its settings, and where git runs its hooks.

use super::directory::OpenDirectory;
use super::pointers::directory_of;
use super::repository::beneath;
use super::trees::{linked_tree, own_directories};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Maximum number of repositories in the directory of another one.
const MOST_INSIDE: usize = 1_000;
/// Directories of a repository that hold others, by any names.
const HOLDERS: [&str; 2] = ["modules", "worktrees"];
/// Directories of a repository that hold none.
const OWN: [&str; 6] = ["hooks", "info", "logs", "objects", "refs", "rr-cache"];

/// The directories of a repository, which may lie anywhere.
pub(super) struct RepositoryLayout {
    /// Where it was found.
    pub(super) path: PathBuf,
    /// Its own, and the one with the settings that its work trees share.
    pub(super) directories: Vec<PathBuf>,
    /// The work trees that its files tell of; settings can name others.
    trees: Vec<PathBuf>,
}

impl RepositoryLayout {
    /// That of a path beneath a directory: a repository, or a file or a link that leads to one.
    pub(super) fn of(top: &OpenDirectory, root: &Path, path: &Path) -> Self {
        let own = directory_of(top, root, path);
        let own = own.canonicalize().unwrap_or(own);
        let linked = OpenDirectory::root(&own).ok().and_then(|directory| linked_tree(&own, &directory));
        let trees = linked.into_iter().chain([root.join(work_tree(path))]).collect();
        Self { path: beneath(root, path), directories: own_directories(&own), trees }
    }

    /// Those of the repositories around a directory. Git takes the nearest one there, but may be used in each.
    pub(super) fn around(root: &Path) -> Vec<Self> {
        let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
        let mut around = Vec::new();
        for above in root.ancestors().skip(1) {
            let is_repository = is_there(above.join("HEAD")) && is_there(above.join("objects"));
            let found = [(".git", is_there(above.join(".git"))), ("", is_repository)];
            for (path, _) in found.into_iter().filter(|(_, is_found)| *is_found) {
                let top = OpenDirectory::root(above);
                around.extend(top.map(|top| Self::of(&top, above, Path::new(path))));
            }
        }
        around
    }

    /// Those of the linked work trees and submodules whose directories lie in that of a repository.
    pub(super) fn inside(repository: &Path) -> Vec<Self> {
        let Ok(top) = OpenDirectory::root(repository) else { return Vec::new() };
        let is_repository =
            |path: &Path| top.beneath(path).is_ok_and(|directory| directory.kind("HEAD").is_some());
        let is_entered = |parent: &Path, name: &OsStr| {
            let first = parent.components().next().map_or(name, |first| first.as_os_str());
            let is_own = OWN.iter().any(|own| name == *own);
            HOLDERS.iter().any(|holder| first == *holder) && !(is_own && is_repository(parent))
        };
        let mut inside = Vec::new();
        top.walk(is_entered, |_, path, entries| {
            let is_repository = path != "" && entries.iter().any(|(name, _)| name == "HEAD");
            if is_repository && inside.len() < MOST_INSIDE {
                inside.push(Self::of(&top, repository, path));
            }
        });
        inside
    }

    /// The directories in which git runs hooks: the work trees, also those that settings name, and for a push the
    /// repository's own.
    pub(super) fn of_hooks(&self, named_trees: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let named =
            |directory: &PathBuf| named_trees.iter().map(|tree| directory.join(tree)).collect::<Vec<_>>();
        let named = self.directories.iter().flat_map(named);
        self.trees.iter().chain(&self.directories).cloned().chain(named).collect()
    }
}

/// The work tree beside the directory of a repository.
fn work_tree(repository: &Path) -> &Path {
    match (repository.file_name(), repository.parent()) {
        (Some(name), Some(parent)) if name == ".git" => parent,
        _ => repository,
    }
}
