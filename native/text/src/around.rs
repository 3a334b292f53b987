//! The diff of a file with splices, computed from their neighbourhoods only.

use super::bytes::index;
use super::diff::{CONTEXT, ChangedLines, lines};
use super::{Charset, Check, DiffBuilder, FileBytes, Splice, line_breaks};
use beamai_base::Result;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Bytes to search for a line end: at first, and at most.
const NEAR: u64 = 4 << 10;
const FAR: u64 = 256 << 10;

/// Maximum size of a part that is compared at once, in bytes.
const PART: u64 = 1 << 20;

/// Time limit, after which changes are no longer counted.
const PATIENCE: Duration = Duration::from_secs(1);

/// Adds the changes by `splices` to `diff`. Splices are in order and do not overlap.
///
/// # Errors
/// Those of reading, and of `check`.
pub fn around<'a>(
    bytes: &FileBytes<'_>,
    charset: Charset,
    splices: impl Iterator<Item = Splice<'a>>,
    diff: &mut DiffBuilder,
    check: Check<'_>,
) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut view = DiffView { bytes, charset, diff, added_lines: 0 };
    let mut part: Option<DiffPart<'a>> = None;
    for splice in splices {
        check()?;
        if !view.diff.is_counting() {
            return Ok(());
        }
        if Instant::now() > deadline {
            view.diff.leave_out("there are too many changes to compare");
            return Ok(());
        }
        part = match part {
            Some(part) => view.next(part, splice)?,
            None => view.begin(splice)?,
        };
    }
    part.map_or(Ok(()), |part| view.compare(&part))
}

/// Consecutive whole lines that contain splices.
struct DiffPart<'a> {
    range: Range<u64>,
    first_line: u64,
    splices: Vec<Splice<'a>>,
}

struct DiffView<'v> {
    bytes: &'v FileBytes<'v>,
    charset: Charset,
    diff: &'v mut DiffBuilder,
    /// Lines added by earlier splices, less those removed.
    added_lines: i64,
}

impl DiffView<'_> {
    /// A part around a splice; `None` if its lines are too long.
    fn begin<'a>(&mut self, splice: Splice<'a>) -> Result<Option<DiffPart<'a>>> {
        let start = self.lines_before(splice.range.start, CONTEXT)?;
        let end = self.lines_after(splice.range.end, CONTEXT)?;
        let Some(((start, lines), end)) = start.zip(end) else {
            self.diff.leave_out("the changed lines are too long to be shown");
            return Ok(None);
        };
        Ok(Some(DiffPart { range: start..end, first_line: splice.line - lines, splices: vec![splice] }))
    }

    /// Extends the part to the splice if it is near, or ends the part and begins a new one.
    fn next<'a>(&mut self, mut part: DiffPart<'a>, splice: Splice<'a>) -> Result<Option<DiffPart<'a>>> {
        let Some((start, _)) = self.lines_before(splice.range.start, CONTEXT)? else {
            self.compare(&part)?;
            return self.begin(splice);
        };
        let is_near = start <= part.range.end;
        if is_near && part.range.end - part.range.start > PART {
            return self.split(part, splice);
        }
        if !is_near {
            self.compare(&part)?;
            return self.begin(splice);
        }
        let Some(end) = self.lines_after(splice.range.end, CONTEXT)? else {
            self.compare(&part)?;
            return self.begin(splice);
        };
        part.range.end = end.max(part.range.end);
        part.splices.push(splice);
        Ok(Some(part))
    }

    /// Ends a large part before the splice's line, and begins a new one there.
    fn split<'a>(&mut self, mut part: DiffPart<'a>, splice: Splice<'a>) -> Result<Option<DiffPart<'a>>> {
        let line_start = self.lines_before(splice.range.start, 0)?.map(|(start, _)| start);
        let last_end = part.splices.last().map_or(0, |last| last.range.end);
        match (line_start, self.lines_after(splice.range.end, CONTEXT)?) {
            (Some(start), Some(end)) if start >= last_end => {
                part.range.end = start;
                self.compare(&part)?;
                Ok(Some(DiffPart { range: start..end, first_line: splice.line, splices: vec![splice] }))
            }
            _ => {
                self.diff.leave_out("the changed lines are too long to be shown");
                Ok(None)
            }
        }
    }

    fn compare(&mut self, part: &DiffPart<'_>) -> Result<()> {
        let mut scratch = Vec::new();
        let old = self.bytes.read(part.range.clone(), &mut scratch)?;
        let new = spliced(old, part);
        let (old, new) = (self.charset.decode(old).0, self.charset.decode(&new).0);
        let (old, new) = (lines(&old), lines(&new));
        let changes = self.changes(part, old.len(), new.len());
        let new_line = part.first_line.saturating_add_signed(self.added_lines);
        self.diff.compare_part(&old, &new, &changes, (part.first_line, new_line));
        self.added_lines += line_ends(&new) - line_ends(&old);
        Ok(())
    }

    /// The lines of a part that its splices change: from the line where a splice begins to the line where it ends.
    fn changes(&self, part: &DiffPart<'_>, old_len: usize, new_len: usize) -> Vec<ChangedLines> {
        let mut changes: Vec<ChangedLines> = Vec::new();
        let mut scratch = Vec::new();
        // Lines added in this part so far, less those removed.
        let mut added = 0;
        for splice in &part.splices {
            // The part has been read completely before, so its pieces can be too.
            let gone = self.bytes.read(splice.range.clone(), &mut scratch).unwrap_or_default();
            let start = index(splice.line - part.first_line);
            let end = start + line_breaks(self.charset, gone).count() + 1;
            let from = start.saturating_add_signed(added);
            let to = from + line_breaks(self.charset, splice.with).count() + 1;
            added += (to - from).cast_signed() - (end - start).cast_signed();
            let change = ChangedLines { old: start..end.min(old_len), new: from..to.min(new_len) };
            match changes.last_mut() {
                Some(last) if start < last.old.end => {
                    (last.old.end, last.new.end) = (change.old.end, change.new.end);
                }
                _ => changes.push(change),
            }
        }
        changes
    }

    /// The start of the line `count` lines before the one at `at`, and the number of lines between.
    fn lines_before(&self, at: u64, count: usize) -> Result<Option<(u64, u64)>> {
        let first = self.charset.bom().len() as u64;
        for reach in [NEAR, FAR] {
            // Blocks begin at a code unit.
            let from = at.saturating_sub(reach).max(first);
            let mut scratch = Vec::new();
            let block = self.bytes.read(from..at, &mut scratch)?;
            let mut breaks = line_breaks(self.charset, block).rev();
            if let Some(start) = breaks.by_ref().nth(count) {
                return Ok(Some((from + start as u64, count as u64)));
            }
            if from == first {
                let between = line_breaks(self.charset, block).count() as u64;
                return Ok(Some((from, between)));
            }
        }
        Ok(None)
    }

    /// The end of the line `count` lines after the one at `at`.
    fn lines_after(&self, at: u64, count: usize) -> Result<Option<u64>> {
        for reach in [NEAR, FAR] {
            let mut scratch = Vec::new();
            let block = self.bytes.read(at..at + reach, &mut scratch)?;
            if let Some(end) = line_breaks(self.charset, block).nth(count) {
                return Ok(Some(at + end as u64));
            }
            if at + block.len() as u64 == self.bytes.len() {
                return Ok(Some(self.bytes.len()));
            }
        }
        Ok(None)
    }
}

