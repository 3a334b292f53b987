//! The diff of a file with splices, computed from their neighbourhoods only.

use super::bytes::index;
use super::diff::{CONTEXT, ChangedLines, lines};
use super::long_line::LongLine;
use super::{Charset, Check, DiffBuilder, Excerpt, FileBytes, Splice, line_breaks};
use beamai_base::Result;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Maximum bytes of a line that is compared as a whole, and of the context on either side. Of longer lines, only the part
/// around a change is shown.
const LONG: u64 = 16 << 10;
/// Bytes in which the changes of a long line are shown together.
const SHOWN: u64 = 240;
/// Bytes to search for a line end: at first, and at most.
const NEAR: u64 = 4 << 10;
const FAR: u64 = LONG;

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
    let mut view = DiffView { bytes, charset, diff, added_lines: 0, last_long: None, last_end: 0 };
    let mut part: Option<DiffPart<'a>> = None;
    let mut splices = splices.peekable();
    while let Some(splice) = splices.next() {
        check()?;
        if !view.diff.is_counting() {
            return Ok(());
        }
        if Instant::now() > deadline {
            view.diff.leave_out("there are too many changes to compare");
            return Ok(());
        }
        if view.is_long(&splice)? {
            part.take().map_or(Ok(()), |part| view.compare(&part))?;
            let mut group = vec![splice];
            while let Some(next) = splices.next_if(|next| next.line == group[0].line) {
                group.push(next);
            }
            view.excerpt(&group, check)?;
            continue;
        }
        part = match part {
            Some(part) => view.next(part, splice)?,
            None => Some(view.begin(splice)?),
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
    /// The long line that the last excerpt was of, if that was the last change.
    last_long: Option<u64>,
    /// The end of the last change of a long line.
    last_end: u64,
}

impl DiffView<'_> {
    /// Whether a line that a splice begins or ends in is too long to be compared.
    fn is_long(&self, splice: &Splice<'_>) -> Result<bool> {
        let Range { start, end } = splice.range;
        let bounds = self.lines_before(start, 0)?.zip(self.lines_after(end, 0)?);
        let Some(((line_start, _), line_end)) = bounds else { return Ok(true) };
        let mut scratch = Vec::new();
        let is_one_line =
            line_breaks(self.charset, self.bytes.read(start..end, &mut scratch)?).next().is_none();
        Ok(is_one_line && line_end - line_start > LONG)
    }

    /// Adds the changes of a long line: the first one is shown, with those near it.
    fn excerpt(&mut self, group: &[Splice<'_>], check: Check<'_>) -> Result<()> {
        let (mut removed, mut added, mut scratch) = (0, 0, Vec::new());
        let breaks = |bytes: &[u8]| line_breaks(self.charset, bytes).count() as u64;
        for splice in group {
            removed += breaks(self.bytes.read(splice.range.clone(), &mut scratch)?);
            added += breaks(splice.with);
        }
        let line = group[0].line;
        let own = u64::from(self.last_long != Some(line));
        self.last_long = Some(line + removed);
        let new_line = line.saturating_add_signed(self.added_lines);
        self.added_lines += added.cast_signed() - removed.cast_signed();
        self.diff.count_lines(removed + own, added + own);
        if self.diff.has_room() {
            let is_near = |splice: &&Splice<'_>| splice.range.end - group[0].range.start <= SHOWN;
            let near = &group[..group.iter().take_while(is_near).count().max(1)];
            let part = DiffPart {
                range: near[0].range.start..near[near.len() - 1].range.end,
                first_line: line,
                splices: near.to_vec(),
            };
            let gone = self.bytes.read(part.range.clone(), &mut scratch)?;
            let with = spliced(gone, &part);
            let limits =
                self.last_end..group.get(near.len()).map_or(self.bytes.len(), |next| next.range.start);
            let around = LongLine::around(self.bytes, self.charset, &part.range, limits, check)?;
            let [old, new] = [gone, &with].map(|bytes| around.with(&self.charset.decode(bytes).0));
            // Where they are, is said once; of a line that has more changes, how long it was.
            let (old, new) = match group.len() - near.len() {
                0 => (texts(&old, |part| part.text.clone()), texts(&new, Excerpt::marked)),
                more => {
                    let mut new = texts(&new, |part| part.text.clone());
                    new.last_mut().into_iter().for_each(|text| {
                        *text += &format!(
                            " [{more} more {} in this line]",
                            if more == 1 { "change" } else { "changes" }
                        )
                    });
                    (texts(&old, Excerpt::marked), new)
                }
            };
            self.diff.excerpt((line, &old), (new_line, &new));
        }
        self.last_end = group.last().map_or(0, |last| last.range.end);
        Ok(())
    }

    /// A part around a splice, with as much context as is near.
    fn begin<'a>(&mut self, splice: Splice<'a>) -> Result<DiffPart<'a>> {
        let (start, lines) = self.context_before(splice.range.start)?;
        let end = self.context_after(splice.range.end)?;
        Ok(DiffPart { range: start..end, first_line: splice.line - lines, splices: vec![splice] })
    }

    /// Where the context before a position begins, and the number of lines between.
    fn context_before(&self, at: u64) -> Result<(u64, u64)> {
        let lines = self.lines_before(at, CONTEXT)?;
        Ok(lines.map_or_else(|| self.lines_before(at, 0), |found| Ok(Some(found)))?.unwrap_or((at, 0)))
    }

    /// Where the context after a position ends.
    fn context_after(&self, at: u64) -> Result<u64> {
        let end = self.lines_after(at, CONTEXT)?;
        Ok(end.map_or_else(|| self.lines_after(at, 0), |end| Ok(Some(end)))?.unwrap_or(at))
    }

    /// Extends the part to the splice if it is near, or ends the part and begins a new one.
    fn next<'a>(&mut self, mut part: DiffPart<'a>, splice: Splice<'a>) -> Result<Option<DiffPart<'a>>> {
        let is_near = self.context_before(splice.range.start)?.0 <= part.range.end;
        if is_near && part.range.end - part.range.start > PART {
            return self.split(part, splice);
        }
        if !is_near {
            self.compare(&part)?;
            return self.begin(splice).map(Some);
        }
        part.range.end = self.context_after(splice.range.end)?.max(part.range.end);
        part.splices.push(splice);
        Ok(Some(part))
    }

    /// Ends a large part before the splice's line, and begins a new one there.
    fn split<'a>(&mut self, mut part: DiffPart<'a>, splice: Splice<'a>) -> Result<Option<DiffPart<'a>>> {
        let line_start = self.lines_before(splice.range.start, 0)?.map(|(start, _)| start);
        let last_end = part.splices.last().map_or(0, |last| last.range.end);
        match line_start {
            Some(start) if start >= last_end => {
                let end = self.context_after(splice.range.end)?;
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

fn texts(parts: &[Excerpt], text: impl Fn(&Excerpt) -> String) -> Vec<String> {
    parts.iter().map(text).collect()
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

    /// The diff of a text in which the bytes of each range are replaced.
    fn spliced_diff(label: &str, old: &str, changes: &[(&str, &str)]) -> crate::Diff {
        let charset = Charset::labelled(label, b"").unwrap();
        let bytes = charset.encode(old).unwrap().into_owned();
        let encoded: Vec<_> = changes.iter().map(|(_, to)| charset.encode(to).unwrap()).collect();
        let splices = changes.iter().zip(&encoded).map(|((from, _), with)| {
            let at = old.find(from).unwrap();
            let start = charset.encode(&old[..at]).unwrap().len() as u64;
            let end = start + charset.encode(from).unwrap().len() as u64;
            Splice { range: start..end, line: 1 + old[..at].matches('\n').count() as u64, with }
        });
        let mut diff = DiffBuilder::new("f", false, 4000);
        around(&FileBytes::Memory(&bytes), charset, splices, &mut diff, &|| Ok(())).unwrap();
        diff.finish()
    }

    #[test]
    fn of_a_line_that_is_too_long_the_part_around_the_change_is_shown() {
        for label in ["utf-8", "utf-16le", "gbk", "shift_jis"] {
            let long = |middle: &str| format!("{}{middle}{}", "あ".repeat(300_000), "い".repeat(200_000));
            let old = format!("one\ntwo\n{}\r\nfour\n", long("<old>"));
            let diff = spliced_diff(label, &old, &[("<old>", "<newer>")]);
            let (before, after) = ("あ".repeat(80), "い".repeat(80));
            assert_eq!(
                diff.text,
                format!(
                    "--- a/f\n+++ b/f\n@@ -3 +3 @@\n-…{before}<old>{after}…\n\
                     +…{before}<newer>{after}… [characters 299921 to 300087 of 500007]\n\
                     [diff truncated: of long lines, the part around a change is shown]\n"
                )
            );
            assert_eq!((diff.additions, diff.deletions, diff.is_truncated), (Some(1), Some(1), true));
        }
    }

    #[test]
    fn near_changes_of_a_long_line_are_shown_together_and_the_others_are_counted() {
        let old: String = (0..5_000).map(|number| format!("f{number}(old);")).collect();
        let from: Vec<String> = (0..5_000).map(|number| format!("f{number}(old)")).collect();
        let to: Vec<String> = (0..5_000).map(|number| format!("f{number}(new)")).collect();
        let changes: Vec<(&str, &str)> =
            from.iter().zip(&to).map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let diff = spliced_diff("utf-8", &old, &changes);
        let shown: String = (0..27).map(|number| format!("f{number}(new);")).collect();
        assert!(
            diff.text.contains(&format!("\n+{shown}… [4973 more changes in this line]\n")),
            "{}",
            diff.text
        );
        assert_eq!(diff.text.matches("\n@@").count(), 1);
        assert!(
            diff.text.contains("old);… [characters 1 to ")
                && diff.text.contains(&format!(" of {}]\n+f0", old.len()))
        );
        assert_eq!((diff.additions, diff.deletions), (Some(1), Some(1)));
        let few = spliced_diff("utf-8", &old, &[("f9(old)", "f9()"), ("f11(old)", "f(11)")]);
        assert!(few.text.contains("\n+…") || few.text.contains("\n+f0(old);"), "{}", few.text);
        assert!(few.text.contains("f9();f10(old);f(11);f12(old);"), "{}", few.text);
        assert!(few.text.contains(&format!(" of {}]\n[diff", old.len() - 6)), "{}", few.text);
    }

    #[test]
    fn several_changes_of_long_and_short_lines_have_their_own_numbers() {
        let old = format!("short\n{}<a>{}<b>\nlast <c>\n", "x".repeat(20_000), "y".repeat(20_000));
        let diff =
            spliced_diff("utf-8", &old, &[("short", "s\nh"), ("<a>", "A"), ("<b>", "B\nC"), ("<c>", "D")]);
        let headers: Vec<&str> = diff.text.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(headers, ["@@ -1 +1,2 @@", "@@ -2 +3 @@", "@@ -3 +5 @@"]);
        assert!(diff.text.contains("y… [1 more change in this line]\n"), "{}", diff.text);
        assert_eq!((diff.additions, diff.deletions), (Some(5), Some(3)), "{}", diff.text);
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
