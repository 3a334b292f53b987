//! Unified diffs, bounded in size and time.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp};
use std::fmt::Write;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Lines of context around a change.
pub(super) const CONTEXT: usize = 3;

/// Why a diff with [`Excerpt`]s is incomplete.
///
/// [`Excerpt`]: super::Excerpt
pub const LONG_LINES: &str = "of long lines, the part around a change is shown";

/// Time limit for finding a smaller diff.
const PATIENCE: Duration = Duration::from_millis(300);

/// A diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The unified diff; empty if nothing changed.
    pub text: String,
    /// Lines added; `None` if they were not counted.
    pub additions: Option<u64>,
    /// Lines removed; `None` if they were not counted.
    pub deletions: Option<u64>,
    /// Whether lines are missing from the text.
    pub is_truncated: bool,
}

/// Changed lines of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedLines {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Builds a diff hunk by hunk.
#[derive(Debug)]
pub struct DiffBuilder {
    header: String,
    text: String,
    most: usize,
    /// Why the text is incomplete.
    cut: Option<String>,
    /// Whether it has parts of long lines.
    has_excerpts: bool,
    counts: Option<(u64, u64)>,
}

impl DiffBuilder {
    /// A diff of the file `name`, which is new if `is_new`. Its hunks have at most `most` bytes.
    pub fn new(name: &str, is_new: bool, most: usize) -> Self {
        let old = if is_new { "/dev/null".to_owned() } else { quoted(&format!("a/{name}")) };
        Self::with_header(format!("--- {old}\n+++ {}\n", quoted(&format!("b/{name}"))), most)
    }

    /// A diff with this header, which may be empty. Its hunks have at most `most` bytes.
    pub fn with_header(header: String, most: usize) -> Self {
        Self { header, text: String::new(), most, cut: None, has_excerpts: false, counts: Some((0, 0)) }
    }

    /// Compares the old and the new text of a file.
    pub fn compare(&mut self, old: &str, new: &str) {
        let (old, new) = (lines(old), lines(new));
        let all = ChangedLines { old: 0..old.len(), new: 0..new.len() };
        self.compare_part(&old, &new, &[all], (1, 1));
    }

    /// Compares a part of the old and of the new file, which begins at these lines. Only the lines in `changes` differ;
    /// they are in order.
    pub(super) fn compare_part(
        &mut self,
        old: &[&str],
        new: &[&str],
        changes: &[ChangedLines],
        (old_line, new_line): (u64, u64),
    ) {
        let deadline = Instant::now() + PATIENCE;
        let mut ops = Vec::new();
        let mut at = (0, 0);
        for change in changes {
            push_equal(&mut ops, at, change.old.start - at.0);
            let (old_range, new_range) = (change.old.clone(), change.new.clone());
            at = (old_range.end, new_range.end);
            let mut diff = Compact::new(Replace::new(Capture::new()), old, new);
            let Ok(()) = myers::diff_deadline(&mut diff, old, old_range, new, new_range, Some(deadline));
            ops.extend(diff.into_inner().into_inner().into_ops());
        }
        push_equal(&mut ops, at, old.len() - at.0);
        for hunk in similar::group_diff_ops(joined(ops), CONTEXT) {
            self.hunk(&hunk, old, new, old_line, new_line);
        }
    }

    /// Notes a change that is neither shown nor counted, and the reason.
    pub fn leave_out(&mut self, why: &str) {
        self.cut.get_or_insert_with(|| why.to_owned());
        self.counts = None;
    }

    /// Whether changes are still counted, even if they are no longer shown.
    pub fn is_counting(&self) -> bool {
        self.counts.is_some()
    }

