//! The encoding of one file.

use encoding_rs::{Decoder, EncoderResult, Encoding};
use std::borrow::Cow;
use std::fmt;

/// A file's encoding, and whether it begins with a byte order mark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Charset {
    encoding: &'static Encoding,
    has_bom: bool,
}

impl Charset {
    /// UTF-8 without a mark, the default for new files.
    pub const UTF8: Self = Self { encoding: encoding_rs::UTF_8, has_bom: false };

    /// A charset with this encoding.
    pub fn new(encoding: &'static Encoding, has_bom: bool) -> Self {
        Self { encoding, has_bom }
    }

    /// The charset for an encoding label of the WHATWG Encoding Standard, such as `gbk` or `latin1`; `bytes` are the
    /// start of the file, for the mark. `None` for an unknown label.
    pub fn labelled(label: &str, bytes: &[u8]) -> Option<Self> {
        let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
        let marked = Self::new(encoding, true);
        Some(Self::new(encoding, !marked.bom().is_empty() && bytes.starts_with(marked.bom())))
    }

    /// The encoding's name in lower case: `utf-8`, `utf-16le`, `windows-1252`, `gbk`.
    pub fn name(self) -> String {
        self.encoding.name().to_ascii_lowercase()
    }

    /// Whether the file begins with a byte order mark.
    pub fn has_bom(self) -> bool {
        self.has_bom
    }

    /// The byte order mark of the file; empty if there is none.
    pub fn bom(self) -> &'static [u8] {
        match self.encoding.name() {
            _ if !self.has_bom => b"",
            "UTF-8" => b"\xEF\xBB\xBF",
            "UTF-16LE" => b"\xFF\xFE",
            "UTF-16BE" => b"\xFE\xFF",
            _ => b"",
        }
    }

    /// Size of a code unit in bytes: characters begin at multiples of it.
    pub fn unit(self) -> usize {
        if self.is_utf16() { 2 } else { 1 }
    }

    /// Whether the encoding is UTF-8.
    pub fn is_utf8(self) -> bool {
        self.encoding == encoding_rs::UTF_8
    }

    fn is_utf16(self) -> bool {
        self.encoding == encoding_rs::UTF_16LE || self.encoding == encoding_rs::UTF_16BE
    }

    /// Whether the encoding is big-endian UTF-16.
    pub fn is_big_endian(self) -> bool {
        self.encoding == encoding_rs::UTF_16BE
    }

    /// Whether the encoding has shift states, so that no part can be replaced separately.
    pub fn is_stateful(self) -> bool {
        self.encoding == encoding_rs::ISO_2022_JP
    }

    /// Whether the bytes of another character can occur inside or across characters.
    pub fn is_ambiguous(self) -> bool {
        !self.is_utf8() && !self.is_utf16() && !self.encoding.is_single_byte()
    }

    pub(super) fn encoding(self) -> &'static Encoding {
        self.encoding
    }

    /// A streaming decoder for the bytes after the mark.
    pub fn decoder(self) -> Decoder {
        self.encoding.new_decoder_without_bom_handling()
    }

    /// The text of bytes after the mark, and whether some were invalid (each is decoded to U+FFFD).
    pub fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        if self.is_utf8()
            && let Ok(text) = simdutf8::basic::from_utf8(bytes)
        {
            return (Cow::Borrowed(text), false);
        }
        self.encoding.decode_without_bom_handling(bytes)
    }

    /// [`Charset::decode`] without a copy if the bytes are UTF-8.
    pub fn decode_vec(self, bytes: Vec<u8>) -> (String, bool) {
        if self.is_utf8() && simdutf8::basic::from_utf8(&bytes).is_ok() {
            // SAFETY: checked in the line above.
            return (unsafe { String::from_utf8_unchecked(bytes) }, false);
        }
        let (text, has_errors) = self.encoding.decode_without_bom_handling(&bytes);
        (text.into_owned(), has_errors)
    }

    /// The bytes of a text, without a mark.
    ///
    /// # Errors
    /// The characters that the encoding cannot represent.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, Unmappable> {
        match self.encoding.name() {
            "UTF-8" => Ok(Cow::Borrowed(text.as_bytes())),
            "UTF-16LE" => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            "UTF-16BE" => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            _ => match self.encode_legacy(text) {
                Some(bytes) => Ok(Cow::Owned(bytes)),
                None => Err(self.unmappable(text)),
            },
        }
    }

    /// Some encoders substitute similar characters, so the result is decoded again and must be the same text.
    fn encode_legacy(self, text: &str) -> Option<Vec<u8>> {
        let mut encoder = self.encoding.new_encoder();
        let most = encoder.max_buffer_length_from_utf8_without_replacement(text.len())?;
        let mut bytes = Vec::with_capacity(most);
        match encoder.encode_from_utf8_to_vec_without_replacement(text, &mut bytes, true).0 {
            EncoderResult::InputEmpty if self.decode(&bytes).0 == text => Some(bytes),
            _ => None,
        }
    }

    fn unmappable(self, text: &str) -> Unmappable {
        let mut wrong = Vec::new();
        for char in text.chars().filter(|char| !char.is_ascii()) {
            if wrong.len() < Unmappable::MOST
                && !wrong.contains(&char)
                && self.encode_legacy(char.encode_utf8(&mut [0; 4])).is_none()
            {
                wrong.push(char);
            }
        }
        Unmappable(wrong)
    }
}

