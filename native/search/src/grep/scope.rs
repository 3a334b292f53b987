//! The scope of a search: a directory or one file.

use beamai_base::Result;
use beamai_walk::WalkEntry;
use beamai_workspace::{Tree, WorkspacePath};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// A directory or a file.
pub(super) enum Scope {
    /// Everything in a directory.
    Tree(Tree),
    /// One file, whatever its name; its path within the scope is empty.
    File {
        path: WorkspacePath,
        /// The path as results show it.
        shown: String,
    },
}

impl Scope {
    /// # Errors
    /// `no_such_file`, `not_a_file` for a FIFO or the like, `outside_workspace`, `access_denied` or `io`.
    pub(super) fn open(path: &WorkspacePath) -> Result<Self> {
        if FileType::from_raw_mode(path.stat()?.st_mode) == FileType::Directory {
            return Ok(Self::Tree(path.tree()?));
        }
        path.open_file()?;
        Ok(Self::File { shown: path.resolved()?, path: path.clone() })
    }

    /// A path in the scope, as results show it.
    pub(super) fn display(&self, path: &[u8]) -> String {
        match self {
            Self::Tree(tree) => tree.display(path),
            Self::File { shown, .. } => shown.clone(),
        }
    }

    /// Opens a file that a walk through the scope has found.
    pub(super) fn open_entry(&self, entry: &WalkEntry<'_>) -> Result<(OwnedFd, Stat), Errno> {
        match self {
            Self::Tree(tree) => tree.open_entry(entry.dir, entry.name, entry.path),
            Self::File { .. } => self.open_file(entry.path),
        }
    }

    /// Opens a file of the scope.
    pub(super) fn open_file(&self, path: &[u8]) -> Result<(OwnedFd, Stat), Errno> {
        match self {
            Self::Tree(tree) => tree.open_file(path),
            // The file was opened a moment ago; an error means that it has been removed since.
            Self::File { path, .. } => {
                path.open_file().map(|(file, stat)| (OwnedFd::from(file), stat)).map_err(|_| Errno::NOENT)
            }
        }
    }
}
