//! Lines cut to fit into an answer.

use beamai_text::Charset;
use std::borrow::Cow;

/// Maximum characters of a line that are shown.
const LINE: usize = 2000;
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
    /// The original bytes, if some had to be replaced.
    pub(super) raw: Option<RawBytes>,
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

/// A line of context without its line end.
pub(super) fn of_line(bytes: &[u8]) -> MatchText {
    clipped(without_end(bytes), 0, LINE)
}

/// Whether a line is so long that only the part around its match is shown.
pub(super) fn is_long(bytes: &[u8]) -> bool {
    bytes.len() > LINE
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
    MatchText { text: decoded[..end].to_owned(), is_cut, raw }
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
        let text = of_match(line.as_bytes(), 0, false);
        assert!(text.text.starts_with('ä') && text.is_cut);
    }

    #[test]
    fn a_line_of_the_greatest_length_is_whole() {
        let line = "é".repeat(LINE);
        assert!(!of_line(line.as_bytes()).is_cut);
        assert_eq!(of_line(line.as_bytes()).text, line);
    }
}
