//! Files of a repository that have another name as well. Git writes some of its files in place, such as a commit's message,
//! and so whatever else has the name of such a file; and a later command could write settings by another name.

use super::directory::OpenDirectory;
use super::repository::Cleaner;
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files of a repository that commands cannot write by their names in it.
pub(super) const SETTINGS: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// Directories of a repository in which git writes files in place, or runs them. Objects are never written again, and a clone
/// shares them.
const WRITTEN: [&str; 9] =
    ["hooks", "info", "logs", "rebase-apply", "rebase-merge", "refs", "rr-cache", "sequencer", "worktrees"];
/// Files that git replaces and never writes in place, and that may be large.
const REPLACED: [&str; 3] = ["index", "packed-refs", "shallow"];
/// Maximum number of directories that are looked into.
const MOST: usize = 30_000;

/// The files of a repository that have more than one name, by their directory.
fn shared_files(repository: &OpenDirectory) -> Vec<(PathBuf, OsString)> {
    let mut rest: Vec<PathBuf> = WRITTEN.map(PathBuf::from).into();
    let mut all = shared_in(repository, Path::new(""), repository.entries());
    let mut seen = 0;
    while let Some(path) = rest.pop().filter(|_| seen < MOST) {
        let Ok(directory) = repository.beneath(&path) else { continue };
        seen += 1;
        let entries = directory.entries();
        let directories = entries.iter().filter(|(_, kind)| *kind == FileType::Directory);
        rest.extend(directories.map(|(name, _)| path.join(name)));
        all.extend(shared_in(&directory, &path, entries));
    }
    all
}

fn shared_in(
    directory: &OpenDirectory,
    path: &Path,
    entries: Vec<(OsString, FileType)>,
) -> Vec<(PathBuf, OsString)> {
    let is_written = |name: &OsStr| {
        !REPLACED.iter().any(|own| name == *own) && !name.as_bytes().starts_with(b"sharedindex.")
    };
    let files = entries.into_iter().filter(|(_, kind)| *kind == FileType::RegularFile);
    let files = files.map(|(name, _)| name).filter(|name| is_written(name) && directory.is_shared(name));
    files.map(|name| (path.to_owned(), name)).collect()
}

impl Cleaner<'_> {
    /// Makes the files of a repository files of their own; of one that was there before, all but its settings and hooks, which
    /// are compared with what they were.
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
