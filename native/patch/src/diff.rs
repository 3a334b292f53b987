//! A parsed patch, before it is matched to files.

use super::name::HeaderName;

/// The part of a patch about one file. There may be several parts for one file.
#[derive(Debug, Clone)]
pub(super) struct FileDiff {
    /// Line of the patch where this part starts.
    pub(super) line: usize,
    /// The patch that it belongs to, in a text with several, such as a mailbox: all its parts are about the files before it.
    pub(super) series: usize,
    pub(super) form: PatchForm,
    pub(super) change: DiffChange,
    /// The executable bit to set or clear.
    pub(super) executable: Option<bool>,
    pub(super) hunks: Vec<Hunk>,
}

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchForm {
    Unified,
    /// Between `*** Begin Patch` and `*** End Patch`.
    BeginPatch,
}

/// The kind of change, with the names as written in the headers.
#[derive(Debug, Clone)]
pub(super) enum DiffChange {
    /// Changes a file. Without old lines, it may also create one.
    Update {
        old: HeaderName,
        new: HeaderName,
        /// Whether a header names the old content's hash, so that the file must exist.
        is_known: bool,
    },
    Create(HeaderName),
    Delete(HeaderName),
    /// As `Delete`, without the deleted lines.
    Remove(HeaderName),
    /// These names have no prefixes.
    Rename {
        old: String,
        new: String,
    },
    Copy {
        old: String,
        new: String,
    },
}

/// Consecutive lines to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Line of the patch where the hunk starts.
    pub(super) line: usize,
    /// The numbers in its header; `None` if there are none.
    pub(super) stated: Option<HunkRange>,
    /// Whether the numbers of lines in the header are wrong.
    pub(super) is_recounted: bool,
    /// Whether its format has line numbers.
    pub(super) has_numbers: bool,
    pub(super) lines: Vec<HunkLine>,
}

/// The numbers of a hunk header: first line and number of lines, old and new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HunkRange {
    pub(super) old: (u64, u64),
    pub(super) new: (u64, u64),
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HunkLine {
    pub(super) tag: LineTag,
    /// Its text without the line feed, but with a carriage return.
    pub(super) text: String,
    /// Whether it is the last line of a file without a final newline.
    pub(super) is_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineTag {
    Context,
    Delete,
    Insert,
}

impl LineTag {
    pub(super) fn is_old(self) -> bool {
        self != Self::Insert
    }

    pub(super) fn is_new(self) -> bool {
        self != Self::Delete
    }
}

impl Hunk {
    /// The lines that the file must have.
    pub(super) fn old_lines(&self) -> impl DoubleEndedIterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.tag.is_old())
    }

    /// The lines that replace them.
    pub(super) fn new_lines(&self) -> impl DoubleEndedIterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.tag.is_new())
    }

    /// Number of old lines and of new lines.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.old_lines().count() as u64, self.new_lines().count() as u64)
    }

    /// Number of added and of removed lines.
    pub(super) fn changes(&self) -> (u64, u64) {
        let count = |tag| self.lines.iter().filter(|line| line.tag == tag).count() as u64;
        (count(LineTag::Insert), count(LineTag::Delete))
    }

    /// Whether it includes the end of the old or the new file.
    pub(super) fn is_at_end(&self) -> bool {
        self.lines.iter().any(|line| line.is_open)
    }
}

impl FileDiff {
    /// Whether the diff names the old content's hash, so that it was created from exactly that content.
    pub(super) fn is_exact(&self) -> bool {
        match self.change {
            DiffChange::Update { is_known, .. } => is_known,
            DiffChange::Rename { .. } | DiffChange::Copy { .. } => true,
            DiffChange::Create(_) | DiffChange::Delete(_) | DiffChange::Remove(_) => false,
        }
    }

    /// Whether the file may be empty or missing.
    pub(super) fn has_no_old_lines(&self) -> bool {
        self.hunks.iter().all(|hunk| hunk.old_lines().next().is_none())
    }
}
