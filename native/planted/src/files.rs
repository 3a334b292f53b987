//! Files of a repository by which git writes or runs what they name: its index, and remotes of the old form.

use super::SnapshotRoot;
use super::budget::{TOO_MUCH, UNREAD};
use super::directory::{FileStamp, OpenDirectory};
use super::index::{self, Unreadable};
use super::layout::RepositoryLayout;
use super::links::{Links, links_in};
use super::named::{CONFLICTS, LinkedTrees, linked_trees};
use super::nested::{KnownEntries, entries, is_foreign, nested};
use super::packs::{Lists, lists};
use super::parts::KnownParts;
use super::pointers::{path_of, told_gitfile};
use super::references::{StrayReferences, stray_references};
use super::repository::{Cleaner, FoundRepository};
use super::settings::is_command;
use super::state::{KnownState, state};
use super::trees::{KnownTree, named_trees, own_directories, trees_of};
use beamai_git_config::read;
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum size of an index that is read, in bytes: some three million files.
const MOST_OF_INDEX: u64 = 256 << 20;
/// Directories of files that name a remote's address (gitrepository-layout(5)).
const REMOTES: [&str; 2] = ["remotes", "branches"];

/// Such files as they were before a command.
#[derive(Debug, Default)]
pub(super) struct KnownFiles {
    indexes: BTreeMap<OsString, FileStamp>,
    /// Of the settings, which say how an index is read.
    settings: [Option<FileStamp>; 2],
    /// The directories from which git takes its settings.
    pub(super) directories: Vec<PathBuf>,
    remotes: BTreeSet<String>,
    pub(super) links: Links,
    pub(super) linked_trees: LinkedTrees,
    pub(super) conflicts: Option<FileStamp>,
    pub(super) head: Option<Vec<u8>>,
    pub(super) references: StrayReferences,
    pub(super) lists: Lists,
    pub(super) state: KnownState,
    pub(super) parts: KnownParts,
    pub(super) trees: Vec<KnownTree>,
    nested: KnownEntries,
    /// What the indexes have where git finds settings or hooks.
    trusted: KnownEntries,
    /// What lies in place of a `.git` that is not a directory.
    pub(super) gitfile: Option<String>,
}

impl KnownFiles {
    pub(super) fn of(path: &Path, repository: &OpenDirectory, root: &SnapshotRoot) -> Self {
        let stamped = |name: OsString| repository.stamp(&name).map(|stamp| (name, stamp));
        let real = root.real().join(path);
        let indexes = indexes(repository).into_iter().filter_map(stamped).collect();
        let remotes = running_remotes(repository).into_iter().map(|remote| remote.told).collect();
        let links = links_in(path, repository, &root.found, |_| true);
        Self {
            indexes,
            settings: settings(repository),
            directories: own_directories(&real),
            remotes,
            links,
            linked_trees: linked_trees(repository),
            conflicts: repository.stamp(CONFLICTS),
            head: repository.read("HEAD").ok(),
            references: stray_references(repository),
            lists: lists(repository),
            state: state(repository),
            parts: KnownParts::of(&real, repository),
            trees: named_trees(&real, repository),
            nested: nested_entries(&real, repository, root),
            trusted: trusted_entries(&real, repository, root),
            gitfile: None,
        }
    }

    /// Those of a repository of which only a file or a link in place of its directory is here.
    pub(super) fn of_gitfile(path: &Path, top: &OpenDirectory, root: &Path) -> Option<Self> {
        let above = path.parent()?;
        let parent = top.beneath(above).ok()?;
        let gitfile = Some(told_gitfile(&parent, &root.join(above), path.file_name()?));
        let directories = RepositoryLayout::of(top, root, path).directories;
        Some(Self { gitfile, directories, ..Self::default() })
    }

    pub(super) fn has_same_common_directory(&self, real: &Path, repository: &OpenDirectory) -> bool {
        self.settings[1] == repository.stamp("commondir") && self.directories == own_directories(real)
    }
}

impl Cleaner<'_> {
    /// Takes out remotes of the old form that a command has added.
    pub(super) fn clean_remotes(
        &mut self,
        path: &Path,
        directory: &OpenDirectory,
        known: Option<&KnownFiles>,
    ) {
        for remote in running_remotes(directory) {
            if known.is_some_and(|known| known.remotes.contains(&remote.told)) {
                continue;
            }
            match directory.beneath(remote.directory.as_ref()) {
                // With another name, it would be another remote.
                Ok(list) if !remote.name.is_empty() => {
                    let moved = || {
                        let aside = list.move_to(&remote.name, directory)?;
                        Ok(format!("moved to {}", path.join(aside).display()))
                    };
                    let outcome = self.outcome(path, moved);
                    let file = path.join(remote.directory).join(&remote.name);
                    self.record(&file, "a remote that runs a command", outcome);
                }
                _ => self.set_aside(path, directory, remote.directory.as_ref(), "remotes that lie elsewhere"),
            }
        }
    }

    /// What is wrong with an index.
    pub(super) fn fault_of_index(
        &self,
        found: &FoundRepository,
        directory: &OpenDirectory,
        name: &OsStr,
        known: Option<&KnownFiles>,
    ) -> Option<String> {
        let unreadable = || Some("an index that cannot be read".to_owned());
        let text = directory.read_up_to(name, MOST_OF_INDEX);
        if text == Err(UNREAD) {
            return Some(TOO_MUCH.to_owned());
        }
        if found.is_begun {
            // It may be anything.
            let seen = text.clone().or_else(|_| directory.read_through(name));
            if !seen.is_ok_and(|seen| seen.starts_with(b"DIRC")) {
                return None;
            }
        }
        let Ok(text) = text else { return unreadable() };
        let real = self.real.join(&found.path);
        let (trees, nothing) = (trees_of(&real, directory, &self.pointers), KnownEntries::new());
        let places = nested(&self.real, &self.root.found.repositories, || trees.clone());
        let (nested, trusted) = known.map_or((&nothing, &nothing), |known| (&known.nested, &known.trusted));
        let unwritable = self.unwritable_in(&trees, found.is_new);
        let repositories = self.repositories_in(&trees);
        let is_foreign = |name: &[u8], mode: u32, object: &[u8]| {
            is_foreign(name, mode, object, &places, nested)
                || unwritable.is_written_by(name, mode, object, trusted)
                || unwritable.is_replaced_by(name, mode)
                || repositories.is_replaced_by(name, mode)
        };
        match index::refused_path(&text, id_length(&real, directory), is_foreign) {
            Ok(refused) => {
                refused.map(|path| format!("an index with the path {}", String::from_utf8_lossy(&path)))
            }
            Err(Unreadable) => unreadable(),
        }
    }
}

