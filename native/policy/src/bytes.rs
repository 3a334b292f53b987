//! Texts of words with bytes that are not UTF-8: each stands there as one private character, and is a byte again for a glob.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The characters that stand for the bytes from 0x80 to 0xFF.
const STAND_INS: std::ops::RangeInclusive<char> = '\u{10ff80}'..='\u{10ffff}';

/// Whether a text has characters that stand for bytes.
pub(crate) fn has_stand_ins(text: &str) -> bool {
    text.chars().any(|char| STAND_INS.contains(&char))
}

/// The text of a word.
pub(crate) fn text(word: &OsStr) -> String {
    let mut text = String::with_capacity(word.len());
    for chunk in word.as_bytes().utf8_chunks() {
        for char in chunk.valid().chars() {
            match STAND_INS.contains(&char) {
                true => text.extend(char.encode_utf8(&mut [0; 4]).bytes().map(stand_in)),
                false => text.push(char),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(stand_in));
    }
    text
}

/// The word of a text.
pub(crate) fn word(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match u32::from(char).to_le_bytes()[0] {
            byte if STAND_INS.contains(&char) => bytes.push(byte),
            _ => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

fn stand_in(byte: u8) -> char {
    char::from_u32(0x10_ff00 | u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_itself_again() {
        for bytes in [
            &b"f\xff"[..],
            b"\xe2\x82",
            b"plain \xc3\xa9",
            "\u{10ff80}\u{10ffff}x".as_bytes(),
            b"\x80\xf4\x8f\xbf\xbf",
        ] {
            let given = OsStr::from_bytes(bytes);
            assert_eq!(word(&text(given)), given);
        }
        assert_eq!(text(OsStr::from_bytes(b"f\xff")).chars().count(), 2);
        assert_eq!(text(OsStr::new("é")), "é");
    }
}
