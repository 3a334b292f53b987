//! Applies all hunks of one file to its content, in memory.

use super::diff::{FileDiff, Hunk, LineTag};
use super::nearest::nearest;
use super::placing::{self, PlacementError, shift, stated};
use super::rewrite::{ByteEdit, OriginalFile, rewrite};
use super::search::{FileSummary, HunkMatch, HunkMatches, HunkQuery, HunkSearch, LineEndMatching};
use super::verdict::{HunkVerdict, PatchProblem};
use beamai_base::{Reason, Result, ToolError};
use beamai_files::placeholder;
use beamai_text::{Charset, Check, FileBytes, Unmappable};

/// Maximum number of failing hunks that are explained in detail.
const EXPLAINED: usize = 5;

/// The result for each hunk.
#[derive(Debug, Default)]
pub(super) struct FitResult {
    pub(super) hunks: Vec<HunkVerdict>,
    /// The edits, in order; only meaningful if all hunks fit.
    pub(super) cuts: Vec<ByteEdit>,
    pub(super) is_adapted: bool,
}

/// Fits the hunks of `diff` to a file.
///
/// # Errors
/// I/O errors, and those of `check`. A hunk that does not fit is not an error.
pub(super) fn fit(
    diff: &FileDiff,
    bytes: FileBytes<'_>,
    charset: Charset,
    check: Check<'_>,
) -> Result<FitResult> {
    let unmarked = Charset::labelled(&charset.name(), b"").filter(|_| names_mark(diff));
    let charset = unmarked.unwrap_or(charset);
    let (ends, has_no_returns) = line_ends(&diff.hunks);
    let (found, summary) = search(diff, ends, &bytes, charset, check)?;
    // Git diffs show line endings exactly; other sources may have lost carriage returns.
    let is_foreign = has_no_returns && summary.feeds == 0 && summary.returns > 0 && !diff.is_exact();
    let file = OriginalFile { bytes, charset, summary, ends, is_foreign };
    let placed = placing::place(diff, &found, &file.summary, charset.bom().len() as u64);
    let mut fitting = HunkFitter { file, explained: 0, check, out: FitResult::default() };
    for (hunk, placement) in diff.hunks.iter().zip(&placed) {
        fitting.take(hunk, placement)?;
    }
    Ok(fitting.finish())
}

/// Whether the first line includes the byte order mark, as in git diffs.
fn names_mark(diff: &FileDiff) -> bool {
    diff.hunks.iter().any(|hunk| match hunk.old_lines().next() {
        Some(first) => first.text.starts_with('\u{FEFF}'),
        None => diff.is_exact() && stated(hunk) == Some(1),
    })
}

/// How line endings are compared, and whether no line has a carriage return.
fn line_ends(hunks: &[Hunk]) -> (LineEndMatching, bool) {
    let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
    let has_no_returns = !lines().any(|line| line.text.ends_with('\r'));
    let has_all_returns = lines().all(|line| line.is_open || line.text.ends_with('\r'));
    match has_no_returns || has_all_returns {
        true => (LineEndMatching::Any, has_no_returns),
        false => (LineEndMatching::Exact, false),
    }
}

fn search(
    diff: &FileDiff,
    ends: LineEndMatching,
    bytes: &FileBytes<'_>,
    charset: Charset,
    check: Check<'_>,
) -> Result<(Vec<HunkMatches>, FileSummary)> {
    let wanted: Vec<HunkQuery<'_>> = diff
        .hunks
        .iter()
        .map(|hunk| HunkQuery {
            lines: hunk.old_lines().collect(),
            stated: stated(hunk),
            is_at_end: hunk.is_at_end(),
        })
        .collect();
    let insertions = diff.hunks.iter().filter(|hunk| hunk.old_lines().next().is_none());
    let starts: Vec<u64> = insertions.filter_map(stated).collect();
    HunkSearch::new(charset, ends, &wanted, &starts).run(bytes, check)
}

struct HunkFitter<'a> {
    file: OriginalFile<'a>,
    /// Number of hunks explained in detail.
    explained: usize,
    check: Check<'a>,
    out: FitResult,
}

