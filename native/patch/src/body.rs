//! Parses hunks. The line numbers in their headers may be wrong; their lines are trusted.

use super::diff::{Hunk, HunkLine, HunkRange, LineTag};
use super::parser::malformed;
use beamai_base::Result;

/// The lines of a patch, 0-based.
pub(super) struct PatchLines<'a>(Vec<&'a str>);

impl<'a> PatchLines<'a> {
    pub(super) fn new(patch: &'a str) -> Self {
        let patch = patch.strip_prefix('\u{FEFF}').unwrap_or(patch);
        let mut lines: Vec<&str> = patch.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        Self(lines)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A line; empty past the end.
    pub(super) fn line(&self, at: usize) -> &'a str {
        self.0.get(at).copied().unwrap_or_default()
    }

    /// A header line, without a carriage return.
    pub(super) fn head(&self, at: usize) -> &'a str {
        let line = self.line(at);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Whether the lines that name a file start here.
    pub(super) fn begins_file(&self, at: usize) -> bool {
        self.line(at).starts_with("--- ") && self.line(at + 1).starts_with("+++ ")
    }

    /// Whether a hunk starts here.
    pub(super) fn is_hunk(&self, at: usize) -> bool {
        let line = self.head(at);
        line.starts_with("@@ ") || line == "@@" || line.starts_with("@@-")
    }

    fn is_end(&self, at: usize) -> bool {
        at >= self.len()
    }

    /// Whether this is the signature separator of a `git format-patch` mail.
    fn is_signature(&self, at: usize) -> bool {
        let is_version = self.head(at + 1).starts_with(|first: char| first.is_ascii_digit());
        matches!(self.head(at), "-- " | "--") && is_version
    }
}

