//! Hard links to files of a repository. Git writes some of its files in place, such as a commit's message, and with them any
//! file that is a link to them. A later command could write settings through such a link.

use super::directory::OpenDirectory;
use super::repository::Cleaner;
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files of a repository that commands cannot write by their names in it.
pub(super) const SETTINGS: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// Directories of a repository in which git writes files in place, or runs them. Objects are never written again, and a
/// clone shares them.
const WRITTEN: [&str; 9] =
    ["hooks", "info", "logs", "rebase-apply", "rebase-merge", "refs", "rr-cache", "sequencer", "worktrees"];
/// Files that git replaces and never writes in place, and that may be large.
const REPLACED: [&str; 3] = ["index", "packed-refs", "shallow"];

/// The files of a repository that have more than one name, by their directory.
fn shared_files(repository: &OpenDirectory) -> Vec<(PathBuf, OsString)> {
    let mut all = Vec::new();
    let is_entered =
        |parent: &Path, name: &OsStr| parent != "" || WRITTEN.iter().any(|written| name == *written);
    let is_written = |name: &OsStr| {
        !REPLACED.iter().any(|own| name == *own) && !name.as_bytes().starts_with(b"sharedindex.")
    };
    repository.walk(is_entered, |directory, path, entries| {
        let files = entries.into_iter().filter(|(_, kind)| *kind == FileType::RegularFile);
        let shared = files.filter(|(name, _)| is_written(name) && directory.is_shared(name));
        all.extend(shared.map(|(name, _)| (path.to_owned(), name)));
    });
    all
}

impl Cleaner<'_> {
    /// Makes the files of a repository files of their own; of one that was there before, all but its settings and
    /// hooks, which are compared with what they were.
    pub(super) fn unshare(&mut self, path: &Path, repository: &OpenDirectory, is_new: bool) {
        let is_compared = |place: &Path, name: &OsStr| {
            place.starts_with("hooks") || place == "" && SETTINGS.iter().any(|own| name == *own)
        };
        for (place, name) in shared_files(repository) {
            if !is_new && is_compared(&place, &name) {
                continue;
            }
            let Ok(directory) = repository.beneath(&place) else { continue };
            if directory.copy_in_place(&name).is_err() {
                self.set_aside(
                    &path.join(place),
                    &directory,
                    &name,
                    "has another name, and cannot be copied",
                );
            }
        }
    }
}
