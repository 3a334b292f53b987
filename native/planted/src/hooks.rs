//! Hooks that new work trees would have, because trusted settings name their directory by a relative path.

use super::config;
use super::directory::OpenDirectory;
use super::layout::RepositoryLayout;
use super::repository::{Cleaner, is_of_git, is_run};
use super::sources;
use super::way::{open_parent, way_of};
use beamai_git_config::ConfigEntry;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Relative paths of hooks in trusted settings, and whether those are the user's own, each with the directories at that
/// path in the work trees that there were.
pub(super) type RelativeHooks = BTreeMap<(PathBuf, bool), Vec<PathBuf>>;

impl Cleaner<'_> {
    /// Takes out the hooks that git would run in the work trees of a new repository, except copies of trusted ones.
    pub(super) fn clean_relative_hooks(&mut self, repository: &Path) {
        let layout = RepositoryLayout::of(&self.top, &self.real, repository);
        let named = layout.directories.iter().flat_map(|directory| named_work_trees(directory)).collect();
        let mut bases: Vec<PathBuf> = layout.of_hooks(&named).iter().map(|base| way_of(base).end).collect();
        bases.sort();
        bases.dedup();
        let is_apart = is_apart(&self.real.join(repository));
        let known = self.hooks.iter().filter(|((_, is_own), _)| *is_own || !is_apart);
        let mut all: BTreeMap<PathBuf, Vec<PathBuf>> =
            known.map(|((hooks, _), trusted)| (hooks.clone(), trusted.clone())).collect();
        // Its own settings count, too: if commands could write them, they have been cleaned already.
        sources::relative_hooks_of(&layout.directories)
            .into_iter()
            .for_each(|hooks| _ = all.entry(hooks).or_default());
        for (hooks, trusted) in &all {
            for base in &bases {
                self.clean_hooks_of_tree(base, hooks, trusted);
                // The hooks in Husky's directory run files from its parent.
                if let (true, Some(above)) = (hooks.ends_with(".husky/_"), hooks.parent()) {
                    let trusted: Vec<PathBuf> =
                        trusted.iter().filter_map(|hooks| Some(hooks.parent()?.to_owned())).collect();
                    self.clean_hooks_of_tree(base, above, &trusted);
                }
            }
        }
    }

    fn clean_hooks_of_tree(&mut self, tree: &Path, hooks: &Path, trusted: &[PathBuf]) {
        let way = way_of(&tree.join(hooks));
        if let Some(link) = way.links().find(|link| *link != tree && link.starts_with(tree)) {
            let Ok((directory, name)) = open_parent(link) else { return };
            let above = link.parent().unwrap_or(tree);
            return self.set_aside(above, &directory, &name, "leads git elsewhere");
        }
        if !self.is_writable(&way.end) || trusted.iter().any(|trusted| way_of(trusted).end == way.end) {
            return;
        }
        let Ok(found) = OpenDirectory::root(Path::new("/"))
            .and_then(|top| top.beneath(way.end.strip_prefix("/").unwrap_or(&way.end)))
        else {
            return;
        };
        let trusted: Vec<OpenDirectory> =
            trusted.iter().filter_map(|trusted| OpenDirectory::root(trusted).ok()).collect();
        for name in found.names().into_iter().filter(|name| is_run(name)) {
            // Other files count if hooks may use them.
            let concerns = is_of_git(&name) || trusted.iter().any(|trusted| trusted.kind(&name).is_some());
            let is_file = matches!(found.kind(&name), Some(FileType::RegularFile | FileType::Symlink));
            let own = found.read(&name).ok();
            let is_copy = own.is_some() && trusted.iter().any(|trusted| trusted.read(&name).ok() == own);
            if concerns && is_file && !is_copy {
                self.set_aside(&way.end, &found, &name, "a hook");
            }
        }
    }

    /// Whether commands can write to a path without links.
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        let is_in =
            |writable: &PathBuf| writable.canonicalize().is_ok_and(|writable| path.starts_with(writable));
        self.writable.iter().any(is_in)
    }
}

/// Whether a repository has settings of its own alone.
fn is_apart(path: &Path) -> bool {
    let is_directory = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    is_directory && std::fs::symlink_metadata(path.join("commondir")).is_err()
}

/// Work trees that a repository's own settings name, as they name them.
pub(super) fn named_work_trees(repository: &Path) -> Vec<PathBuf> {
    let Ok(directory) = OpenDirectory::root(repository) else { return Vec::new() };
    let named = config::entries_of(&directory).filter(ConfigEntry::is_work_tree);
    named.map(|entry| repository.join(entry.path())).collect()
}