/// Whether the line starts a mail in mbox format.
pub(super) fn is_mail(line: &str) -> bool {
    let Some(hash) = line.strip_prefix("From ").and_then(|rest| rest.split(' ').next()) else { return false };
    matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The start of a line, for messages.
pub(super) fn cut(line: &str) -> &str {
    line.char_indices().nth(60).map_or(line, |(at, _)| &line[..at])
}

/// Parses the hunk at a line, and returns where it ends. In a patch that `is_converted`, every line has a carriage
/// return that is not part of the file.
pub(super) fn hunk(text: &PatchLines<'_>, at: usize, is_converted: bool) -> Result<(Hunk, usize)> {
    let stated = numbers(text.head(at)).map_err(|problem| malformed(at + 1, problem))?;
    let start = at + 1;
    let counted = stated.and_then(|stated| counted(text, start, stated));
    let end = match counted {
        Some(end) => end,
        None => uncounted(text, start, stated)?,
    };
    let lines = lines(text, start..end, is_converted)?;
    if lines.iter().all(|line| line.tag == LineTag::Context) {
        return Err(malformed(at + 1, "the hunk changes nothing: no line of it begins with \"-\" or \"+\""));
    }
    let is_recounted = stated.is_some() && counted.is_none();
    Ok((Hunk { line: at + 1, stated, is_recounted, has_numbers: true, lines }, end))
}

/// Parses the numbers of a header; `None` if there are none.
fn numbers(header: &str) -> Result<Option<HunkRange>, String> {
    let inner = header[2..].split("@@").next().unwrap_or_default().trim();
    if !inner.starts_with('-') {
        return Ok(None);
    }
    let mut ranges = inner.split_whitespace();
    let old = ranges.next().and_then(|text| range(text.strip_prefix('-')?));
    let new = ranges.next().and_then(|text| range(text.strip_prefix('+')?));
    match old.zip(new) {
        Some((old, new)) => Ok(Some(HunkRange { old, new })),
        None => Err(format!("expected \"@@ -1,3 +1,4 @@\", found {:?}", cut(header))),
    }
}

/// Larger line numbers are rejected, so that sums of a few of them cannot overflow.
const MOST_LINES: u64 = 1 << 48;

fn range(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| text.parse().ok().filter(|number| *number <= MOST_LINES);
    match text.split_once(',') {
        Some((first, count)) => Some((number(first)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

/// The end of the hunk according to its header; `None` if its lines do not match the header.
fn counted(text: &PatchLines<'_>, start: usize, stated: HunkRange) -> Option<usize> {
    let (mut old, mut new) = (stated.old.1, stated.new.1);
    let mut at = start;
    while old > 0 || new > 0 {
        if text.is_end(at) {
            return None;
        }
        match text.line(at).bytes().next() {
            Some(b' ' | b'\r') | None => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'\\') => {}
            Some(_) => return None,
        }
        at += 1;
    }
    if text.line(at).starts_with('\\') {
        at += 1;
    }
    (!goes_on(text, at)).then_some(at)
}

/// Whether more lines of the hunk follow although its header says that it has ended.
fn goes_on(text: &PatchLines<'_>, at: usize) -> bool {
    if text.begins_file(at) || text.is_signature(at) {
        return false;
    }
    let mut next = at;
    while !text.is_end(next) && text.head(next).is_empty() {
        next += 1;
    }
    match text.line(next).bytes().next() {
        Some(b' ' | b'\\') => next == at,
        Some(b'+' | b'-') => !text.begins_file(next) && !text.is_signature(next),
        _ => false,
    }
}

/// The end of the hunk according to its lines alone.
fn uncounted(text: &PatchLines<'_>, start: usize, stated: Option<HunkRange>) -> Result<usize> {
    let mut end = start;
    while is_body(text, end) {
        end += 1;
    }
    if !may_follow(text, end) {
        let found = cut(text.head(end));
        let problem = format!(
            "a line of a hunk begins with \" \", \"-\" or \"+\", or the next header does, found {found:?}"
        );
        return Err(malformed(end + 1, problem));
    }
    Ok(without_empty_end(text, start, end, stated))
}

fn is_body(text: &PatchLines<'_>, at: usize) -> bool {
    let is_line = matches!(text.line(at).bytes().next(), Some(b' ' | b'-' | b'+' | b'\\' | b'\r') | None);
    is_line && !text.is_end(at) && !text.begins_file(at) && !text.is_signature(at)
}

/// Whether a line can follow a hunk.
fn may_follow(text: &PatchLines<'_>, at: usize) -> bool {
    const KNOWN: [&str; 10] = [
        "diff ",
        "Index: ",
        "===",
        "```",
        "commit ",
        "*** End Patch",
        "Only in ",
        "Common ",
        "Binary files ",
        "~~~",
    ];
    let line = text.head(at);
    let is_known = || KNOWN.iter().any(|known| line.starts_with(known));
    text.is_end(at)
        || text.is_hunk(at)
        || text.begins_file(at)
        || text.is_signature(at)
        || is_mail(line)
        || is_known()
}

/// Trailing empty lines are context lines that lost their space, or separate the hunk from what follows. The header's
/// numbers decide; without numbers they are dropped.
fn without_empty_end(text: &PatchLines<'_>, start: usize, end: usize, stated: Option<HunkRange>) -> usize {
    let empty = (start..end).rev().take_while(|at| text.head(*at).is_empty()).count();
    let end = end - empty;
    let count = |tags: &[u8]| {
        let is_one = |at: &usize| text.line(*at).bytes().next().is_none_or(|first| tags.contains(&first));
        (start..end).filter(is_one).count() as u64
    };
    let missing = stated.and_then(|stated| {
        let old = stated.old.1.checked_sub(count(b" -\r"))?;
        let new = stated.new.1.checked_sub(count(b" +\r"))?;
        usize::try_from(old).ok().filter(|missing| old == new && *missing <= empty)
    });
    end + missing.unwrap_or(0)
}

fn lines(text: &PatchLines<'_>, range: std::ops::Range<usize>, is_converted: bool) -> Result<Vec<HunkLine>> {
    let mut lines: Vec<HunkLine> = Vec::with_capacity(range.len());
    // Whether the old and the new file have ended.
    let mut has_ended = (false, false);
    for at in range {
        let line = text.line(at);
        let (tag, rest) = match line.bytes().next() {
            Some(b'\\') => {
                has_ended = close(&mut lines, has_ended).map_err(|problem| malformed(at + 1, problem))?;
                continue;
            }
            Some(b'-') => (LineTag::Delete, &line[1..]),
            Some(b'+') => (LineTag::Insert, &line[1..]),
            Some(b' ') => (LineTag::Context, &line[1..]),
            _ => (LineTag::Context, line),
        };
        if (has_ended.0 && tag.is_old()) || (has_ended.1 && tag.is_new()) {
            return Err(malformed(
                at + 1,
                "a line follows the one after which the file ends without a newline",
            ));
        }
        let rest = if is_converted { rest.strip_suffix('\r').unwrap_or(rest) } else { rest };
        lines.push(HunkLine { tag, text: rest.to_owned(), is_open: false });
    }
    Ok(lines)
}

/// Handles `\ No newline at end of file`, which refers to the previous line.
fn close(lines: &mut [HunkLine], has_ended: (bool, bool)) -> Result<(bool, bool), &'static str> {
    let last = lines.last_mut().ok_or("expected a line before \"\\ No newline at end of file\"")?;
    last.is_open = true;
    Ok((has_ended.0 || last.tag.is_old(), has_ended.1 || last.tag.is_new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_base::ToolError;

    fn parsed(text: &str) -> (Hunk, usize) {
        hunk(&PatchLines::new(text), 0, false).unwrap()
    }

    fn tags(hunk: &Hunk) -> String {
        let sign = |line: &HunkLine| match (line.tag, line.is_open) {
            (LineTag::Context, false) => ' ',
            (LineTag::Delete, false) => '-',
            (LineTag::Insert, false) => '+',
            (_, true) => '!',
        };
        hunk.lines.iter().map(sign).collect()
    }

    fn error(text: &str) -> ToolError {
        hunk(&PatchLines::new(text), 0, false).unwrap_err()
    }

    #[test]
    fn counts_may_be_omitted() {
        let (hunk, end) = parsed("@@ -1 +1,2 @@ fn main()\n-a\n+b\n+c\n");
        assert_eq!(hunk.stated, Some(HunkRange { old: (1, 1), new: (1, 2) }));
        assert_eq!((tags(&hunk).as_str(), end, hunk.is_recounted), ("-++", 4, false));
    }

    #[test]
    fn wrong_counts_are_put_right_by_the_lines() {
        for (text, wanted) in [
            ("@@ -1,9 +1,9 @@\n a\n-b\n+c\n d\n", " -+ "),
            ("@@ -1 +1 @@\n a\n-b\n+c\n d\n", " -+ "),
            ("@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n+d\n", " -+ +"),
            ("@@ -1,2 +1,9 @@\n a\n-b\n+c\n\n\n", " -+"),
            ("@@ -1,7 +1,2 @@\n-a\n+b\n@@ -9 +9 @@\n-x\n+y\n", "-+"),
            ("@@ -1,7 +1,2 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -9 +9 @@\n", "-+"),
            ("@@ -1,7 +1,2 @@\n-a\n+b\n-- \n2.40\n", "-+"),
            ("@@ -1,7 +1,2 @@\n-a\n+b\n```\n", "-+"),
        ] {
            let (hunk, _) = parsed(text);
            assert_eq!((tags(&hunk).as_str(), hunk.is_recounted), (wanted, true), "{text}");
        }
    }

    #[test]
    fn right_counts_tell_lines_that_look_like_headers() {
        let (hunk, _) = parsed("@@ -1,2 +1,2 @@\n--- old\n+++ new\n x\n");
        assert_eq!((tags(&hunk).as_str(), hunk.is_recounted), ("-+ ", false));
        let (hunk, end) = parsed("@@ -1,2 +1,3 @@\n a\n+b\n\n\nSubject: x\n - y\n");
        assert_eq!((tags(&hunk).as_str(), end), (" + ", 4));
    }

    #[test]
    fn a_lost_space_is_context() {
        let (hunk, _) = parsed("@@ -1,3 +1,3 @@\n\n-b\n+c\n\n");
        assert_eq!((tags(&hunk).as_str(), hunk.is_recounted), (" -+ ", false));
        let (hunk, _) = parsed("@@ -1,3 +1,3 @@\r\n\r\n-b\r\n+c\r\n\r\n");
        assert_eq!((hunk.lines[0].text.as_str(), hunk.lines.len()), ("\r", 4));
    }

    #[test]
    fn a_header_may_have_no_numbers() {
        for header in ["@@", "@@ @@", "@@ ... @@", "@@ fn main() @@"] {
            let (hunk, _) = parsed(&format!("{header}\n a\n+b\n"));
            assert_eq!((hunk.stated, hunk.is_recounted), (None, false), "{header}");
        }
        assert!(error("@@ -1,x +2 @@\n-a\n").message.contains("at its line 1: expected \"@@ -1,3 +1,4 @@\""));
    }

    #[test]
    fn absurd_numbers_are_refused_and_large_ones_put_right() {
        for header in [
            "@@ -18446744073709551615,0 +1 @@",
            "@@ -9223372036854775808 +1 @@",
            "@@ -1,18446744073709551615 +1,18446744073709551615 @@",
            "@@ -99999999999999999999999999 +1 @@",
            "@@ --1 +1 @@",
            "@@ -1,-1 +1 @@",
        ] {
            let error = error(&format!("{header}\n-a\n+b\n"));
            assert!(error.message.contains("expected \"@@ -1,3 +1,4 @@\", found"), "{header}: {error}");
        }
        let (hunk, _) = parsed("@@ -1,281474976710656 +281474976710656,0 @@\n-a\n+b\n\n\n");
        assert_eq!((tags(&hunk).as_str(), hunk.is_recounted), ("-+", true));
    }

    #[test]
    fn very_many_empty_lines_are_read_in_one_go() {
        let text = format!("@@ -1,9 +1,8 @@\n-a\n+b\n{}", "\n".repeat(300_000));
        let (hunk, _) = parsed(&text);
        assert_eq!(hunk.lines.len(), 2);
        let text = format!("@@ -1,200001 +1,200001 @@\n-a\n+b\n{}+c\n", "\n".repeat(300_000));
        assert_eq!(parsed(&text).0.lines.len(), 300_003);
    }

    #[test]
    fn the_end_without_a_newline_belongs_to_the_line_before() {
        let (hunk, _) =
            parsed("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n");
        assert_eq!(tags(&hunk), "!!");
        assert!(error("@@ -1,2 +1,2 @@\n-a\n\\ No newline\n c\n+b\n").message.contains("line 4"));
        assert!(error("@@ -1 +1 @@\n\\ No newline\n-a\n+b\n").message.contains("line 2"));
    }

    #[test]
    fn a_line_without_its_sign_is_refused() {
        let message = error("@@ -1,3 +1,3 @@\n a\nb\n-c\n+d\n").message;
        assert!(message.contains("line 3") && message.contains("found \"b\""), "{message}");
        assert!(error("@@ -1 +1 @@\n a\n").message.contains("changes nothing"));
    }
}
