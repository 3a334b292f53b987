//! Work trees that a repository names by a path, which may lead elsewhere when a directory on it has become a link.

use super::config;
use super::directory::OpenDirectory;
use super::files::KnownFiles;
use super::hooks::named_work_trees;
use super::links::WRITTEN;
use super::pointers::{TreesOfPointers, common_directory, directory_of, path_of};
use super::repository::{Cleaner, beneath};
use super::way::{open_parent, way_of};
use beamai_base::{Entry, PathStep, PathWay};
use std::path::{Component, Path, PathBuf};

/// A path of a work tree, and its way before a command.
#[derive(Debug)]
pub(super) struct KnownTree {
    path: PathBuf,
    way: PathWay,
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
pub(super) fn linked_tree(real: &Path, repository: &OpenDirectory) -> Option<PathBuf> {
    let git = real.join(path_of(&repository.read("gitdir").ok()?)?);
    Some(git.parent()?.to_owned())
}

impl Cleaner<'_> {
    /// Sets new links aside through which a work tree would lie where commands cannot write, or in a repository's directory.
    pub(super) fn clean_ways(&mut self, path: &Path, known: Option<&KnownFiles>) {
        let own = way_of(&beneath(&self.real, path)).end;
        for tree in known.iter().flat_map(|known| &known.trees) {
            // Each may lead to another one.
            while let Some(link) = self.new_link_outside(&own, tree) {
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
        self.is_writable(path)
            && !self.is_protected(path)
            && !is_in_git_directory(path)
            && !self.is_of_git(path)
    }

    /// Whether a path is the directory of a repository, old or new, or lies in one where git writes.
    fn is_of_git(&self, path: &Path) -> bool {
        let is_written = |below: &Path| {
            let first = below.components().next();
            first.is_none_or(|first| WRITTEN.iter().any(|written| first.as_os_str() == *written))
        };
        self.known.iter().any(|repository| path.strip_prefix(repository).is_ok_and(is_written))
    }

    /// Whether settings may name a work tree: where it lies, a checkout writes no file of a repository.
    pub(super) fn may_be_named(&self, own: &Path, way: &PathWay) -> bool {
        let tree = &way.end;
        let is_in = |repository: &Path| tree.starts_with(repository);
        let is_in_repository = is_in(own) || self.known.iter().any(|repository| is_in(repository));
        let is_apart = !is_in_repository && !holds_repository(tree, own);
        is_apart && !way.depends_on_process() && self.is_of_work(tree)
    }

    /// Sets a `.git` aside if a checkout beside it would write the files of a repository: of one in whose directory it
    /// lies, or of its own one.
    pub(super) fn clean_tree_beside(&mut self, path: &Path) {
        let Some((parent, name)) = self.parent_of(path).filter(|(_, name)| name == ".git") else { return };
        let above = path.parent().unwrap_or(path);
        let tree = way_of(&beneath(&self.real, above)).end;
        let own = way_of(&directory_of(&self.top, &self.real, path)).end;
        let holds = || own_directories(&own).iter().any(|directory| holds_repository(&tree, directory));
        if self.is_of_git(&tree) {
            self.set_aside(above, &parent, &name, "a work tree in the directory of a repository");
        } else if holds() && !is_bare(&own) {
            self.set_aside(above, &parent, &name, "a work tree with the directory of its repository");
        }
    }

    /// Whether a checkout in a work tree of a repository could write the directory from which it takes its settings.
    pub(super) fn is_written_by_checkout(
        &self,
        path: &Path,
        directory: &OpenDirectory,
        common: &Path,
    ) -> bool {
        let (trees, common) =
            (trees_of(&self.real.join(path), directory, &self.pointers), way_of(common).end);
        trees.iter().any(|tree| holds_repository(tree, &common))
    }

    /// The first new link on the path of a work tree because of which it can no longer be one.
    fn new_link_outside(&self, own: &Path, tree: &KnownTree) -> Option<PathBuf> {
        let now = way_of(&tree.path);
        if self.may_be_named(own, &now) {
            return None;
        }
        let was_there = |step: &PathStep| {
            tree.way.steps.iter().any(|old| old.path == step.path && old.entry == step.entry)
        };
        let is_new = |step: &&PathStep| matches!(step.entry, Entry::Link(_)) && !was_there(step);
        now.steps.iter().find(is_new).map(|step| step.path.clone())
    }
}

/// Whether a checkout in a work tree could write the files of a repository: git itself keeps only out of a `.git`.
fn holds_repository(tree: &Path, repository: &Path) -> bool {
    repository.strip_prefix(tree).is_ok_and(|below| !is_in_git_directory(below))
}

/// The directories from which a repository takes its settings and hooks.
pub(super) fn own_directories(own: &Path) -> Vec<PathBuf> {
    let common = OpenDirectory::root(own).ok().and_then(|directory| common_directory(own, &directory));
    common.into_iter().chain([own.to_owned()]).collect()
}

/// Whether git uses no work tree beside a `.git` that leads to this repository: its settings say `core.bare`, once. Git
/// ignores that setting in the directory of a linked work tree.
pub(super) fn is_bare(own: &Path) -> bool {
    let Ok(directory) = OpenDirectory::root(own) else { return false };
    let mut said = config::entries_of(&directory).filter(|entry| entry.name() == "core.bare");
    let is_said = said.next().is_some_and(|entry| entry.text() == "true") && said.next().is_none();
    is_said && directory.kind("commondir").is_none()
}