    fn hunk(&mut self, ops: &[DiffOp], old: &[&str], new: &[&str], old_line: u64, new_line: u64) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let side = |line: u64, start: Range<usize>, end: Range<usize>| header(line, start.start..end.end);
        let old_side = side(old_line, first.old_range(), last.old_range());
        let new_side = side(new_line, first.new_range(), last.new_range());
        if !self.push(&format!("@@ -{old_side} +{new_side} @@\n")) {
            return self.count_hunk(ops);
        }
        for op in ops {
            self.operation(op, old, new);
        }
    }

    /// Adds the lines of an operation; of a replacement, as many on either side as fit.
    fn operation(&mut self, op: &DiffOp, old: &[&str], new: &[&str]) {
        let texts = |tag: ChangeTag| -> Vec<String> {
            op.iter_changes(old, new)
                .filter(|change| change.tag() == tag)
                .map(|change| written(tag, change.value()))
                .collect()
        };
        let [equal, gone, added] = [ChangeTag::Equal, ChangeTag::Delete, ChangeTag::Insert].map(texts);
        self.count_lines(gone.len() as u64, added.len() as u64);
        equal.iter().for_each(|line| _ = self.push(line));
        let mut room = self.most.saturating_sub(self.text.len());
        let size = |side: &[String], at: usize| side.get(at).map_or(0, String::len);
        let fitting = (0..gone.len().max(added.len())).take_while(|at| {
            let left = room.checked_sub(size(&gone, *at) + size(&added, *at));
            room = left.unwrap_or(0);
            left.is_some()
        });
        let fitting = fitting.count();
        for side in [&gone, &added] {
            side.iter().take(fitting).for_each(|line| _ = self.push(line));
        }
        if fitting < gone.len().max(added.len()) {
            self.end();
        }
    }

    /// Adds a hunk of long lines of which only parts are shown: first line and texts on either side.
    pub(super) fn excerpt(&mut self, old: (u64, &[String]), new: (u64, &[String])) {
        let side = |(line, texts): (u64, &[String])| header(line, 0..texts.len());
        let lines = |tag: char, texts: &[String]| -> String {
            texts.iter().map(|text| format!("{tag}{text}\n")).collect()
        };
        let head = format!("@@ -{} +{} @@\n", side(old), side(new));
        self.has_excerpts |= self.push(&(head + &lines('-', old.1) + &lines('+', new.1)));
    }

    fn count_hunk(&mut self, ops: &[DiffOp]) {
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            self.count_lines(op.old_range().len() as u64, op.new_range().len() as u64);
        }
    }

    /// Counts removed and added lines.
    pub(super) fn count_lines(&mut self, removed: u64, added: u64) {
        if let Some((additions, deletions)) = &mut self.counts {
            *additions += added;
            *deletions += removed;
        }
    }

    /// Whether more text is added.
    pub(super) fn has_room(&self) -> bool {
        self.cut.is_none()
    }

    /// Adds text if there is room; after the first text that does not fit, nothing more is added.
    fn push(&mut self, text: &str) -> bool {
        let fits = self.has_room() && self.text.len() + text.len() <= self.most;
        if fits {
            self.text.push_str(text);
        } else {
            self.end();
        }
        fits
    }

    /// Adds nothing more, as it does not fit.
    fn end(&mut self) {
        self.cut.get_or_insert_with(|| format!("at most {} bytes are shown", self.most));
    }

    /// The diff.
    pub fn finish(self) -> Diff {
        let (additions, deletions) = self.counts.unzip();
        let mut text = match self.text.is_empty() && self.cut.is_none() {
            true => String::new(),
            false => self.header + &self.text,
        };
        let why = self.cut.as_deref().or(self.has_excerpts.then_some(LONG_LINES));
        if let Some(why) = why {
            _ = writeln!(text, "[diff truncated: {why}]");
        }
        Diff { text, additions, deletions, is_truncated: why.is_some() }
    }
}

/// A line of a diff.
fn written(tag: ChangeTag, line: &str) -> String {
    let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
    format!("{tag}{line}{end}")
}

/// The lines of a text with their ends. Only a line feed ends a line.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn push_equal(ops: &mut Vec<DiffOp>, (old_index, new_index): (usize, usize), len: usize) {
    if len > 0 {
        ops.push(DiffOp::Equal { old_index, new_index, len });
    }
}

