//! Where a repository has its settings, and where git runs its hooks.

use super::directory::OpenDirectory;
use super::pointers::directory_of;
use super::trees::{linked_tree, own_directories};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The directories of a repository, which may lie anywhere.
pub(super) struct RepositoryLayout {
    /// Its own, and the one with the settings that its work trees share.
    pub(super) directories: Vec<PathBuf>,
    /// The work trees that its files tell of; settings can name others.
    trees: Vec<PathBuf>,
}

impl RepositoryLayout {
    /// That of a path beneath a directory: a repository, or a file or a link that leads to one.
    pub(super) fn of(top: &OpenDirectory, root: &Path, path: &Path) -> Self {
        let own = directory_of(top, root, path);
        let linked = OpenDirectory::root(&own).ok().and_then(|directory| linked_tree(&own, &directory));
        let trees = linked.into_iter().chain([root.join(work_tree(path))]).collect();
        Self { directories: own_directories(&own), trees }
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

    /// The directories in which git runs hooks: the work trees, also those that settings name, and for a push the repository's own.
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
