//! The way of a path while commands run, and what lies at a name of it in an open directory.

use super::directory::OpenDirectory;
use beamai_base::{Entry, PathWay};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Targets of links at the time when commands started that still run. One of them may have replaced a link since.
pub(super) type KnownLinks = HashMap<PathBuf, OsString>;

/// The way of an absolute path as it is now.
pub(super) fn way_of(path: &Path) -> PathWay {
    PathWay::of(path, Entry::at)
}

/// The way of an absolute path through links as they were.
pub(super) fn known_way_of(path: &Path, links: &KnownLinks) -> PathWay {
    PathWay::of(path, |path| links.get(path).map_or_else(|| Entry::at(path), |to| Entry::Link(to.clone())))
}

/// What lies at a name in a directory now.
pub(super) fn entry_in(directory: &OpenDirectory, name: &OsStr) -> Entry {
    match directory.kind(name) {
        None => Entry::Nothing,
        Some(FileType::Directory) => Entry::Directory,
        Some(FileType::Symlink) => directory.link(name).map_or(Entry::Nothing, Entry::Link),
        Some(_) => Entry::Other,
    }
}

/// Opens the directory of a step, and returns the name in it.
pub(super) fn open_parent(path: &Path) -> Result<(OpenDirectory, OsString), Errno> {
    let parent = path.parent().and_then(|parent| parent.strip_prefix("/").ok()).ok_or(Errno::INVAL)?;
    let name = path.file_name().ok_or(Errno::INVAL)?;
    Ok((OpenDirectory::root(Path::new("/"))?.beneath(parent)?, name.to_owned()))
}
