//! Computes the byte edits of a hunk at its position.
//!
//! Context lines are kept byte for byte. Added lines are converted to the file's encoding. If line endings differ
//! between hunk and file, which [`LineEndMatching::Any`] permits, the file's are used: an added line ends like the line
//! before it, and a missing final newline stays missing.

use super::diff::{Hunk, HunkLine, LineTag};
use super::lines::{LineTerminator, each_line, without_return};
use super::search::{FileSummary, HunkMatch, LineEndMatching};
use beamai_base::Result;
use beamai_text::{Charset, FileBytes, Splice, Unmappable};
use std::ops::Range;

/// The file that hunks are applied to.
pub(super) struct OriginalFile<'a> {
    pub(super) bytes: FileBytes<'a>,
    pub(super) charset: Charset,
    pub(super) summary: FileSummary,
    pub(super) ends: LineEndMatching,
    /// Whether the file has line endings that no line of the patch has.
    pub(super) is_foreign: bool,
}

/// A replacement of a byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByteEdit {
    pub(super) range: Range<u64>,
    /// Number of the line where it begins.
    pub(super) line: u64,
    pub(super) with: Vec<u8>,
}

impl ByteEdit {
    /// The edit in the form of the text crate.
    pub(super) fn splice(&self) -> Splice<'_> {
        Splice { range: self.range.clone(), line: self.line, with: &self.with }
    }
}

/// The result of applying a hunk.
#[derive(Debug)]
pub(super) struct HunkRewrite {
    pub(super) cuts: Vec<ByteEdit>,
    /// Whether line endings were adapted to the file's.
    pub(super) is_adapted: bool,
}

/// A line of the file that the hunk covers.
#[derive(Debug, Clone)]
struct OldLine {
    range: Range<u64>,
    body: Vec<u8>,
    end: LineTerminator,
}

/// A line of the result.
enum NewLine<'a> {
    Kept(&'a OldLine),
    /// Its text, and its line ending if the patch determines it.
    Added(&'a str, Option<LineTerminator>),
}

/// Applies a hunk.
///
/// # Errors
/// Inner error: characters that the file's encoding cannot represent. Outer error: I/O.
pub(super) fn rewrite(
    file: &OriginalFile<'_>,
    hunk: &Hunk,
    hunk_match: &HunkMatch,
) -> Result<Result<HunkRewrite, Unmappable>> {
    let old = old_lines(file, hunk_match)?;
    let is_exact = is_exact(file, hunk, &old);
    let is_at_mark = hunk_match.line == 1 && file.charset.has_bom();
    let is_marked = hunk.old_lines().next_back().is_some_and(|line| line.is_open);
    let mut rewriter =
        Rewriter { file, old: &old, is_exact, is_marked, next: 0, new: vec![], groups: vec![] };
    for line in &hunk.lines {
        rewriter.take(line, is_at_mark);
    }
    let cuts = rewriter.cuts(hunk_match);
    Ok(cuts.map(|cuts| HunkRewrite { cuts, is_adapted: !is_exact }))
}

fn old_lines(file: &OriginalFile<'_>, hunk_match: &HunkMatch) -> Result<Vec<OldLine>> {
    let mut scratch = Vec::new();
    let block = file.bytes.read(hunk_match.range.clone(), &mut scratch)?;
    let charset = Charset::labelled(&file.charset.name(), b"").unwrap_or(file.charset);
    let mut lines = Vec::new();
    each_line(&FileBytes::Memory(block), charset, u64::MAX / 2, &|| Ok(()), |line| {
        let range = hunk_match.range.start + line.range.start..hunk_match.range.start + line.range.end;
        lines.push(OldLine { range, body: line.body.unwrap_or_default().to_vec(), end: line.end });
        Ok(())
    })?;
    Ok(lines)
}

/// Whether the line endings in the file and in the hunk are the same.
fn is_exact(file: &OriginalFile<'_>, hunk: &Hunk, old: &[OldLine]) -> bool {
    if file.ends == LineEndMatching::Exact {
        return true;
    }
    let is_same = |(line, old): (&HunkLine, &OldLine)| {
        let has_return = old.end == LineTerminator::Return
            || without_return(file.charset, &old.body).len() < old.body.len();
        line.text.ends_with('\r') == has_return && line.is_open == (old.end == LineTerminator::Nothing)
    };
    !file.is_foreign && hunk.old_lines().zip(old).all(is_same)
}

struct Rewriter<'a> {
    file: &'a OriginalFile<'a>,
    old: &'a [OldLine],
    is_exact: bool,
    /// Whether the hunk says that the file has no final newline.
    is_marked: bool,
    /// Index of the next old line.
    next: usize,
    new: Vec<NewLine<'a>>,
    /// Runs of old lines, with the runs of new lines that replace them.
    groups: Vec<(Range<usize>, Range<usize>)>,
}

