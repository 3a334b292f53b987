//! Lines cut to fit into an answer.

use beamai_text::Charset;
use memchr::{memchr, memchr_iter, memrchr};
use std::borrow::Cow;

/// Maximum characters of a line that are shown.
const LINE: usize = 2000;
/// Maximum characters of a line that a model is shown.
pub(super) const SHOWN_LINE: usize = 400;
/// Maximum characters of a match over several lines that are shown.
const BLOCK: usize = 20_000;
/// Characters shown before a match that is far from the start of a long line.
const LEAD: usize = 200;

/// Text from a file.
#[derive(Debug, Clone)]
pub(super) struct MatchText {
    /// The text; invalid UTF-8 is replaced.
    pub(super) text: String,
    /// Whether it was cut.
    pub(super) is_cut: bool,
    /// The line that it was cut from; `None` if it is whole, or not in UTF-8.
    pub(super) cut: Option<CutPart>,
    /// Lines that it lacks, of several.
    pub(super) lines_left_out: u64,
    /// The original bytes, if some had to be replaced.
    pub(super) raw: Option<RawBytes>,
}

/// A part of a line, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutPart {
    /// Place of the line among those of the text, from 0.
    pub(super) line: u64,
    /// Its first character in the text, from 1.
    pub(super) column: u64,
    /// Length of the line.
    pub(super) length: u64,
}

/// Bytes that are not UTF-8.
#[derive(Debug, Clone)]
pub(super) struct RawBytes {
    bytes: Box<[u8]>,
    /// Maximum characters of it that are shown.
    most: usize,
}

impl RawBytes {
    /// The text, if it is valid in this encoding.
    pub(super) fn decoded(&self, charset: Charset) -> Option<String> {
        let (text, is_flawed) = charset.decode(&self.bytes);
        (!is_flawed).then(|| text.chars().take(self.most).collect())
    }
}

/// The line, or lines, without the last line end; if too long, the part around `start`.
pub(super) fn of_match(bytes: &[u8], start: usize, is_block: bool) -> MatchText {
    clipped(without_end(bytes), start, if is_block { BLOCK } else { LINE })
}

/// The character of a line, from 1, at this byte; `None` if the line is too short to need it, or not in UTF-8.
pub(super) fn column(bytes: &[u8], at: usize) -> Option<u64> {
    let before = bytes.get(..at).filter(|_| is_long(bytes))?;
    std::str::from_utf8(before).ok().map(|before| before.chars().count() as u64 + 1)
}

/// A line of context without its line end.
pub(super) fn of_line(bytes: &[u8]) -> MatchText {
    clipped(without_end(bytes), 0, LINE)
}

/// Whether a line is so long that a model is shown only the part around its match.
pub(super) fn is_long(bytes: &[u8]) -> bool {
    bytes.len() > SHOWN_LINE
}

fn without_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

fn clipped(bytes: &[u8], focus: usize, most: usize) -> MatchText {
    let start = if bytes.len() <= most || focus + LEAD < most { 0 } else { start_before(bytes, focus) };
    // A character has at most four bytes in UTF-8.
    let window = &bytes[start..bytes.len().min(start + most * 4)];
    let decoded = String::from_utf8_lossy(window);
    let end = decoded.char_indices().nth(most).map_or(decoded.len(), |(at, _)| at);
    let is_cut = start > 0 || start + window.len() < bytes.len() || end < decoded.len();
    let is_lossy = matches!(decoded, Cow::Owned(_)) && decoded[..end].contains('\u{fffd}');
    let raw = is_lossy.then(|| RawBytes { bytes: window.into(), most });
    let (cut, lines_left_out) = match is_cut && raw.is_none() {
        true => cut_part(bytes, start, start + end),
        false => (None, 0),
    };
    MatchText { text: decoded[..end].to_owned(), is_cut, cut, lines_left_out, raw }
}

/// The line that text in UTF-8 was cut in, and the number of lines after it.
fn cut_part(bytes: &[u8], start: usize, end: usize) -> (Option<CutPart>, u64) {
    let line_start = memrchr(b'\n', &bytes[..end]).map_or(0, |at| at + 1);
    let line_end = memchr(b'\n', &bytes[end..]).map_or(bytes.len(), |at| end + at);
    let line = memchr_iter(b'\n', &bytes[..line_start]).count() as u64;
    let left_out = memchr_iter(b'\n', &bytes[line_end..]).count() as u64;
    let is_cut = start > line_start || end < line_end;
    let part = CutPart {
        line,
        column: characters(&bytes[line_start..start.max(line_start)]) + 1,
        length: characters(without_end(&bytes[line_start..line_end])),
    };
    (is_cut.then_some(part), left_out)
}

/// Number of characters of text in UTF-8; invalid bytes beyond the shown part count as one each, or less.
fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| !(0x80..0xC0).contains(*byte)).count() as u64
}

/// A character boundary at most [`LEAD`] characters before `focus`.
fn start_before(bytes: &[u8], focus: usize) -> usize {
    let start = focus.min(bytes.len()).saturating_sub(LEAD);
    let is_inner = |at: &usize| bytes.get(*at).is_some_and(|byte| (0x80..0xC0).contains(byte));
    (start..start + 4).find(|at| !is_inner(at)).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_end_is_left_out() {
        assert_eq!(of_line(b"a\r\n").text, "a");
        assert_eq!(of_line(b"a\n").text, "a");
        assert_eq!(of_line(b"a").text, "a");
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced_and_said_to_be() {
        let text = of_line(b"caf\xe9");
        assert_eq!(text.text, "caf\u{fffd}");
        assert!(text.raw.is_some() && !text.is_cut);
    }

    #[test]
    fn a_long_line_is_shown_around_its_match() {
        let line = ["ä".repeat(50_000), "needle".into(), "x".repeat(50_000)].concat();
        let text = of_match(line.as_bytes(), 100_000, false);
        assert!(text.text.contains("needle") && text.is_cut && text.raw.is_none());
        assert_eq!(text.text.chars().count(), LINE);
        assert_eq!(text.cut, Some(CutPart { line: 0, column: 49_901, length: 100_006 }));
        let text = of_match(line.as_bytes(), 0, false);
        assert!(text.text.starts_with('ä') && text.is_cut);
        assert_eq!(text.cut, Some(CutPart { line: 0, column: 1, length: 100_006 }));
    }

    #[test]
    fn of_a_long_match_over_several_lines_the_last_shown_one_is_measured_and_the_others_are_counted() {
        let block = format!("a\n{}\nb\nc\n", "x".repeat(30_000));
        let text = of_match(block.as_bytes(), 0, true);
        assert_eq!(text.cut, Some(CutPart { line: 1, column: 1, length: 30_000 }));
        assert_eq!((text.lines_left_out, text.text.chars().count()), (2, BLOCK));
    }

    #[test]
    fn a_line_of_the_greatest_length_is_whole() {
        let line = "é".repeat(LINE);
        assert!(!of_line(line.as_bytes()).is_cut);
        assert_eq!(of_line(line.as_bytes()).text, line);
    }
}