/// The operations with adjacent ones merged: equal runs, and everything between two of them.
fn joined(ops: Vec<DiffOp>) -> Vec<DiffOp> {
    let mut out: Vec<DiffOp> = Vec::with_capacity(ops.len());
    for op in ops {
        match (out.last_mut(), op) {
            (Some(DiffOp::Equal { len, .. }), DiffOp::Equal { len: more, .. }) => *len += more,
            (None | Some(DiffOp::Equal { .. }), _) | (_, DiffOp::Equal { .. }) => out.push(op),
            (Some(last), _) => *last = replaced(last, &op),
        }
    }
    out
}

fn replaced(first: &DiffOp, last: &DiffOp) -> DiffOp {
    let (old, new) =
        (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
    DiffOp::Replace { old_index: old.start, old_len: old.len(), new_index: new.start, new_len: new.len() }
}

/// One side of a hunk's header.
fn header(first_line: u64, lines: Range<usize>) -> String {
    let start = first_line + lines.start as u64;
    match lines.len() {
        0 => format!("{},0", start - 1),
        1 => start.to_string(),
        count => format!("{start},{count}"),
    }
}

/// A name as git writes it: quoted and escaped if it could be misread.
pub fn quoted(name: &str) -> String {
    let is_plain = !name.chars().any(|char| char.is_control() || char == '"' || char == '\\');
    // Readers of patches drop white space at the end of a line.
    if is_plain && !name.ends_with(char::is_whitespace) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for char in name.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            char if char.is_ascii_control() => _ = write!(out, "\\{:03o}", u32::from(char)),
            char => out.push(char),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str, most: usize) -> Diff {
        let mut diff = DiffBuilder::new("f", old.is_empty(), most);
        diff.compare(old, new);
        diff.finish()
    }

    #[test]
    fn a_change_has_three_lines_of_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let got = diff(old, &old.replace('5', "five"), 1000);
        assert_eq!(got.text, "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!((got.additions, got.deletions), (Some(1), Some(1)));
    }

    #[test]
    fn a_new_file_comes_from_nowhere() {
        assert_eq!(
            diff("", "a\nb", 1000).text,
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
        );
        assert_eq!(diff("a\n", "a\n", 1000).text, "");
    }

    #[test]
    fn lines_that_do_not_fit_are_counted_and_the_cut_is_said() {
        let got = diff("", &"line\n".repeat(100), 50);
        assert_eq!((got.additions, got.deletions, got.is_truncated), (Some(100), Some(0), true));
        assert!(got.text.ends_with("+line\n[diff truncated: at most 50 bytes are shown]\n"), "{}", got.text);
    }

    #[test]
    fn of_lines_that_do_not_fit_both_sides_are_shown() {
        let got = diff(&"old\n".repeat(100), &"new\n".repeat(100), 60);
        let text = "--- a/f\n+++ b/f\n@@ -1,100 +1,100 @@\n-old\n-old\n-old\n-old\n+new\n+new\n+new\n+new\n\
                    [diff truncated: at most 60 bytes are shown]\n";
        assert_eq!((got.text.as_str(), got.additions, got.deletions), (text, Some(100), Some(100)));
    }

    #[test]
    fn input_made_to_be_slow_is_not() {
        let text = |seed: u64| -> String {
            let mut state = seed;
            (0..60_000)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if state >> 63 == 0 { "a\n" } else { "b\n" }
                })
                .collect()
        };
        let start = Instant::now();
        let got = diff(&text(1), &text(2), 1000);
        assert!(got.additions.is_some());
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(quoted("a/x y ä"), "a/x y ä");
        assert_eq!(quoted("a/x "), "\"a/x \"");
        assert_eq!(quoted("a/x\n\"\\"), "\"a/x\\n\\\"\\\\\"");
    }
}