impl<'a> Rewriter<'a> {
    fn take(&mut self, line: &'a HunkLine, is_at_mark: bool) {
        let is_first = self.new.is_empty();
        match line.tag {
            LineTag::Context => {
                self.new.push(NewLine::Kept(&self.old[self.next]));
                self.next += 1;
            }
            LineTag::Delete => {
                self.next += 1;
                self.change(self.next - 1..self.next, self.new.len()..self.new.len());
            }
            LineTag::Insert => {
                let text = line
                    .text
                    .strip_prefix('\u{FEFF}')
                    .filter(|_| is_at_mark && is_first)
                    .unwrap_or(&line.text);
                self.change(self.next..self.next, self.new.len()..self.new.len() + 1);
                self.new.push(self.added(line, text));
            }
        }
    }

    fn added(&self, line: &HunkLine, text: &'a str) -> NewLine<'a> {
        match (self.is_exact, line.is_open) {
            (true, true) => NewLine::Added(text, Some(LineTerminator::Nothing)),
            (true, false) => NewLine::Added(text, Some(LineTerminator::Feed)),
            (false, true) => {
                NewLine::Added(text.strip_suffix('\r').unwrap_or(text), Some(LineTerminator::Nothing))
            }
            (false, false) => NewLine::Added(text.strip_suffix('\r').unwrap_or(text), self.end_here()),
        }
    }

    /// Line ending of a line added here: that of the previous line, or else of the next one.
    fn end_here(&self) -> Option<LineTerminator> {
        let (before, after) = self.old.split_at(self.next);
        let mut near = before.iter().rev().chain(after);
        near.find(|line| line.end != LineTerminator::Nothing).map(|line| line.end)
    }

    fn change(&mut self, old: Range<usize>, new: Range<usize>) {
        match self.groups.last_mut() {
            Some((last_old, last_new)) if last_old.end == old.start && last_new.end == new.start => {
                (last_old.end, last_new.end) = (old.end, new.end);
            }
            _ => self.groups.push((old, new)),
        }
    }

    /// The edits.
    fn cuts(mut self, hunk_match: &HunkMatch) -> Result<Vec<ByteEdit>, Unmappable> {
        let Range { start, end } = hunk_match.range;
        self.keep_open_end();
        let mut cuts = Vec::with_capacity(self.groups.len());
        for (old, new) in std::mem::take(&mut self.groups) {
            let mut with = Vec::new();
            for at in new {
                self.push(&mut with, at)?;
            }
            let from = match old.start {
                0 => start,
                at => self.old.get(at).map_or(end, |line| line.range.start),
            };
            let to = match old.is_empty() {
                true => self.old.get(old.start).map_or(end, |line| line.range.start),
                false => self.old[old.end - 1].range.end,
            };
            cuts.push(ByteEdit { range: from..to, line: hunk_match.line + old.start as u64, with });
        }
        Ok(cuts)
    }

    /// If the file has no final newline and the patch does not mention it, lines added at the end are separated by a
    /// newline, and the last one gets none.
    fn keep_open_end(&mut self) {
        let is_open = self.old.last().is_some_and(|line| line.end == LineTerminator::Nothing);
        if self.is_exact || self.is_marked || !is_open {
            return;
        }
        let last_group =
            self.groups.last().filter(|(old, new)| old.end == self.old.len() && new.end == self.new.len());
        let Some((_, new)) = last_group.cloned() else { return };
        let kept = new.start.checked_sub(1).filter(|_| !new.is_empty());
        if let Some(NewLine::Kept(line)) = kept.map(|at| &self.new[at])
            && line.end == LineTerminator::Nothing
        {
            // The last line is not part of a change yet.
            let at = self.old.len() - 1;
            if let Some(group) = self.groups.last_mut() {
                *group = (at..self.old.len(), new.start - 1..new.end);
            }
        }
        if let Some(NewLine::Added(_, end)) = self.new.last_mut() {
            *end = Some(LineTerminator::Nothing);
        }
    }

    fn push(&self, bytes: &mut Vec<u8>, at: usize) -> Result<(), Unmappable> {
        let charset = self.file.charset;
        let end = match &self.new[at] {
            NewLine::Kept(line) => {
                bytes.extend_from_slice(&line.body[..]);
                // An existing line ending is kept; a line that had none gets that of its neighbours.
                match line.end {
                    LineTerminator::Nothing => self.end_here().unwrap_or(self.file.summary.ending()),
                    LineTerminator::Return => LineTerminator::Feed,
                    end => end,
                }
            }
            NewLine::Added(text, end) => {
                bytes.extend_from_slice(&charset.encode(text)?);
                end.unwrap_or(self.file.summary.ending())
            }
        };
        bytes.extend_from_slice(&charset.encode(end.text())?);
        Ok(())
    }
}
