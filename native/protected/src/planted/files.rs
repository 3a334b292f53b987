//! Files of a repository by which git writes or runs what they name: its index, and remotes of the old form.

use super::budget::{TOO_MUCH, UNREAD};
use super::config;
use super::directory::{FileStamp, OpenDirectory};
use super::index::{self, Unreadable};
use super::links::{Links, links_in};
use super::named::{CONFLICTS, LinkedTrees, linked_trees};
use super::repository::{Cleaner, path_of};
use super::settings::is_command;
use crate::ProtectedPaths;
use beamai_workspace::decode_path;
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
    remotes: BTreeSet<String>,
    pub(super) links: Links,
    pub(super) linked_trees: LinkedTrees,
    pub(super) conflicts: Option<FileStamp>,
}

impl KnownFiles {
    pub(super) fn of(path: &Path, repository: &OpenDirectory, found: &ProtectedPaths) -> Self {
        let stamped = |name: OsString| repository.stamp(&name).map(|stamp| (name, stamp));
        let indexes = indexes(repository).into_iter().filter_map(stamped).collect();
        let remotes = running_remotes(repository).into_iter().map(|remote| remote.told).collect();
        let links = links_in(path, repository, found);
        Self {
            indexes,
            settings: settings(repository),
            remotes,
            links,
            linked_trees: linked_trees(repository),
            conflicts: repository.stamp(CONFLICTS),
        }
    }
}

impl Cleaner<'_> {
    /// Sets such files aside that a command has changed, where git would not have made them.
    pub(super) fn clean_files(&mut self, path: &Path, directory: &OpenDirectory, known: Option<&KnownFiles>) {
        let known_indexes =
            known.filter(|known| known.settings == settings(directory)).map(|known| &known.indexes);
        for name in indexes(directory) {
            let stamp = directory.stamp(&name);
            let is_known = known_indexes.is_some_and(|known| known.get(&name) == stamp.as_ref());
            if !is_known && let Some(what) = self.fault_of_index(path, directory, &name) {
                self.set_aside(path, directory, &name, &what);
            }
        }
        let remotes = if self.is_begun(path) { Vec::new() } else { running_remotes(directory) };
        for remote in remotes {
            if known.is_some_and(|known| known.remotes.contains(&remote.told)) {
                continue;
            }
            match directory.beneath(remote.directory.as_ref()) {
                Ok(list) if !remote.name.is_empty() => {
                    self.set_aside(
                        &path.join(remote.directory),
                        &list,
                        &remote.name,
                        "a remote that runs a command",
                    );
                }
                _ => self.set_aside(path, directory, remote.directory.as_ref(), "remotes that lie elsewhere"),
            }
        }
    }

    /// Whether a directory has parts of a repository, and git does not take it for one yet.
    fn is_begun(&self, path: &Path) -> bool {
        self.now.begun.iter().any(|begun| decode_path(begun) == path)
    }

    /// What is wrong with an index.
    fn fault_of_index(&self, path: &Path, directory: &OpenDirectory, name: &OsStr) -> Option<String> {
        let unreadable = || Some("an index that cannot be read".to_owned());
        let text = directory.read_up_to(name, MOST_OF_INDEX);
        if text == Err(UNREAD) {
            return Some(TOO_MUCH.to_owned());
        }
        if self.is_begun(path) {
            // It may be anything.
            let seen = text.clone().or_else(|_| directory.read_through(name));
            if !seen.is_ok_and(|seen| seen.starts_with(b"DIRC")) {
                return None;
            }
        }
        let Ok(text) = text else { return unreadable() };
        match index::refused_path(&text, id_length(&self.real.join(path), directory)) {
            Ok(refused) => {
                refused.map(|path| format!("an index with the path {}", String::from_utf8_lossy(&path)))
            }
            Err(Unreadable) => unreadable(),
        }
    }
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
    let common = directory.read("commondir").ok().map(|text| path.join(path_of(&text)));
    let config = match common {
        Some(common) => OpenDirectory::root(&common).and_then(|common| common.read_through("config")),
        None => directory.read_through("config"),
    };
    let entries = config.ok().and_then(|text| config::read(&text).ok()).unwrap_or_default();
    let format = entries.iter().rfind(|entry| entry.name() == "extensions.objectformat");
    if format.is_some_and(|format| format.text() == "sha256") { 32 } else { 20 }
}

/// A file with a remote whose address may run a command, or a directory of remotes that lies elsewhere.
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
        for name in list.names().into_iter().filter(|name| !name.as_bytes().ends_with(b".planted")) {
            let text = list.read(&name);
            let runs = |text: &Vec<u8>| String::from_utf8_lossy(text).lines().any(is_running_address);
            if list.kind(&name) != Some(FileType::Directory) && text.as_ref().map_or(true, runs) {
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
