//! Chooses among the positions where a hunk matches.
//!
//! All old lines must match exactly. The line number in the header is used if the lines match there, and so is the
//! offset of a neighbouring hunk that matches in only one place. A hunk that remains ambiguous is refused.

use super::diff::{FileDiff, Hunk};
use super::search::{FileSummary, HunkMatch, HunkMatches};
use beamai_text::Unmappable;

/// Maximum number of matching lines in an error.
const NAMED: usize = 20;

/// Why a hunk cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlacementError {
    /// Its old lines do not occur.
    Absent,
    /// Its old lines have characters that the file's encoding cannot represent.
    Unmappable(Unmappable),
    /// Its old lines occur in several places: the first line numbers, and the total.
    Ambiguous(Vec<u64>, u64),
    /// It has no old lines, and its header does not determine a position.
    Placeless(String),
    /// It overlaps the hunk with this number.
    Overlap(usize),
}

/// Finds the position of each hunk. `start_of` returns the start of lines that hunks without old lines name.
pub(super) fn place(
    diff: &FileDiff,
    found: &[HunkMatches],
    summary: &FileSummary,
    top: u64,
) -> Vec<Result<HunkMatch, PlacementError>> {
    let is_known = diff.is_exact();
    let anchors = HunkAnchors::new(diff.hunks.iter().zip(found).map(|(hunk, found)| anchor(hunk, found)));
    let mut placed: Vec<Result<HunkMatch, PlacementError>> = Vec::with_capacity(found.len());
    for (at, (hunk, matches)) in diff.hunks.iter().zip(found).enumerate() {
        placed.push(match hunk.old_lines().next() {
            Some(_) => choose(hunk, matches, &anchors.beside(at)),
            None => Insertion { hunk, summary, top, is_known, anchors: &anchors }.place(),
        });
    }
    refuse_overlaps(diff, &mut placed);
    placed
}

/// A hunk that matches in only one place: its line, the line after it, and its offset.
#[derive(Debug, Clone)]
struct HunkAnchor {
    lines: std::ops::Range<u64>,
    shift: Option<i64>,
}

/// The anchors around each hunk.
struct HunkAnchors {
    before: Vec<Option<HunkAnchor>>,
    after: Vec<Option<HunkAnchor>>,
    /// Whether any of them has an offset.
    have_moved: bool,
}

/// The nearest anchors before and after a hunk.
struct NearestAnchors<'a> {
    before: Option<&'a HunkAnchor>,
    after: Option<&'a HunkAnchor>,
}

impl HunkAnchors {
    fn new(each: impl Iterator<Item = Option<HunkAnchor>>) -> Self {
        let each: Vec<Option<HunkAnchor>> = each.collect();
        let has_moved = |anchor: &HunkAnchor| anchor.shift.is_some_and(|shift| shift != 0);
        let mut after = latest(each.iter().rev());
        after.reverse();
        Self { before: latest(each.iter()), after, have_moved: each.iter().flatten().any(has_moved) }
    }

    fn beside(&self, at: usize) -> NearestAnchors<'_> {
        NearestAnchors { before: self.before[at].as_ref(), after: self.after[at].as_ref() }
    }
}

/// For each element, the last anchor before it.
fn latest<'a>(each: impl Iterator<Item = &'a Option<HunkAnchor>>) -> Vec<Option<HunkAnchor>> {
    let next = |last: &mut Option<HunkAnchor>, anchor: &Option<HunkAnchor>| {
        let before = last.clone();
        if anchor.is_some() {
            last.clone_from(anchor);
        }
        Some(before)
    };
    each.scan(None, next).collect()
}

fn anchor(hunk: &Hunk, found: &HunkMatches) -> Option<HunkAnchor> {
    let hunk_match = found.near.front().filter(|_| found.total == 1)?;
    Some(HunkAnchor {
        lines: hunk_match.line..hunk_match.line + hunk.counts().0,
        shift: shift(hunk, hunk_match.line),
    })
}

/// The offset of a line from the line in the hunk's header.
pub(super) fn shift(hunk: &Hunk, line: u64) -> Option<i64> {
    let stated = stated(hunk)?;
    Some(line.cast_signed() - stated.cast_signed())
}

/// The first line of the hunk according to its header.
pub(super) fn stated(hunk: &Hunk) -> Option<u64> {
    hunk.stated.map(|stated| match hunk.old_lines().next() {
        // An insertion comes after the stated line.
        None => stated.old.0 + 1,
        Some(_) => stated.old.0.max(1),
    })
}

fn choose(
    hunk: &Hunk,
    found: &HunkMatches,
    beside: &NearestAnchors<'_>,
) -> Result<HunkMatch, PlacementError> {
    if let Some(unmappable) = &found.unmappable {
        return Err(PlacementError::Unmappable(unmappable.clone()));
    }
    let only = |matches: Vec<&HunkMatch>| match matches.as_slice() {
        [hunk_match] => Some((*hunk_match).clone()),
        _ => None,
    };
    let hinted = hinted(hunk, found, beside);
    if hinted.len() > 1 {
        return Err(ambiguous(hinted.into_iter(), 0));
    }
    match found.total {
        0 => Err(PlacementError::Absent),
        1 => found.near.front().cloned().ok_or(PlacementError::Absent),
        total => only(hinted)
            .or_else(|| only(between(found, beside)))
            .ok_or_else(|| ambiguous(found.near.iter(), total)),
    }
}

fn ambiguous<'p>(matches: impl Iterator<Item = &'p HunkMatch>, total: u64) -> PlacementError {
    let lines: Vec<u64> = matches.take(NAMED).map(|hunk_match| hunk_match.line).collect();
    let total = total.max(lines.len() as u64);
    PlacementError::Ambiguous(lines, total)
}

