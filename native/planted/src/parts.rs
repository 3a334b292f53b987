//! Directories directly in a repository's that git does not make there, but would take for something of its own.

use super::directory::{FileStamp, OpenDirectory};
use super::files::KnownFiles;
use super::repository::{Cleaner, risky_settings_of_begun};
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Directories of git's own.
const OWN: [&str; 12] = [
    "branches",
    "hooks",
    "info",
    "logs",
    "modules",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "rr-cache",
    "worktrees",
];
/// Names by which git could take a directory for the one that has the settings.
const MARKS: [&str; 5] = ["HEAD", "commondir", "config", "objects", "refs"];
/// Where `git instaweb` looks for the program of the server, and what the server writes there.
const GITWEB: &str = "gitweb";
const WRITTEN: [&str; 3] = ["access.log", "error.log", "pid"];

/// What was there before a command.
#[derive(Debug, Default)]
pub(super) struct KnownParts {
    /// Settings and hooks of directories that git does not make.
    pub(super) settings: BTreeMap<OsString, BTreeSet<String>>,
    /// Files for a web server.
    pub(super) gitweb: BTreeMap<OsString, Option<FileStamp>>,
}

impl KnownParts {
    pub(super) fn of(path: &Path, repository: &OpenDirectory) -> Self {
        let settings = parts(repository).into_iter().map(|name| {
            let settings = risky_settings_of_begun(&path.join(&name));
            (name, settings)
        });
        Self { settings: settings.collect(), gitweb: gitweb(repository) }
    }
}

/// Directories that git does not make, with a part of a repository in them.
fn parts(repository: &OpenDirectory) -> Vec<OsString> {
    let has_mark = |name: &OsStr| {
        repository
            .beneath(name.as_ref())
            .is_ok_and(|directory| MARKS.iter().any(|mark| directory.kind(mark).is_some()))
    };
    let entries = repository.entries().into_iter();
    let others =
        entries.filter(|(name, kind)| *kind == FileType::Directory && !OWN.iter().any(|own| name == own));
    others.map(|(name, _)| name).filter(|name| has_mark(name)).collect()
}

fn gitweb(repository: &OpenDirectory) -> BTreeMap<OsString, Option<FileStamp>> {
    let names = repository.beneath(GITWEB.as_ref()).map(|gitweb| (gitweb.names(), gitweb));
    let Ok((names, gitweb)) = names else { return BTreeMap::new() };
    let is_written = |name: &OsString| WRITTEN.iter().any(|written| name == written);
    let names = names.into_iter().filter(|name| !is_written(name));
    names.map(|name| (name.clone(), gitweb.stamp(name))).collect()
}

impl Cleaner<'_> {
    /// Cleans what is new in such directories.
    pub(super) fn clean_parts(
        &mut self,
        path: &Path,
        repository: &OpenDirectory,
        known: Option<&KnownFiles>,
    ) {
        let nothing = BTreeSet::new();
        for name in parts(repository) {
            let Ok(directory) = repository.beneath(name.as_ref()) else { continue };
            let kept = known.and_then(|known| known.parts.settings.get(&name)).unwrap_or(&nothing);
            self.clean_mixed_settings(&path.join(name), &directory, kept);
        }
        let known = known.map(|known| &known.parts.gitweb);
        let new = gitweb(repository);
        if known.is_none_or(BTreeMap::is_empty) && repository.kind(GITWEB) == Some(FileType::Directory) {
            return self.set_aside(path, repository, GITWEB.as_ref(), "a web server");
        }
        let Ok(directory) = repository.beneath(GITWEB.as_ref()) else { return };
        for (name, stamp) in new {
            if known.is_none_or(|known| known.get(&name) != Some(&stamp)) {
                self.set_aside(&path.join(GITWEB), &directory, &name, "a web server's");
            }
        }
    }
}
