//! Number of changed lines per file.

use super::patch::{DiffSide, is_binary};
use super::quote::QuoteStyle;
use crate::page::LimitedText;
use beamai_git_repository::GitResult;
use beamai_git_repository::changes::{ChangeKind, FileChange};
use beamai_git_repository::tree::AttributeState;
use git2::{DiffOptions, Patch};

/// Counts changed lines, file by file.
#[derive(Debug, Default)]
pub(super) struct DiffStat {
    files: usize,
    added: usize,
    removed: usize,
}

impl DiffStat {
    /// Prints the line of one file: `path | +added -removed`. `diff` is the path's attribute of that name.
    pub(super) fn file(
        &mut self,
        change: &FileChange,
        (old, new): (Option<&DiffSide>, Option<&DiffSide>),
        diff: Option<&AttributeState>,
        quote: QuoteStyle,
        page: &mut LimitedText,
    ) -> GitResult<()> {
        let name = match &change.kind {
            ChangeKind::Renamed { from, .. } => {
                format!("{} -> {}", quote.name("", from), quote.name("", &change.path))
            }
            _ => quote.name("", &change.path),
        };
        self.files += 1;
        let counted = match LineCount::of(old, new, diff)? {
            LineCount::Lines(added, removed) => {
                (self.added, self.removed) = (self.added + added, self.removed + removed);
                format!("+{added} -{removed}")
            }
            LineCount::Binary => "binary".to_owned(),
            LineCount::TooLarge => "too large to be compared".to_owned(),
            LineCount::Unread => "not read".to_owned(),
        };
        page.line(&format!("{name} | {counted}"));
        Ok(())
    }

    /// Prints the line of a file with merge conflicts.
    pub(super) fn unmerged(&mut self, path: &[u8], quote: QuoteStyle, page: &mut LimitedText) {
        page.line(&format!("{} | unmerged", quote.name("", path)));
    }

    /// Prints the totals, if there are changes.
    pub(super) fn sum(&self, page: &mut LimitedText) {
        if self.files > 0 {
            let one = |count, one: &'static str, more| if count == 1 { one } else { more };
            let files = one(self.files, "file", "files");
            page.line(&format!("{} {files} changed, +{} -{}", self.files, self.added, self.removed));
        }
    }
}

/// The size of one file's change.
pub(super) enum LineCount {
    /// Number of added and of removed lines.
    Lines(usize, usize),
    /// The content is not text.
    Binary,
    /// The content is too large to be compared.
    TooLarge,
    /// The file cannot be read.
    Unread,
}

impl LineCount {
    /// Counts the lines. `diff` is the path's attribute of that name.
    pub(super) fn of(
        old: Option<&DiffSide>,
        new: Option<&DiffSide>,
        diff: Option<&AttributeState>,
    ) -> GitResult<Self> {
        let bytes = |side: Option<&'_ DiffSide>| side.map_or(Some(Vec::new()), |side| side.bytes.clone());
        Ok(match (bytes(old), bytes(new)) {
            (Some(old), Some(new)) if !is_binary(&old, diff) && !is_binary(&new, diff) => {
                let (added, removed) = count(&old, &new)?;
                Self::Lines(added, removed)
            }
            (Some(_), Some(_)) => Self::Binary,
            _ if new.is_some_and(DiffSide::is_unread) => Self::Unread,
            _ => Self::TooLarge,
        })
    }
}

/// Number of added and of removed lines.
fn count(old: &[u8], new: &[u8]) -> GitResult<(usize, usize)> {
    let mut options = DiffOptions::new();
    options.context_lines(0).indent_heuristic(true).force_text(true);
    let (_, added, removed) = Patch::from_buffers(old, None, new, None, Some(&mut options))?.line_stats()?;
    Ok((added, removed))
}
