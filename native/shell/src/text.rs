//! Converts output to text.

use super::head_tail::{HeadTail, half_character};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use beamai_port_tools::shell::output::{CutLines, OutputGap};
use std::borrow::Cow;

/// The suffix of text that was cut.
const MARK: &str = "[output truncated]";

/// An output stream as it appears in a result.
#[derive(Debug)]
pub(super) struct StreamText {
    pub(super) text: String,
    /// The exact bytes if the text is lossy; for a stream that was cut, its beginning.
    pub(super) base64: Option<String>,
    /// Total number of bytes, if some are left out.
    pub(super) total: Option<u64>,
    /// The line in place of the bytes left out, if some are.
    pub(super) gap: Option<OutputGap>,
    /// The lines that were cut through; `None` if there are none.
    pub(super) cut_lines: Option<CutLines>,
}

impl StreamText {
    /// The text of a stream, with a line in place of omitted bytes, and a mark at the end if there are any.
    pub(super) fn of(kept: HeadTail) -> Self {
        match kept.left_out {
            0 => {
                let (text, base64) = decoded(&[kept.head, kept.tail].concat());
                Self { text, base64, total: None, gap: None, cut_lines: None }
            }
            _ => Self::cut(&kept),
        }
    }

    fn cut(kept: &HeadTail) -> Self {
        let head = &kept.head[..kept.head.len() - half_character(&kept.head)];
        let strays = kept.tail.iter().take(3).take_while(|byte| *byte & 0xc0 == 0x80).count();
        let tail = &kept.tail[strays..];
        let total = (kept.head.len() + kept.tail.len()) as u64 + kept.left_out;
        let left_out = total - (head.len() + tail.len()) as u64;
        let ((mut text, first), (end, second)) = (decoded(head), decoded(tail));
        text = line(text);
        let gap = OutputGap {
            line: memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1,
            bytes: left_out,
        };
        text = text + &format!("[... {left_out} bytes left out ...]\n") + &line(end) + MARK;
        let base64 = first.or_else(|| second.map(|_| STANDARD.encode(head)));
        let cut_lines = Some(kept.cut_lines).filter(|lines| *lines != CutLines::default());
        Self { text, base64, total: Some(total), gap: Some(gap), cut_lines }
    }
}

/// Bytes as text, and as base64 if the text is lossy.
fn decoded(bytes: &[u8]) -> (String, Option<String>) {
    let (text, is_exact) = match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), true),
        Err(_) if bytes.contains(&0) => (Cow::Borrowed(""), false),
        Err(_) => (String::from_utf8_lossy(bytes), false),
    };
    (text.into_owned(), (!is_exact).then(|| STANDARD.encode(bytes)))
}

fn line(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(head: &[u8], left_out: u64, tail: &[u8]) -> StreamText {
        StreamText::of(HeadTail { head: head.to_vec(), tail: tail.to_vec(), left_out, ..HeadTail::default() })
    }

    #[test]
    fn a_cut_says_how_much_is_left_out_and_ends_with_a_mark() {
        let cut = text(b"first\n", 7, b"last");
        assert_eq!(cut.text, "first\n[... 7 bytes left out ...]\nlast\n[output truncated]");
        assert_eq!((cut.base64, cut.total), (None, Some(17)));
        assert_eq!(cut.gap, Some(OutputGap { line: 2, bytes: 7 }));
        assert_eq!(text(b"", 3, b"").text, "[... 3 bytes left out ...]\n[output truncated]");
    }

    #[test]
    fn a_cut_through_characters_leaves_valid_text() {
        let (umlaut, check) = ("ä".as_bytes(), "✓".as_bytes());
        let cut = text(&[b"a", &umlaut[..1]].concat(), 5, &[&check[1..], b"b"].concat());
        assert_eq!(cut.text, "a\n[... 8 bytes left out ...]\nb\n[output truncated]");
        assert_eq!(cut.base64, None);
    }

    #[test]
    fn bytes_that_are_no_text_come_exactly_as_base64() {
        let latin = text(b"caf\xe9", 0, b"");
        assert_eq!((latin.text.as_str(), latin.base64.as_deref()), ("caf\u{fffd}", Some("Y2Fm6Q==")));
        let binary = text(b"\xff", 0, b"\0");
        assert_eq!((binary.text.as_str(), binary.base64.as_deref()), ("", Some("/wA=")));
        let nul = text(b"a\0b", 0, b"");
        assert_eq!((nul.text.as_str(), nul.base64), ("a\0b", None));
        let late = text(b"ab", 9, b"\xff");
        assert_eq!(late.base64.as_deref(), Some("YWI="));
    }
}
