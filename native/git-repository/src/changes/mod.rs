//! Differences between commit, staging area and work tree.

mod renames;
mod similarity;
mod staged;

pub use renames::pair;
pub use staged::{is_unmerged, staged, staged_since, unmerged};

use git2::Oid;

/// The hash of missing content, and of content that has not been hashed.
pub const NO_ID: Oid = Oid::ZERO_SHA1;

/// One side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobVersion {
    /// Mode in the tree.
    pub mode: u32,
    /// Hash of the blob; all zeros for a work-tree file that has not been hashed.
    pub id: Oid,
}

/// The kind of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// The file is new.
    Added,
    /// The file was removed.
    Deleted,
    /// Content or mode changed.
    Modified,
    /// A file became a symbolic link, or the reverse.
    TypeChanged,
    /// The file was renamed.
    Renamed {
        /// The old name.
        from: Vec<u8>,
        /// Similarity of the contents, in percent.
        percent: u32,
    },
    /// Merge conflict. The bits tell which versions exist: 1 common ancestor, 2 ours, 4 theirs.
    Unmerged(u8),
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path; the new one for a rename.
    pub path: Vec<u8>,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The old side.
    pub old: Option<BlobVersion>,
    /// The new side.
    pub new: Option<BlobVersion>,
}

/// Whether a path is `below` or beneath it. Everything is beneath the empty path.
pub fn is_below(path: &[u8], below: &[u8]) -> bool {
    match path.strip_prefix(below) {
        Some(rest) => below.is_empty() || rest.is_empty() || rest[0] == b'/',
        None => false,
    }
}
