//! Detects what the bytes of a file are: text and its encoding, an image, other binary data.

use super::Charset;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// Number of bytes needed to tell text from binary data.
pub const HEAD: usize = 8 << 10;

/// Number of bytes that an encoding is guessed from, counted from the first that is not ASCII.
const EVIDENCE: usize = 256 << 10;

/// The type of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentKind {
    /// Text.
    Text(Charset),
    /// An image of this media type.
    Image(&'static str),
    /// Other data, with a description.
    Binary(&'static str),
}

/// Detects the type of a file by its first bytes: at least [`HEAD`], or all of them; `is_whole` if they are the whole
/// file. An encoding is known by a byte order mark, by being valid UTF-8, or guessed.
pub fn sniff(bytes: &[u8], is_whole: bool) -> ContentKind {
    if let Some(known) = by_mark(bytes).or_else(|| image(bytes)) {
        return known;
    }
    let head = without_padding(&bytes[..bytes.len().min(HEAD)]);
    if memchr::memchr(0, head).is_some() {
        return utf16_without_mark(&bytes[..bytes.len().min(HEAD)])
            .map_or(ContentKind::Binary(named(bytes)), ContentKind::Text);
    }
    if is_utf8(bytes, is_whole) {
        return ContentKind::Text(iso_2022_jp(head).unwrap_or(Charset::UTF8));
    }
    if looks_binary(head) {
        ContentKind::Binary(named(bytes))
    } else {
        ContentKind::Text(guess_charset(bytes))
    }
}

fn by_mark(bytes: &[u8]) -> Option<ContentKind> {
    let charset = |encoding| Some(ContentKind::Text(Charset::new(encoding, true)));
    match bytes {
        [0xEF, 0xBB, 0xBF, ..] => charset(encoding_rs::UTF_8),
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => {
            Some(ContentKind::Binary("UTF-32 text; convert it to UTF-8 first, for instance with iconv"))
        }
        [0xFF, 0xFE, ..] => charset(encoding_rs::UTF_16LE),
        [0xFE, 0xFF, ..] => charset(encoding_rs::UTF_16BE),
        _ => None,
    }
}

fn image(bytes: &[u8]) -> Option<ContentKind> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(ContentKind::Image("image/png")),
        [0xFF, 0xD8, 0xFF, ..] => Some(ContentKind::Image("image/jpeg")),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ContentKind::Image("image/gif")),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            Some(ContentKind::Image("image/webp"))
        }
        _ => None,
    }
}

/// Text without trailing zeros, as of preallocated files.
fn without_padding(head: &[u8]) -> &[u8] {
    let end = head.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let (text, padding) = head.split_at(end);
    if text.is_empty() || (!padding.is_empty() && odd_bytes(text) > 0) { head } else { text }
}

/// UTF-16 without a mark: in ordinary text, every zero byte is the high byte of a character.
fn utf16_without_mark(head: &[u8]) -> Option<Charset> {
    if head.len() % 2 == 1 {
        return None;
    }
    let zeros = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let is_enough = |count: usize| count >= 2 && count * 20 >= head.len() && !is_paired_ascii(head);
    let encoding = match (even, odd) {
        (0, some) if is_enough(some) => encoding_rs::UTF_16LE,
        (some, 0) if is_enough(some) => encoding_rs::UTF_16BE,
        _ => return None,
    };
    let charset = Charset::new(encoding, false);
    // The head may end within a surrogate pair.
    let text = charset.decode(head).0;
    let is_text = text.trim_end_matches('\u{FFFD}').chars().all(|char| char != '\u{FFFD}' && !is_odd(char));
    is_text.then_some(charset)
}

/// ASCII records separated by zeros: in real UTF-16, few characters consist of two ASCII bytes.
fn is_paired_ascii(head: &[u8]) -> bool {
    let is_ascii = |byte: &u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    let (full, with_zero): (Vec<_>, Vec<_>) = head.chunks_exact(2).partition(|pair| !pair.contains(&0));
    let ascii = full.iter().filter(|pair| pair.iter().all(is_ascii)).count();
    ascii >= with_zero.len() && ascii * 4 > full.len() * 3
}

fn is_odd(char: char) -> bool {
    (char.is_control() && !"\t\n\r\x0C\x1B".contains(char)) || matches!(char, '\u{FFFE}' | '\u{FFFF}')
}

fn is_utf8(bytes: &[u8], is_whole: bool) -> bool {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        return true;
    }
    // If more bytes follow, the last character may be incomplete.
    !is_whole
        && simdutf8::compat::from_utf8(bytes)
            .is_err_and(|error| error.error_len().is_none() && bytes.len() - error.valid_up_to() < 4)
}

/// ISO-2022-JP is ASCII with escape sequences.
fn iso_2022_jp(head: &[u8]) -> Option<Charset> {
    let escape = memchr::memchr(0x1B, head)?;
    let is_japanese = head[escape..].windows(3).any(|three| matches!(three, b"\x1B$B" | b"\x1B$@"));
    let charset = Charset::new(encoding_rs::ISO_2022_JP, false);
    (is_japanese && !charset.decode(head).1).then_some(charset)
}

/// Text in any encoding has few control characters.
fn looks_binary(head: &[u8]) -> bool {
    odd_bytes(head) * 32 > head.len()
}

fn odd_bytes(head: &[u8]) -> usize {
    head.iter().filter(|byte| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)).count()
}