/// The line above a diff that a person is asked about, with the encoding of the file; empty for UTF-8. In other encodings a
/// character can have bytes that mean something else to a shell: U+FF0D is `0x81` and a pipe in Shift_JIS.
pub fn encoding_line(name: &str) -> String {
    if name == "utf-8" { String::new() } else { format!("[the file is encoded in {name}]\n") }
}

impl fmt::Debug for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charset({}{})", self.name(), if self.has_bom { ", bom" } else { "" })
    }
}

/// The first few characters that an encoding cannot represent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmappable(pub Vec<char>);

impl Unmappable {
    const MOST: usize = 5;
}

impl fmt::Display for Unmappable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, char) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}'{}' (U+{:04X})", char.escape_debug(), u32::from(*char))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_from_its_encoding() {
        for (label, text) in [
            ("gbk", "汉字 a"),
            ("shift_jis", "テスト"),
            ("latin1", "café"),
            ("big5", "漢字"),
            ("utf-16le", "a😀\n"),
            ("utf-16be", "汉"),
            ("euc-kr", "한국"),
            ("gb18030", "😀é"),
        ] {
            let charset = Charset::labelled(label, b"").unwrap();
            let bytes = charset.encode(text).unwrap().into_owned();
            assert_eq!(charset.decode(&bytes), (Cow::Borrowed(text), false), "{label}");
        }
    }

    #[test]
    fn what_an_encoding_cannot_hold_is_named() {
        let latin = Charset::labelled("latin1", b"").unwrap();
        let error = latin.encode("a → b ✓ →").unwrap_err();
        assert_eq!(error.to_string(), "'→' (U+2192), '✓' (U+2713)");
        // The encoder would write a backslash for the yen sign, which decodes to a backslash.
        let sjis = Charset::labelled("shift_jis", b"").unwrap();
        assert_eq!(sjis.encode("¥").unwrap_err().0, ['¥']);
    }

    #[test]
    fn a_label_takes_the_mark_along() {
        assert!(Charset::labelled("utf-16", b"\xFF\xFEa\0").unwrap().has_bom());
        assert!(!Charset::labelled("utf-16be", b"\xFF\xFEa\0").unwrap().has_bom());
        assert!(!Charset::labelled("gbk", b"\xEF\xBB\xBF").unwrap().has_bom());
        assert_eq!(Charset::labelled("klingon", b""), None);
    }
}