impl HunkFitter<'_> {
    fn take(&mut self, hunk: &Hunk, placement: &Result<HunkMatch, PlacementError>) -> Result<()> {
        (self.check)()?;
        let (additions, deletions) = hunk.changes();
        let mut verdict = HunkVerdict {
            patch_line: hunk.line,
            line: None,
            new_line: None,
            offset: None,
            additions,
            deletions,
            note: note(hunk),
            problem: None,
        };
        match placement {
            Ok(placement) => self.apply(hunk, placement, &mut verdict)?,
            Err(misfit) => verdict.problem = Some(self.explain(hunk, misfit)?),
        }
        self.out.hunks.push(verdict);
        Ok(())
    }

    fn apply(&mut self, hunk: &Hunk, placement: &HunkMatch, verdict: &mut HunkVerdict) -> Result<()> {
        if let Err(error) = refuse_placeholder(hunk) {
            verdict.problem = Some(error.into());
            return Ok(());
        }
        match rewrite(&self.file, hunk, placement)? {
            Ok(rewritten) => {
                (verdict.line, verdict.offset) = (Some(placement.line), shift(hunk, placement.line));
                self.out.cuts.extend(rewritten.cuts);
                self.out.is_adapted |= rewritten.is_adapted;
            }
            Err(unmappable) => verdict.problem = Some(self.unheld(&unmappable).into()),
        }
        Ok(())
    }

    fn unheld(&self, unmappable: &Unmappable) -> ToolError {
        let name = self.file.charset.name();
        let message =
            format!("the file is in {name}, which cannot hold {unmappable}; leave these characters out");
        ToolError::new(Reason::InvalidEncoding, message)
    }

    fn explain(&mut self, hunk: &Hunk, misfit: &PlacementError) -> Result<PatchProblem> {
        let error = match misfit {
            PlacementError::Absent => return self.absent(hunk),
            PlacementError::Unmappable(unmappable) => {
                let name = self.file.charset.name();
                let message =
                    format!("its lines are not in the file, which is in {name} and cannot hold {unmappable}");
                ToolError::new(Reason::NoMatch, message)
            }
            PlacementError::Ambiguous(lines, total) => ambiguous(hunk, lines, *total),
            PlacementError::Placeless(why) => ToolError::new(Reason::Ambiguous, why.as_str()),
            PlacementError::Overlap(other) => {
                let message = format!("it changes lines that hunk {other} also changes; merge the two hunks");
                ToolError::new(Reason::InvalidArgument, message)
            }
        };
        Ok(error.into())
    }

    fn absent(&mut self, hunk: &Hunk) -> Result<PatchProblem> {
        let what = match hunk.is_at_end() {
            true => "its lines are not at the end of the file",
            false => "its lines are not in the file",
        };
        self.explained += 1;
        let (text, details) = match self.explained <= EXPLAINED {
            true => nearest(&self.file, hunk, self.check)?,
            false => (String::new(), serde_json::Map::new()),
        };
        let mut error = ToolError::new(Reason::NoMatch, format!("{what}{text}"));
        error.details.extend(details);
        Ok(error.into())
    }

    fn finish(mut self) -> FitResult {
        self.out.cuts.sort_by_key(|cut| (cut.range.start, cut.range.end));
        let mut order: Vec<usize> = (0..self.out.hunks.len()).collect();
        order.sort_by_key(|at| self.out.hunks[*at].line);
        let mut added = 0;
        for at in order {
            let hunk = &mut self.out.hunks[at];
            hunk.new_line = hunk.line.map(|line| line.saturating_add_signed(added));
            added += hunk.additions.cast_signed() - hunk.deletions.cast_signed();
        }
        self.out
    }
}

/// Refuses placeholders such as "rest unchanged" in the new lines.
fn refuse_placeholder(hunk: &Hunk) -> Result<()> {
    let text = |tag: LineTag| -> String {
        let lines = hunk.lines.iter().filter(|line| line.tag == tag);
        lines.flat_map(|line| [line.text.as_str(), "\n"]).collect()
    };
    let (old, new) = (text(LineTag::Delete), text(LineTag::Insert));
    let (additions, deletions) = hunk.changes();
    match new.len() < old.len() || additions < deletions {
        true => placeholder::refuse("the file", &new, |line, _| Ok(old.matches(line).count())),
        false => Ok(()),
    }
}

fn ambiguous(hunk: &Hunk, lines: &[u64], total: u64) -> ToolError {
    let named = lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = if total > lines.len() as u64 { ", …" } else { "" };
    let or_number = if hunk.has_numbers { ", or the right line number in its header" } else { "" };
    let message = format!(
        "its lines are in {total} places of the file, at lines {named}{more}; give more lines of context{or_number}"
    );
    ToolError::new(Reason::Ambiguous, message).with("lines", lines).with("places", total)
}

/// Describes errors in a hunk's header.
fn note(hunk: &Hunk) -> Option<String> {
    let Some(stated) = hunk.stated else {
        return hunk
            .has_numbers
            .then(|| "its header has no line numbers; it was placed by its lines".to_owned());
    };
    let (old, new) = hunk.counts();
    hunk.is_recounted.then(|| {
        format!(
            "its header counts {} lines before and {} after; there are {old} and {new}",
            stated.old.1, stated.new.1
        )
    })
}
