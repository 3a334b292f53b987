//! Decodes text of any encoding to UTF-8.

use beamai_text::{ContentKind, sniff};
use std::borrow::Cow;

/// The text, and a note with its encoding if it is not UTF-8. The encoding is detected as in the file tools.
pub(super) fn decode(bytes: &[u8]) -> (Cow<'_, str>, Option<String>) {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return (Cow::Borrowed(text), None);
    }
    match sniff(bytes, true) {
        ContentKind::Text(charset) if charset.unit() == 1 && !charset.is_utf8() => {
            (charset.decode(bytes).0, Some(format!("decoded from {}", charset.name())))
        }
        _ => (String::from_utf8_lossy(bytes), Some("with U+FFFD for undecodable bytes".to_owned())),
    }
}

/// Decodes text whose encoding is declared, as in commits.
pub(super) fn decode_as<'b>(bytes: &'b [u8], label: Option<&[u8]>) -> Cow<'b, str> {
    match label.and_then(encoding_rs::Encoding::for_label) {
        Some(encoding) if encoding != encoding_rs::UTF_8 => encoding.decode_without_bom_handling(bytes).0,
        _ => decode(bytes).0,
    }
}