/// The matches at the stated line, with and without the offsets of the neighbours.
fn hinted<'p>(hunk: &Hunk, found: &'p HunkMatches, beside: &NearestAnchors<'_>) -> Vec<&'p HunkMatch> {
    let Some(stated) = stated(hunk) else { return vec![] };
    let neighbour = |anchor: Option<&HunkAnchor>| anchor.and_then(|anchor| anchor.shift).unwrap_or(0);
    let shifts = [0, neighbour(beside.before), neighbour(beside.after)];
    let lines = shifts.map(|shift| stated.saturating_add_signed(shift));
    found.near.iter().filter(|hunk_match| lines.contains(&hunk_match.line)).collect()
}

/// The matches between the previous and the next hunk.
fn between<'p>(found: &'p HunkMatches, beside: &NearestAnchors<'_>) -> Vec<&'p HunkMatch> {
    if found.total > found.near.len() as u64 {
        return vec![];
    }
    let after = beside.before.map_or(0, |anchor| anchor.lines.end);
    let before = beside.after.map_or(u64::MAX, |anchor| anchor.lines.start);
    found.near.iter().filter(|hunk_match| hunk_match.line >= after && hunk_match.line < before).collect()
}

/// A hunk that only adds lines: only its header tells where.
struct Insertion<'a> {
    hunk: &'a Hunk,
    summary: &'a FileSummary,
    /// Start of the file's first line, after a byte order mark.
    top: u64,
    is_known: bool,
    anchors: &'a HunkAnchors,
}

impl Insertion<'_> {
    fn place(&self) -> Result<HunkMatch, PlacementError> {
        if self.summary.lines == 0 {
            return Ok(HunkMatch { line: 1, range: self.top..self.top });
        }
        let line = match stated(self.hunk) {
            Some(line) => self.check(line).map_err(|why| format!(", and {why}")),
            None if self.hunk.has_numbers => Err(", and its header has no line numbers".to_owned()),
            None => Err(String::new()),
        };
        let line = line.map_err(|why| {
            PlacementError::Placeless(format!(
                "it has no line that is in the file already{why}; give lines of the file before and after as context"
            ))
        })?;
        let start = match line {
            1 => self.top,
            line => self.summary.starts.get(&line).copied().unwrap_or(self.top),
        };
        Ok(HunkMatch { line, range: start..start })
    }

    fn check(&self, line: u64) -> Result<u64, &'static str> {
        let is_end = line == self.summary.lines + 1;
        match () {
            () if self.hunk.stated.is_some_and(|stated| stated.old.1 != 0) => {
                Err("its header counts lines that are")
            }
            () if line == 1 && !self.is_known => Err(
                "its header, which begins with -0,0, is that of a new file, but the file exists and is not empty",
            ),
            () if line > self.summary.lines + 1 => Err("its header names a line beyond the end of the file"),
            () if is_end && self.summary.is_open => {
                Err("the last line of the file does not end with a newline")
            }
            () if !is_end && self.hunk.is_at_end() => {
                Err("its last line ends the file, but it is not at the end")
            }
            () if self.anchors.have_moved => Err("other hunks are not on the lines that their headers name"),
            () => Ok(line),
        }
    }
}

/// Refuses hunks that overlap.
fn refuse_overlaps(diff: &FileDiff, placed: &mut [Result<HunkMatch, PlacementError>]) {
    let mut order: Vec<(u64, u64, usize)> = placed
        .iter()
        .enumerate()
        .filter_map(|(at, hunk_match)| Some((hunk_match.as_ref().ok()?.line, diff.hunks[at].counts().0, at)))
        .collect();
    order.sort_by_key(|(line, _, at)| (*line, *at));
    for pair in order.windows(2) {
        let ((line, len, at), (next, _, other)) = (pair[0], pair[1]);
        if next < line + len {
            placed[at] = Err(PlacementError::Overlap(other + 1));
            placed[other] = Err(PlacementError::Overlap(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(anchors: &HunkAnchors, at: usize) -> (Option<u64>, Option<u64>) {
        let line = |anchor: Option<&HunkAnchor>| anchor.map(|anchor| anchor.lines.start);
        (line(anchors.beside(at).before), line(anchors.beside(at).after))
    }

    #[test]
    fn the_nearest_anchors_are_on_either_side() {
        let anchor = |line: u64, shift| Some(HunkAnchor { lines: line..line + 1, shift: Some(shift) });
        let anchors = HunkAnchors::new([None, anchor(5, 0), None, None, anchor(9, 2), None].into_iter());
        let all: Vec<_> = (0..6).map(|at| beside(&anchors, at)).collect();
        let (five, nine) = (Some(5), Some(9));
        assert_eq!(all, [(None, five), (None, nine), (five, nine), (five, nine), (five, None), (nine, None)]);
        assert!(anchors.have_moved);
        assert!(!HunkAnchors::new([anchor(5, 0), None].into_iter()).have_moved);
    }

    #[test]
    fn a_stated_line_is_where_the_old_lines_begin() {
        use super::super::diff::{HunkLine, HunkRange, LineTag};
        let hunk = |old, tag| Hunk {
            line: 1,
            stated: Some(HunkRange { old, new: (1, 1) }),
            is_recounted: false,
            has_numbers: true,
            lines: vec![HunkLine { tag, text: String::new(), is_open: false }],
        };
        assert_eq!(stated(&hunk((4, 0), LineTag::Insert)), Some(5));
        assert_eq!(stated(&hunk((4, 1), LineTag::Delete)), Some(4));
        assert_eq!(stated(&hunk((0, 0), LineTag::Delete)), Some(1));
        let farthest = hunk((1 << 48, 0), LineTag::Insert);
        assert_eq!(shift(&farthest, 1), Some(-(1 << 48)));
    }
}
