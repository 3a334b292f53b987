//! Paths that a repository's state names: git copies the files of a conflict, and repairs the work trees that are linked.

use super::directory::OpenDirectory;
use super::files::KnownFiles;
use super::pointers::path_of;
use super::refused::is_refused;
use super::repository::Cleaner;
use super::trees::trees_of;
use super::way::way_of;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The paths of files in conflict, for `git rerere`.
pub(super) const CONFLICTS: &str = "MERGE_RR";

/// The file that names a linked work tree, by the name of its directory; `None` if it cannot be read.
pub(super) type LinkedTrees = BTreeMap<OsString, Option<Vec<u8>>>;

pub(super) fn linked_trees(repository: &OpenDirectory) -> LinkedTrees {
    let Ok(all) = repository.beneath("worktrees".as_ref()) else { return LinkedTrees::new() };
    let named = all.names().into_iter().filter_map(|name| {
        let tree = all.beneath(name.as_ref()).ok()?;
        tree.kind("gitdir").map(|_| (name, tree.read("gitdir").ok()))
    });
    named.collect()
}

impl Cleaner<'_> {
    /// Undoes what makes git write or copy a file elsewhere.
    pub(super) fn clean_named(&mut self, path: &Path, directory: &OpenDirectory, known: Option<&KnownFiles>) {
        self.clean_linked_trees(path, directory, known);
        let is_changed = known.is_none_or(|known| known.conflicts != directory.stamp(CONFLICTS));
        if directory.kind(CONFLICTS).is_some()
            && self.leads_astray(path, directory, is_changed).unwrap_or(is_changed)
        {
            self.set_aside(path, directory, CONFLICTS.as_ref(), "files in conflict that may lie elsewhere");
        }
    }

    fn clean_linked_trees(&mut self, path: &Path, directory: &OpenDirectory, known: Option<&KnownFiles>) {
        for (name, text) in linked_trees(directory) {
            let beneath = Path::new("worktrees").join(name.as_os_str());
            let before = known.and_then(|known| known.linked_trees.get(&name));
            let is_here = || text.as_ref().is_some_and(|text| self.is_here(&path.join(&beneath), text));
            let Ok(tree) = directory.beneath(&beneath) else { continue };
            if before != Some(&text) && !is_here() {
                let outcome = self.outcome(path, || {
                    let aside = tree.set_aside("gitdir")?.to_string_lossy().into_owned();
                    let Some(Some(before)) = before else { return Ok(format!("renamed to {aside}")) };
                    tree.replace("gitdir", before)?;
                    Ok(format!("as it was; what was there is now {aside}"))
                });
                self.record(&path.join(beneath).join("gitdir"), "a work tree that lies elsewhere", outcome);
            }
        }
    }

    /// Whether commands can write to the work tree that a file names. Those in the commands' own `/tmp` are not there for
    /// git outside.
    fn is_here(&self, path: &Path, text: &[u8]) -> bool {
        let Some(git) = path_of(text).map(|git| self.real.join(path).join(git)) else { return false };
        let git = if git.ends_with(".git") { git } else { git.join(".git") };
        let tree = way_of(git.parent().unwrap_or(&git));
        let is_nowhere = || tree.end.starts_with(way_of(Path::new("/tmp")).end) && !tree.exists();
        self.is_of_work(&tree.end) && self.is_writable(&way_of(&git).end) || is_nowhere()
    }

    /// Whether a file in conflict has a path that git would not have given, a link on it, or, if that is new, a place where
    /// commands cannot write; `None` if it is not known.
    fn leads_astray(&self, path: &Path, directory: &OpenDirectory, is_changed: bool) -> Option<bool> {
        let text = directory.read(CONFLICTS).ok()?;
        let trees = trees_of(&self.real.join(path), directory, &self.pointers);
        let unwritable = self.unwritable_in(&trees, true);
        let mut is_known = !trees.is_empty();
        for entry in text.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
                is_known = false;
                continue;
            };
            let file = &entry[tab + 1..];
            let is_elsewhere = || trees.iter().any(|tree| has_link(tree, file));
            if is_refused(file, 0o100_644) || is_changed && unwritable.concern(file) || is_elsewhere() {
                return Some(true);
            }
        }
        (is_known || text.is_empty()).then_some(false)
    }
}

fn has_link(tree: &Path, file: &[u8]) -> bool {
    let way = way_of(&tree.join(OsStr::from_bytes(file)));
    way.links().any(|link| link != tree && link.starts_with(tree))
}