fn spliced(old: &[u8], part: &DiffPart<'_>) -> Vec<u8> {
    let mut new = Vec::with_capacity(old.len());
    let mut at = 0;
    for splice in &part.splices {
        let here = |position: u64| index(position - part.range.start);
        new.extend_from_slice(&old[at..here(splice.range.start)]);
        new.extend_from_slice(splice.with);
        at = here(splice.range.end);
    }
    new.extend_from_slice(&old[at..]);
    new
}

fn line_ends(lines: &[&str]) -> i64 {
    let ends = lines.iter().filter(|line| line.ends_with('\n'));
    i64::try_from(ends.count()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Needle, Overlap, find};
    use proptest::prelude::*;

    fn replaced(old: &str, from: &str, to: &str) -> (String, String) {
        let mut whole = DiffBuilder::new("f", false, 1 << 20);
        whole.compare(old, &old.replace(from, to));
        let mut parts = DiffBuilder::new("f", false, 1 << 20);
        let bytes = FileBytes::Memory(old.as_bytes());
        let needle = Needle::new(Charset::UTF8, from).unwrap();
        let found = find(&bytes, Charset::UTF8, &needle, Overlap::First, usize::MAX, &|| Ok(())).unwrap();
        let splices = found.hits.iter().map(|hit| Splice {
            range: hit.range.clone(),
            line: hit.line,
            with: to.as_bytes(),
        });
        around(&bytes, Charset::UTF8, splices, &mut parts, &|| Ok(())).unwrap();
        (whole.finish().text, parts.finish().text)
    }

    proptest! {
        #[test]
        fn parts_give_the_diff_of_the_whole(lines in proptest::collection::vec("[a-c]{0,2}x?", 0..40), to in "[yz\n]{0,3}") {
            // With distinct lines there is only one alignment.
            let old: String = lines.iter().enumerate().map(|(at, line)| format!("{at}{line}\n")).collect();
            let (whole, parts) = replaced(&old, "x", &to);
            prop_assert_eq!(whole, parts);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_said_to_be() {
        let mut diff = DiffBuilder::new("f", false, 1000);
        let line = "x".repeat(1 << 20);
        let splices = [Splice { range: 500_000..500_001, line: 1, with: b"y" }];
        around(
            &FileBytes::Memory(line.as_bytes()),
            Charset::UTF8,
            splices.into_iter(),
            &mut diff,
            &|| Ok(()),
        )
        .unwrap();
        let diff = diff.finish();
        assert!(diff.text.contains("[diff truncated: the changed lines are too long to be shown]"));
        assert_eq!((diff.additions, diff.is_truncated), (None, true));
    }

    #[test]
    fn many_changes_are_compared_in_parts() {
        let old = "line x\nanother\n".repeat(200_000);
        let mut diff = DiffBuilder::new("f", false, 1000);
        let hits =
            (0..200_000u64).map(|n| Splice { range: n * 15 + 5..n * 15 + 6, line: n * 2 + 1, with: b"yy" });
        around(&FileBytes::Memory(old.as_bytes()), Charset::UTF8, hits, &mut diff, &|| Ok(())).unwrap();
        let diff = diff.finish();
        // A slow machine may give up counting, but never counts wrong.
        assert!(matches!((diff.additions, diff.deletions), (Some(200_000), Some(200_000)) | (None, None)));
    }
}
