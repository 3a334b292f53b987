//! Paths as text: relative to the workspace, UTF-8, reversible for any file name.
//!
//! A byte that is not UTF-8 is written `\xHH`. A backslash that would read as the start of such an escape is
//! itself written `\x5C`. Everything else is unchanged, so ordinary names stay readable, and
//! [`decode`] gives back exactly the bytes that [`encode`] was given.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The text form of a path.
pub fn encode(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    if let Ok(text) = simdutf8::basic::from_utf8(bytes)
        && !text.contains("\\x")
    {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        push_escaping_lookalikes(&mut out, chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02X}"));
        }
    }
    out
}

/// As [`encode`], for owned bytes.
pub(super) fn encode_bytes(bytes: Vec<u8>) -> String {
    let is_plain = memchr::memchr(b'\\', &bytes).is_none();
    match String::from_utf8(bytes) {
        Ok(text) if is_plain => text,
        Ok(text) => encode(Path::new(&text)),
        Err(error) => encode(Path::new(OsStr::from_bytes(error.as_bytes()))),
    }
}

/// The path of a text form.
pub fn decode(text: &str) -> PathBuf {
    if !text.contains("\\x") {
        return PathBuf::from(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some(&byte) = rest.first() {
        match escaped_byte(rest) {
            Some(value) => {
                out.push(value);
                rest = &rest[4..];
            }
            None => {
                out.push(byte);
                rest = &rest[1..];
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

fn push_escaping_lookalikes(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        out.push_str(&rest[..at]);
        let lookalike = escaped_byte(&rest.as_bytes()[at..]).is_some();
        out.push_str(if lookalike { "\\x5C" } else { "\\" });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// The byte of an escape `\xHH` at the start of `bytes`.
/// The byte that a text form begins with an escape of, `\xHH`.
pub fn escaped_byte(bytes: &[u8]) -> Option<u8> {
    let [b'\\', b'x', high, low, ..] = bytes else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_file_name_survives_the_round_trip(bytes in proptest::collection::vec(prop_oneof![
            any::<u8>(), Just(b'\\'), Just(b'x'), Just(b'5'), Just(b'C')], 0..24)) {
            let path = PathBuf::from(OsString::from_vec(bytes.clone()));
            prop_assert_eq!(encode_bytes(bytes), encode(&path));
            prop_assert_eq!(decode(&encode(&path)), path);
        }
    }

    #[test]
    fn an_ordinary_name_stays_as_it_is() {
        assert_eq!(encode(Path::new("src/ä b.rs")), "src/ä b.rs");
        assert_eq!(encode(Path::new("a\\xray")), "a\\xray");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        assert_eq!(encode(Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9"))), "caf\\xE9");
    }
}
