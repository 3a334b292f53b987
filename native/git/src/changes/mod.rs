//! Differences between two of: the last commit, the staging area, the work tree.

pub(super) mod renames;
mod similarity;
pub(super) mod staged;

use git2::Oid;

/// The hash of content that was not read yet, and of what is not there.
pub(super) const NO_ID: Oid = Oid::ZERO_SHA1;

/// One side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlobVersion {
    /// Mode in the tree.
    pub(super) mode: u32,
    /// Hash of the blob; all zeros for a file of the work tree that was not read yet.
    pub(super) id: Oid,
}

/// What happened to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content or mode is another.
    Modified,
    /// A file became a link or the other way round.
    TypeChanged,
    /// It had another name.
    Renamed {
        /// The old name.
        from: Vec<u8>,
        /// Likeness of the contents, in percent.
        percent: u32,
    },
    /// A merge left it undecided. Which sides there are: 1 the common ancestor, 2 the own, 4 the other.
    Unmerged(u8),
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileChange {
    /// The path, the new one if there are two.
    pub(super) path: Vec<u8>,
    /// What happened.
    pub(super) kind: ChangeKind,
    /// The old side.
    pub(super) old: Option<BlobVersion>,
    /// The new side.
    pub(super) new: Option<BlobVersion>,
}

/// Whether a path is `below` or beneath it; everything is beneath the empty path.
pub(super) fn is_below(path: &[u8], below: &[u8]) -> bool {
    match path.strip_prefix(below) {
        Some(rest) => below.is_empty() || rest.is_empty() || rest[0] == b'/',
        None => false,
    }
}
