//! Symbolic links in the directories of repositories: git writes through most of them, whatever they lead to.

use super::directory::OpenDirectory;
use super::repository::Cleaner;
use crate::ProtectedPaths;
use beamai_workspace::decode_path;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where git writes in a directory that may have other files, too.
const WRITTEN: [&str; 14] = [
    "branches",
    "hooks",
    "info",
    "logs",
    "lost-found",
    "modules",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "remotes",
    "rr-cache",
    "sequencer",
    "worktrees",
];

/// Links by their path in the repository, with what they lead to.
pub(super) type Links = BTreeMap<PathBuf, OsString>;

/// The links in a repository's directory at a path, of which the index knows those that lie in a `.git`.
pub(super) fn links_in(path: &Path, repository: &OpenDirectory, found: &ProtectedPaths) -> Links {
    if !is_of_git_alone(path) || found.cut_inside.is_some() {
        return links_beneath(repository);
    }
    let target = |link: &Path| repository.beneath(link.parent()?).ok()?.link(link.file_name()?);
    let links =
        found.links.iter().filter_map(|link| Some(decode_path(link).strip_prefix(path).ok()?.to_owned()));
    links.filter_map(|link| target(&link).map(|target| (link, target))).collect()
}

/// The same in a directory that may have other files, too.
fn links_beneath(repository: &OpenDirectory) -> Links {
    let mut links = Links::new();
    repository.walk(is_entered, |directory, path, entries| {
        let found = entries.into_iter().filter(|(_, kind)| *kind == FileType::Symlink);
        links.extend(found.filter_map(|(name, _)| Some((path.join(&name), directory.link(&name)?))));
    });
    links
}

fn is_entered(parent: &Path, name: &OsStr) -> bool {
    let is_fan_out = || name.len() == 2 && name.as_bytes().iter().all(u8::is_ascii_hexdigit);
    match parent.to_str() {
        Some("") => WRITTEN.iter().any(|written| name == *written),
        Some("objects") => !is_fan_out(),
        _ => true,
    }
}

/// Whether a path has a component `.git`, so that all beneath it is git's.
fn is_of_git_alone(path: &Path) -> bool {
    path.components().any(|part| part == Component::Normal(".git".as_ref()))
}

/// Whether a link is a reference of the old form, which git does not follow as a link.
fn is_reference(path: &Path, target: &OsStr) -> bool {
    let target = Path::new(target);
    path == Path::new("HEAD")
        && target.starts_with("refs")
        && target.components().all(|part| matches!(part, Component::Normal(_)))
}

impl Cleaner<'_> {
    /// Removes links that are new or lead elsewhere than before. A new name could be one that git writes to as well, and all
    /// that a link has is told.
    pub(super) fn clean_links(&mut self, path: &Path, repository: &OpenDirectory, known: Option<&Links>) {
        for (link, target) in links_in(path, repository, self.now) {
            let is_known = known.is_some_and(|known| known.get(&link) == Some(&target));
            if is_known
                || is_reference(&link, &target)
                || self.is_own_link(path, repository, link.as_os_str())
            {
                continue;
            }
            let outcome = self.outcome(path, || {
                let parent = repository.beneath(link.parent().unwrap_or(Path::new("")))?;
                parent.remove(link.file_name().unwrap_or_default())?;
                Ok(format!("removed; it led to {}", target.to_string_lossy()))
            });
            self.record(&path.join(&link), "a link that git would follow", outcome);
        }
    }
}
