//! Text in whatever encoding it is, as UTF-8.

use std::borrow::Cow;

/// The text, and the name of its encoding if that is not UTF-8. Line breaks stay where they are: text in
/// encodings of two bytes a character has NULs and is binary to git.
pub(super) fn decode(bytes: &[u8]) -> (Cow<'_, str>, Option<&'static str>) {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return (Cow::Borrowed(text), None);
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, chardetng::Utf8Detection::Deny);
    (encoding.decode_without_bom_handling(bytes).0, Some(encoding.name()))
}

/// Text that names its encoding itself, as commits do.
pub(super) fn decode_as<'b>(bytes: &'b [u8], label: Option<&[u8]>) -> Cow<'b, str> {
    match label.and_then(encoding_rs::Encoding::for_label) {
        Some(encoding) if simdutf8::basic::from_utf8(bytes).is_err() || encoding != encoding_rs::UTF_8 => {
            encoding.decode_without_bom_handling(bytes).0
        }
        _ => decode(bytes).0,
    }
}