/// The indexes of a repository that may have changed, with their sizes.
pub(super) fn changed_indexes(
    repository: &OpenDirectory,
    known: Option<&KnownFiles>,
) -> impl Iterator<Item = (i128, OsString)> {
    let known = known.filter(|known| known.settings == settings(repository)).map(|known| &known.indexes);
    indexes(repository).into_iter().filter_map(move |name| {
        let stamp = repository.stamp(&name)?;
        let is_known = known.is_some_and(|known| known.get(&name) == Some(&stamp));
        (!is_known).then(|| (stamp.size(), name))
    })
}

/// What a repository's indexes have in other repositories that lie in its work trees.
fn nested_entries(real: &Path, repository: &OpenDirectory, root: &SnapshotRoot) -> KnownEntries {
    let trees = || trees_of(real, repository, &root.pointers);
    let places = nested(&root.real(), &root.found.repositories, trees);
    if places.is_empty() {
        KnownEntries::new()
    } else {
        known_entries(real, repository, |text, id| entries(text, id, &places))
    }
}

/// What they have where git finds settings or hooks.
fn trusted_entries(real: &Path, repository: &OpenDirectory, root: &SnapshotRoot) -> KnownEntries {
    let places = root.trusted_in(&trees_of(real, repository, &root.pointers));
    if places.is_empty() {
        KnownEntries::new()
    } else {
        known_entries(real, repository, |text, id| places.entries(text, id))
    }
}

/// The entries that `entries` selects, from all indexes of a repository.
fn known_entries(
    real: &Path,
    repository: &OpenDirectory,
    entries: impl Fn(&[u8], usize) -> KnownEntries,
) -> KnownEntries {
    let id = id_length(real, repository);
    let names = indexes(repository).into_iter();
    let texts = names.filter_map(|name| repository.read_up_to(name, MOST_OF_INDEX).ok());
    texts.flat_map(|text| entries(&text, id)).collect()
}

/// The names of a repository's indexes.
fn indexes(repository: &OpenDirectory) -> Vec<OsString> {
    let is_index = |name: &OsString| name == "index" || name.as_bytes().starts_with(b"sharedindex.");
    repository.names().into_iter().filter(is_index).collect()
}

fn settings(repository: &OpenDirectory) -> [Option<FileStamp>; 2] {
    ["config", "commondir"].map(|name| repository.stamp(name))
}

/// The length of a repository's object ids, in bytes, as its settings say.
fn id_length(path: &Path, directory: &OpenDirectory) -> usize {
    let common = directory.read("commondir").ok().and_then(|text| Some(path.join(path_of(&text)?)));
    let config = match common {
        Some(common) => OpenDirectory::root(&common).and_then(|common| common.read_through("config")),
        None => directory.read_through("config"),
    };
    let entries = config.ok().and_then(|text| read(&text).ok()).unwrap_or_default();
    let format = entries.iter().rfind(|entry| entry.name() == "extensions.objectformat");
    if format.is_some_and(|format| format.text() == "sha256") { 32 } else { 20 }
}

/// A file with a remote whose name or address may run a command, or a directory of remotes that lies elsewhere.
struct RunningRemote {
    directory: &'static str,
    /// Empty for the directory.
    name: OsString,
    /// With its content.
    told: String,
}

fn running_remotes(repository: &OpenDirectory) -> Vec<RunningRemote> {
    let mut found = Vec::new();
    for directory in REMOTES {
        match repository.kind(directory) {
            None | Some(FileType::RegularFile) => continue,
            Some(FileType::Directory) => {}
            Some(_) => {
                let told = format!("{directory} {:?}", repository.link(directory));
                found.push(RunningRemote { directory, name: OsString::new(), told });
                continue;
            }
        }
        let Ok(list) = repository.beneath(directory.as_ref()) else { continue };
        for name in list.names() {
            let text = list.read(&name);
            let runs = |text: &Vec<u8>| String::from_utf8_lossy(text).lines().any(is_running_address);
            let is_run = is_command(&name.to_string_lossy()) || text.as_ref().map_or(true, runs);
            if is_run && list.kind(&name) != Some(FileType::Directory) {
                let told = format!("{directory}/{name:?} {text:?} {:?}", list.link(&name));
                found.push(RunningRemote { directory, name, told });
            }
        }
    }
    found
}

/// Whether a line of such a file is an address that runs a command.
fn is_running_address(line: &str) -> bool {
    is_command(line.strip_prefix("URL:").unwrap_or(line))
}