fn guess_charset(bytes: &[u8]) -> Charset {
    let ascii = Encoding::ascii_valid_up_to(bytes);
    let start = ascii.saturating_sub(2);
    let evidence = &bytes[start..bytes.len().min(ascii + EVIDENCE)];
    if is_utf8_with_flaws(evidence) {
        return Charset::UTF8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(evidence, false);
    Charset::new(detector.guess(None, Utf8Detection::Deny), false)
}

/// UTF-8 with a few invalid bytes: in other encodings, valid multi-byte sequences are rare.
fn is_utf8_with_flaws(evidence: &[u8]) -> bool {
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in evidence.utf8_chunks() {
        good += chunk.valid().chars().filter(|char| !char.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad
}

fn named(bytes: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 16] = [
        (b"\x7FELF", "an ELF program or library"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive (or a format built on it, such as docx, xlsx, jar)"),
        (b"\x1F\x8B", "gzip-compressed data"),
        (b"BZh", "bzip2-compressed data"),
        (b"\xFD7zXZ\0", "xz-compressed data"),
        (b"\x28\xB5\x2F\xFD", "zstd-compressed data"),
        (b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"FOR1", "a compiled BEAM module"),
        (b"\xCA\xFE\xBA\xBE", "a Java class file"),
        (b"\0asm", "a WebAssembly module"),
        (b"BM", "a BMP image"),
        (b"II*\0", "a TIFF image"),
        (b"OggS", "Ogg audio or video"),
        (b"ID3", "MP3 audio"),
    ];
    KNOWN
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map_or("binary data of an unknown format", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        match sniff(bytes, true) {
            ContentKind::Text(charset) => charset.name(),
            other => panic!("{other:?}"),
        }
    }

    fn encoded(label: &str, text: &str) -> Vec<u8> {
        Charset::labelled(label, b"").unwrap().encode(text).unwrap().into_owned()
    }

    #[test]
    fn marks_and_valid_utf8_are_certain() {
        assert_eq!(sniff(b"", true), ContentKind::Text(Charset::UTF8));
        assert_eq!(text("plain ä 漢".as_bytes()), "utf-8");
        assert_eq!(text(b"\xEF\xBB\xBFa"), "utf-8");
        assert_eq!(text(b"\xFF\xFEa\0"), "utf-16le");
        assert_eq!(text(b"\xFE\xFF\0a"), "utf-16be");
        assert!(
            matches!(sniff(b"\xFF\xFE\0\0a\0\0\0", true), ContentKind::Binary(name) if name.contains("UTF-32"))
        );
    }

    #[test]
    fn utf16_without_a_mark_shows_by_its_zeros() {
        assert_eq!(text(&encoded("utf-16le", "fn main() {}\r\n漢字\n")), "utf-16le");
        assert_eq!(text(&encoded("utf-16be", "fn main() {}\r\n漢字\n")), "utf-16be");
    }

    #[test]
    fn records_of_ascii_with_zeros_between_them_are_no_utf16() {
        for record in ["abc\0def\n", "id\0\0name=x\0", "one\0two\0"] {
            assert!(
                matches!(sniff(record.repeat(10).as_bytes(), true), ContentKind::Binary(_)),
                "{record:?}"
            );
        }
        let chinese = "是在这个中文文件里面，有空格和 ASCII 。\n".repeat(3);
        assert_eq!(text(&encoded("utf-16le", &format!("{chinese}plain text"))), "utf-16le");
        assert_eq!(text(&encoded("utf-16be", "да, это текст\n")), "utf-16be");
    }

    #[test]
    fn legacy_encodings_are_guessed() {
        assert_eq!(text(b"un caf\xE9 cr\xE8me"), "windows-1252");
        let chinese = "中华人民共和国的首都是北京，这是一个中文文件。\n".repeat(3);
        assert_eq!(text(&encoded("gbk", &chinese)), "gbk");
        let japanese = "これは日本語のテキストです。漢字とカタカナもあります。\n".repeat(3);
        assert_eq!(text(&encoded("shift_jis", &japanese)), "shift_jis");
        assert_eq!(text(&encoded("iso-2022-jp", &japanese)), "iso-2022-jp");
        assert_eq!(text(&encoded("windows-1251", "Привет, это русский текст\n")), "windows-1251");
    }

    #[test]
    fn a_stray_byte_does_not_make_utf8_something_else() {
        assert_eq!(
            text("ä ö ü \u{1F600} and one flaw: ".bytes().chain([0xFF]).collect::<Vec<_>>().as_slice()),
            "utf-8"
        );
    }

    #[test]
    fn a_cut_character_at_the_end_of_a_head_is_no_flaw() {
        let bytes = "aä".as_bytes();
        assert_eq!(sniff(&bytes[..2], false), ContentKind::Text(Charset::UTF8));
        assert_ne!(sniff(&bytes[..2], true), ContentKind::Text(Charset::UTF8));
    }

    #[test]
    fn other_content_is_named() {
        assert_eq!(sniff(b"\x89PNG\r\n\x1a\n\0", true), ContentKind::Image("image/png"));
        assert_eq!(sniff(b"RIFF\0\0\0\0WEBPVP8 ", true), ContentKind::Image("image/webp"));
        assert_eq!(sniff(b"\x7FELF\x02\x01\x01\0\0", true), ContentKind::Binary("an ELF program or library"));
        assert_eq!(sniff(b"\x1F\x8B\x08\x08\x99\x01\x02", true), ContentKind::Binary("gzip-compressed data"));
        assert!(matches!(sniff(b"a\0b", true), ContentKind::Binary(_)));
    }

    #[test]
    fn text_in_a_reserved_place_is_text() {
        let mut log = b"one\ntwo\n".to_vec();
        log.resize(HEAD * 2, 0);
        assert_eq!(text(&log), "utf-8");
        assert!(matches!(sniff(&[0; 100], true), ContentKind::Binary(_)));
    }
}
