//! Work trees that a repository names by a path, which may lead elsewhere when a directory on it has become a link.

use super::directory::OpenDirectory;
use super::files::KnownFiles;
use super::hooks::{named_work_trees, way_of};
use super::nested::bare_repositories;
use super::pointers::{TreesOfPointers, path_of};
use super::repository::Cleaner;
use super::way::{Entry, Step, Way, open_parent};
use std::path::{Component, Path, PathBuf};

/// A path of a work tree, and its way before a command.
#[derive(Debug)]
pub(super) struct KnownTree {
    path: PathBuf,
    way: Way,
}

/// Whether a path has a `.git` in it.
pub(super) fn is_in_git_directory(path: &Path) -> bool {
    path.components().any(|part| part == Component::Normal(".git".as_ref()))
}

/// The work trees that a repository names.
pub(super) fn named_trees(real: &Path, repository: &OpenDirectory) -> Vec<KnownTree> {
    let named = named_work_trees(real).into_iter().chain(linked_tree(real, repository));
    named.map(|path| KnownTree { way: way_of(&path), path }).collect()
}

/// All work trees of a repository, links resolved.
pub(super) fn trees_of(real: &Path, repository: &OpenDirectory, pointers: &TreesOfPointers) -> Vec<PathBuf> {
    let beside = || real.parent().filter(|_| real.ends_with(".git")).map(Path::to_owned);
    let own = linked_tree(real, repository).or_else(beside);
    let pointed = pointers.get(real).into_iter().flatten();
    named_work_trees(real).iter().chain(&own).chain(pointed).map(|path| way_of(path).end).collect()
}

/// The work tree that a file names where the repository's directory is that of a linked one.
fn linked_tree(real: &Path, repository: &OpenDirectory) -> Option<PathBuf> {
    let git = real.join(path_of(&repository.read("gitdir").ok()?)?);
    Some(git.parent()?.to_owned())
}

impl Cleaner<'_> {
    /// Sets new links aside through which a work tree would lie where commands cannot write, or in a repository's directory.
    pub(super) fn clean_ways(&mut self, known: Option<&KnownFiles>) {
        for tree in known.iter().flat_map(|known| &known.trees) {
            // Each may lead to another one.
            while let Some(link) = self.new_link_outside(tree) {
                let Ok((directory, name)) = open_parent(&link) else { break };
                let above = link.parent().unwrap_or(&link);
                self.set_aside(above, &directory, &name, "leads a work tree elsewhere");
                if directory.kind(&name).is_some() {
                    break;
                }
            }
        }
    }

    /// Whether a path without links lies where commands can write, and git keeps nothing of its own.
    pub(super) fn is_of_work(&self, path: &Path) -> bool {
        let is_of_git = is_in_git_directory(path) || self.is_in_bare_repository(path);
        self.is_writable(path) && !self.is_protected(path) && !is_of_git
    }

    /// Whether a path lies in a repository without a `.git` that was there before.
    fn is_in_bare_repository(&self, path: &Path) -> bool {
        let bare = bare_repositories(&self.real, &self.root.found.repositories);
        bare.iter().any(|repository| path.starts_with(repository) && path != repository)
    }

    /// The first new link on the path of a work tree that now leads outside, and did not before.
    fn new_link_outside(&self, tree: &KnownTree) -> Option<PathBuf> {
        let now = way_of(&tree.path);
        if self.is_of_work(&now.end) || !self.is_of_work(&tree.way.end) {
            return None;
        }
        let was_there =
            |step: &Step| tree.way.steps.iter().any(|old| old.path == step.path && old.entry == step.entry);
        let is_new = |step: &&Step| matches!(step.entry, Entry::Link(_)) && !was_there(step);
        now.steps.iter().find(is_new).map(|step| step.path.clone())
    }
}
