//! Work trees that a repository names by a path, which may lead elsewhere when a directory on it has become a link.

use super::directory::OpenDirectory;
use super::files::KnownFiles;
use super::hooks::{named_work_trees, way_of};
use super::pointers::path_of;
use super::repository::Cleaner;
use super::way::{Entry, Step, Way, open_parent};
use std::path::{Path, PathBuf};

/// A path of a work tree, and its way before a command.
#[derive(Debug)]
pub(super) struct KnownTree {
    path: PathBuf,
    way: Way,
}

/// The work trees that a repository names.
pub(super) fn named_trees(real: &Path, repository: &OpenDirectory) -> Vec<KnownTree> {
    let linked = repository.read("gitdir").ok().and_then(|text| Some(real.join(path_of(&text)?)));
    let named = named_work_trees(real).into_iter().chain(linked);
    named.map(|path| KnownTree { way: way_of(&path), path }).collect()
}

/// All work trees of a repository, links resolved.
pub(super) fn trees_of(real: &Path, repository: &OpenDirectory) -> Vec<PathBuf> {
    let linked = repository.read("gitdir").ok().and_then(|text| Some(real.join(path_of(&text)?)));
    let own = linked.or_else(|| real.ends_with(".git").then(|| real.to_owned()));
    let own = own.and_then(|git| Some(way_of(git.parent()?).end));
    own.into_iter().chain(named_work_trees(real).iter().map(|path| way_of(path).end)).collect()
}

impl Cleaner<'_> {
    /// Sets new links aside through which a work tree would lie where commands cannot write.
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

    /// The first new link on the path of a work tree that now leads outside, and did not before.
    fn new_link_outside(&self, tree: &KnownTree) -> Option<PathBuf> {
        let now = way_of(&tree.path);
        if self.is_writable(&now.end) || !self.is_writable(&tree.way.end) {
            return None;
        }
        let was_there =
            |step: &Step| tree.way.steps.iter().any(|old| old.path == step.path && old.entry == step.entry);
        let is_new = |step: &&Step| matches!(step.entry, Entry::Link(_)) && !was_there(step);
        now.steps.iter().find(is_new).map(|step| step.path.clone())
    }
}
