//! Decodes web content.

use beamai_text::{Charset, ContentKind, sniff};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How far into a page a declaration of its encoding is looked for, in bytes.
const PRESCAN: usize = 1024;

/// Decoded text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// Name of the encoding, in lower case.
    pub(super) charset: String,
    /// Notes for the reader.
    pub(super) notes: Vec<String>,
}

/// Decodes text. The encoding is taken from the byte order mark, or else from the server's `label`, or else from a
/// declaration in the text; otherwise it is UTF-8 if the text is valid UTF-8, or else a guess. `is_whole` is false if
/// the end was cut off.
pub(super) fn decode(bytes: &[u8], label: Option<&str>, is_whole: bool) -> Decoded {
    let mut notes = Vec::new();
    let stated = label.and_then(|label| known(label, &mut notes)).or_else(|| declared(bytes));
    let charset = match (Encoding::for_bom(bytes), stated) {
        (Some((encoding, _)), _) => Charset::new(encoding, true),
        (None, Some(encoding)) => Charset::new(encoding, false),
        (None, None) => guessed(bytes, is_whole, &mut notes),
    };
    let (text, has_errors) = charset.decode(&bytes[charset.bom().len()..]);
    let mut text = text.into_owned();
    // A truncated character at the cut is not an encoding error.
    let was_split = !is_whole && text.ends_with('\u{fffd}');
    if was_split {
        text.truncate(text.trim_end_matches('\u{fffd}').len());
    }
    if has_errors && text.contains('\u{fffd}') {
        notes.push(format!("some bytes are not valid {}; U+FFFD stands for each", charset.name()));
    }
    Decoded { text, charset: charset.name(), notes }
}

fn known(label: &str, notes: &mut Vec<String>) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label_no_replacement(label.as_bytes());
    if encoding.is_none() && !label.is_empty() {
        notes.push(format!("the server names an unknown charset, {label:?}"));
    }
    encoding
}

/// The encoding that an HTML page or XML document declares.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes[..bytes.len().min(PRESCAN)].to_ascii_lowercase();
    let label = xml_label(&start).or_else(|| meta_label(&start))?;
    let encoding = Encoding::for_label_no_replacement(label)?;
    // The declaration was found by reading single bytes, so it cannot be UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

fn xml_label(start: &[u8]) -> Option<&[u8]> {
    let inside = start.trim_ascii_start().strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(inside, b"?>")?;
    value_after(&inside[..end], b"encoding")
}

fn meta_label(start: &[u8]) -> Option<&[u8]> {
    let metas = memchr::memmem::find_iter(start, b"<meta");
    metas
        .filter_map(|at| {
            let tag = &start[at..];
            value_after(&tag[..memchr::memchr(b'>', tag)?], b"charset")
        })
        .next()
}

/// The value after `name =`, with or without quotes.
fn value_after<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(text, name)? + name.len();
    let rest = text[at..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = rest.iter().position(|byte| b"\"' \t\r\n;/>".contains(byte)).unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

fn guessed(bytes: &[u8], is_whole: bool, notes: &mut Vec<String>) -> Charset {
    match sniff(bytes, is_whole) {
        ContentKind::Text(charset) if !charset.is_utf8() => {
            notes.push(format!("nothing names the charset; {} is a guess", charset.name()));
            charset
        }
        _ => Charset::UTF8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{GBK, SHIFT_JIS};

    fn decoded(bytes: &[u8], label: Option<&str>) -> (String, String) {
        let decoded = decode(bytes, label, true);
        (decoded.text, decoded.charset)
    }

    #[test]
    fn the_header_beats_the_page_and_a_mark_beats_both() {
        let page = GBK.encode("<meta charset=latin1>中文").0.into_owned();
        assert_eq!(decoded(&page, Some("gb2312")).1, "gbk");
        let marked = [&b"\xef\xbb\xbf"[..], "é".as_bytes()].concat();
        assert_eq!(decoded(&marked, Some("latin1")), ("é".into(), "utf-8".into()));
    }

    #[test]
    fn a_page_may_say_it_itself() {
        for page in [
            "<html><head><META http-equiv=Content-Type content='text/html; charset=Shift_JIS'><p>日本語",
            "<meta name=x><meta charset=\"shift_jis\">日本語",
            "<?xml version='1.0' encoding='Shift_JIS'?><a>日本語</a>",
        ] {
            assert_eq!(decoded(&SHIFT_JIS.encode(page).0, None), (page.into(), "shift_jis".into()), "{page}");
        }
    }

    #[test]
    fn without_a_word_it_is_utf_8_or_a_guess_that_says_so() {
        assert_eq!(decoded("grün".as_bytes(), None), ("grün".into(), "utf-8".into()));
        let guess = decode(&SHIFT_JIS.encode(&"これは日本語の文章です。".repeat(5)).0, None, true);
        assert_eq!(guess.charset, "shift_jis");
        assert!(guess.notes[0].contains("guess"), "{:?}", guess.notes);
    }

    #[test]
    fn a_character_cut_in_two_is_no_damage_but_a_broken_one_is() {
        let bytes = "ab€".as_bytes();
        assert_eq!(
            decode(&bytes[..4], None, false),
            Decoded { text: "ab".into(), charset: "utf-8".into(), notes: vec![] }
        );
        let broken = decode(b"a\xffb", Some("utf-8"), true);
        assert_eq!(broken.text, "a\u{fffd}b");
        assert!(broken.notes[0].contains("U+FFFD"));
    }

    #[test]
    fn an_unknown_charset_is_named() {
        let decoded = decode(b"x", Some("klingon"), true);
        assert!(decoded.notes[0].contains("klingon"));
    }
}
