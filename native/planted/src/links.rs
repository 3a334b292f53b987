//! Symbolic links in the directories of repositories: git writes through most of them, wherever they lead.

use super::change::MOVED;
use super::directory::{OpenDirectory, by_directory};
use super::files::KnownFiles;
use super::repository::Cleaner;
use beamai_protected::ProtectedPaths;
use beamai_workspace::decode_path;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where git writes in a directory that may have other files, too.
pub(super) const WRITTEN: [&str; 15] = [
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
    "reftable",
    "remotes",
    "rr-cache",
    "sequencer",
    "worktrees",
];

/// Links by their path in the repository, with what they lead to.
pub(super) type Links = BTreeMap<PathBuf, OsString>;

/// The links in a repository's directory at a path that are wanted. The index knows those that lie in a `.git`; in a
/// directory that may have other files, too, those count that lie where git writes.
pub(super) fn links_in(
    path: &Path,
    repository: &OpenDirectory,
    found: &ProtectedPaths,
    is_wanted: impl Fn(&Path) -> bool,
) -> Links {
    let is_wanted = |link: &Path| is_wanted(link) && !is_set_aside(link);
    let mut links = Links::new();
    if is_of_git_alone(path) && found.cut_inside.is_none() {
        // They are in the order of their paths.
        let start = found.links.partition_point(|link| decode_path(link).as_path() < path);
        let beneath = found.links[start..]
            .iter()
            .map_while(|link| decode_path(link).strip_prefix(path).map(Path::to_owned).ok());
        let mut opened: Option<(PathBuf, OpenDirectory)> = None;
        for link in beneath.filter(|link| is_wanted(link)) {
            let (Some(parent), Some(name)) = (link.parent(), link.file_name()) else { continue };
            if opened.as_ref().is_none_or(|(path, _)| path != parent) {
                opened = repository.beneath(parent).ok().map(|directory| (parent.to_owned(), directory));
            }
            let target = opened.as_ref().and_then(|(_, directory)| directory.link(name));
            links.extend(target.map(|target| (link, target)));
        }
        return links;
    }
    let is_entered = |parent: &Path, name: &OsStr| is_entered(parent, name) && is_wanted(&parent.join(name));
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

/// Whether a link lies in a directory that was moved away because of such links: git knows nothing of it.
fn is_set_aside(link: &Path) -> bool {
    let above = link.parent().and_then(|parent| parent.components().next());
    above.is_some_and(|first| first.as_os_str().as_bytes().starts_with(MOVED.as_bytes()))
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
    pub(super) fn clean_links(
        &mut self,
        path: &Path,
        repository: &OpenDirectory,
        known: Option<&KnownFiles>,
        is_wanted: impl Fn(&Path) -> bool,
    ) {
        const WHAT: &str = "a link that git would follow";
        let mut links = links_in(path, repository, &self.now, is_wanted);
        links.retain(|link, target| {
            known.is_none_or(|known| known.links.get(link) != Some(target))
                && !is_reference(link, target)
                && !self.is_own_link(path, repository, link.as_os_str())
        });
        for (place, links) in by_directory(links) {
            if self.moves_directory(path, repository, &place, links.len(), WHAT) {
                continue;
            }
            let directory = repository.beneath(&place);
            for (name, target) in links {
                let outcome = self.outcome(path, || {
                    directory.as_ref().map_err(|errno| *errno)?.remove(&name)?;
                    Ok(format!("removed; it led to {}", target.to_string_lossy()))
                });
                self.record(&path.join(&place).join(name), WHAT, outcome);
            }
        }
    }
}
