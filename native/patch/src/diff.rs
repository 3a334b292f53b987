//! A patch as it is written, before it meets any file.

use super::name::HeaderName;

/// What the patch does with one file. A patch may come back to a file.
#[derive(Debug, Clone)]
pub(super) struct FileDiff {
    /// Line of the patch where it begins.
    pub(super) line: usize,
    /// Which of several patches in one text it belongs to, as in a mailbox of commits.
    pub(super) series: usize,
    pub(super) change: DiffChange,
    /// The executable bit that it sets.
    pub(super) executable: Option<bool>,
    pub(super) hunks: Vec<Hunk>,
}

/// The kind of change, with the names as they are in the headers.
#[derive(Debug, Clone)]
pub(super) enum DiffChange {
    /// A file is changed. With no old lines in it, it may also be made.
    Update {
        old: HeaderName,
        new: HeaderName,
        /// Whether a header tells the file's earlier content, so that there must be one.
        is_known: bool,
    },
    Create(HeaderName),
    Delete(HeaderName),
    /// As `Delete`, without the lines that go.
    Remove(HeaderName),
    /// Names of these have no prefixes.
    Rename {
        old: String,
        new: String,
    },
    Copy {
        old: String,
        new: String,
    },
}

/// Lines of one place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Line of the patch where it begins.
    pub(super) line: usize,
    /// What its header says; `None` for one without numbers.
    pub(super) stated: Option<HunkRange>,
    /// Whether the header counts other lines than there are.
    pub(super) is_recounted: bool,
    /// Whether its format has line numbers.
    pub(super) has_numbers: bool,
    pub(super) lines: Vec<HunkLine>,
}

/// The numbers of a hunk's header: first line and number of lines, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HunkRange {
    pub(super) old: (u64, u64),
    pub(super) new: (u64, u64),
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HunkLine {
    pub(super) tag: LineTag,
    /// Its text without the line feed; a carriage return is part of it.
    pub(super) text: String,
    /// Whether it is the end of a file that does not end with a line feed.
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

    /// The lines that it has afterwards.
    pub(super) fn new_lines(&self) -> impl DoubleEndedIterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.tag.is_new())
    }

    /// How many lines there are before and after.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.old_lines().count() as u64, self.new_lines().count() as u64)
    }

    /// How many lines it adds and removes.
    pub(super) fn changes(&self) -> (u64, u64) {
        let count = |tag| self.lines.iter().filter(|line| line.tag == tag).count() as u64;
        (count(LineTag::Insert), count(LineTag::Delete))
    }

    /// Whether it reaches to the end of the file, before or after.
    pub(super) fn is_at_end(&self) -> bool {
        self.lines.iter().any(|line| line.is_open)
    }
}

impl FileDiff {
    /// Whether the diff tells the file's earlier content by its hash, and so was made from the very file.
    pub(super) fn is_exact(&self) -> bool {
        match self.change {
            DiffChange::Update { is_known, .. } => is_known,
            DiffChange::Rename { .. } | DiffChange::Copy { .. } => true,
            DiffChange::Create(_) | DiffChange::Delete(_) | DiffChange::Remove(_) => false,
        }
    }

    /// Whether the file need not have any lines before.
    pub(super) fn has_no_old_lines(&self) -> bool {
        self.hunks.iter().all(|hunk| hunk.old_lines().next().is_none())
    }
}
