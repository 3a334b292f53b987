//! Settings and hooks that have another name as well, by which a later command could write them.

use super::directory::OpenDirectory;
use super::repository::{Cleaner, is_run};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Files of a repository that commands cannot write by their names in it.
pub(super) const SETTINGS: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];

/// The files of a repository that have more than one name, by their directory.
pub(super) fn shared_files(repository: &OpenDirectory) -> Vec<(&'static str, OsString)> {
    let shared = |directory: &OpenDirectory, names: Vec<OsString>, place: &'static str| {
        let shared = names.into_iter().filter(|name| directory.is_shared(name));
        shared.map(|name| (place, name)).collect::<Vec<_>>()
    };
    let mut all = shared(repository, SETTINGS.map(OsString::from).into(), "");
    if let Ok(hooks) = repository.beneath("hooks".as_ref()) {
        let names = hooks.names().into_iter().filter(|name| is_run(name)).collect();
        all.extend(shared(&hooks, names, "hooks"));
    }
    all
}

impl Cleaner<'_> {
    /// Makes the settings and hooks of a new repository files of their own.
    pub(super) fn unshare(&mut self, path: &Path, repository: &OpenDirectory) {
        for (place, name) in shared_files(repository) {
            let Ok(directory) = repository.beneath(place.as_ref()) else { continue };
            let name: &OsStr = &name;
            if directory.copy_in_place(name).is_err() {
                self.set_aside(&path.join(place), &directory, name, "has another name, and cannot be copied");
            }
        }
    }
}
