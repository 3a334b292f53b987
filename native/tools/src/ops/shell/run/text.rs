//! Output as text.

use crate::process::Captured;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// What text ends with that was cut.
const MARK: &str = "[output truncated]";

/// An output stream as it goes into a result.
pub(super) struct Text {
    pub(super) text: String,
    /// The exact bytes, where the text does not give them.
    pub(super) base64: Option<String>,
}

impl Text {
    /// The text of a stream, without escape sequences if `strip` says so, and with a mark where it was cut.
    pub(super) fn of(captured: &Captured, strip: bool) -> Self {
        let bytes = if captured.is_cut() { whole_characters(&captured.bytes) } else { &captured.bytes };
        let (text, base64) = match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), None),
            Err(_) if bytes.contains(&0) => (Cow::Borrowed(""), Some(STANDARD.encode(bytes))),
            Err(_) => (String::from_utf8_lossy(bytes), Some(STANDARD.encode(bytes))),
        };
        let text = if strip { anstream::adapter::strip_str(&text).to_string() } else { text.into_owned() };
        Self { text: if captured.is_cut() { marked(text) } else { text }, base64 }
    }
}

/// The bytes without a character that the cap cut through.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

fn marked(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + MARK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], total: usize, strip: bool) -> Text {
        Text::of(&Captured { bytes: bytes.to_vec(), total: total as u64 }, strip)
    }

    #[test]
    fn a_cut_through_a_character_leaves_valid_text_and_a_mark() {
        let cut = text("aä".as_bytes().split_last().unwrap().1, 99, false);
        assert_eq!((cut.text.as_str(), cut.base64), ("a\n[output truncated]", None));
    }

    #[test]
    fn bytes_that_are_no_text_come_exactly_as_base64() {
        let latin = text(b"caf\xe9", 4, false);
        assert_eq!((latin.text.as_str(), latin.base64.as_deref()), ("caf\u{fffd}", Some("Y2Fm6Q==")));
        let binary = text(b"\xff\0", 2, false);
        assert_eq!((binary.text.as_str(), binary.base64.as_deref()), ("", Some("/wA=")));
        let nul = text(b"a\0b", 3, false);
        assert_eq!((nul.text.as_str(), nul.base64), ("a\0b", None));
    }

    #[test]
    fn escape_sequences_go_only_when_asked() {
        let coloured = b"\x1b[31mred\x1b[0m\t\x1b]8;;http://x\x07link\x1b]8;;\x07\n";
        assert_eq!(text(coloured, coloured.len(), true).text, "red\tlink\n");
        assert_eq!(text(coloured, coloured.len(), false).text.as_bytes(), coloured);
    }
}
