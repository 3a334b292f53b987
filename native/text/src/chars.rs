//! Character boundaries in encodings where a trail byte can look like a lead byte.

use super::Charset;

/// Length of the character at the start of `bytes`, at least 1. `bytes` must not be empty; if they end within a
/// character, the result is the length of the complete character.
pub(super) fn char_len(charset: Charset, bytes: &[u8]) -> usize {
    let (first, second) = (bytes[0], bytes.get(1).copied());
    if first < 0x80 {
        return 1;
    }
    match charset.encoding().name() {
        "GBK" | "gb18030" => match (first, second) {
            (0x80 | 0xFF, _) => 1,
            (_, Some(b'0'..=b'9')) => four_bytes(bytes),
            (_, second) => pair(second, 0x40),
        },
        "Shift_JIS" => match first {
            0x80 | 0xA0..=0xDF | 0xFD..=0xFF => 1,
            _ => pair(second, 0x40),
        },
        "EUC-JP" => match first {
            0x8F => triple(bytes),
            0x8E | 0xA1..=0xFE => pair(second, 0x80),
            _ => 1,
        },
        "Big5" | "EUC-KR" => match first {
            0x80 | 0xFF => 1,
            _ => pair(second, 0x40),
        },
        _ => 1,
    }
}

/// Two bytes, unless the second is an ASCII byte that is not a trail byte: then the first is an error of its own.
fn pair(second: Option<u8>, least: u8) -> usize {
    if second.is_some_and(|second| second < least || second == 0x7F) { 1 } else { 2 }
}

fn triple(bytes: &[u8]) -> usize {
    match (bytes.get(1), bytes.get(2)) {
        (Some(..0x80), _) => 1,
        (Some(0xA1..=0xFE) | None, Some(0x80..) | None) => 3,
        _ => 2,
    }
}

fn four_bytes(bytes: &[u8]) -> usize {
    let is_rest =
        matches!((bytes.get(2), bytes.get(3)), (Some(0x81..=0xFE) | None, Some(b'0'..=b'9') | None));
    if is_rest { 4 } else { 1 }
}

/// Text decoded from a character boundary on, with the byte position of each character.
pub(super) struct CharMap {
    pub(super) text: String,
    /// Pairs of text and byte position after each character that is not ASCII.
    marks: Vec<(usize, usize)>,
    /// Number of bytes in complete characters.
    pub(super) len: usize,
}

impl CharMap {
    /// Decodes complete characters; an incomplete one at the end is left out.
    pub(super) fn new(charset: Charset, bytes: &[u8]) -> Self {
        let mut mapped = Self { text: String::with_capacity(bytes.len()), marks: Vec::new(), len: 0 };
        while mapped.len < bytes.len() {
            let rest = &bytes[mapped.len..];
            let ascii = encoding_rs::Encoding::ascii_valid_up_to(rest);
            mapped.text.extend(rest[..ascii].iter().map(|byte| char::from(*byte)));
            mapped.len += ascii;
            let Some(rest) = rest.get(ascii..).filter(|rest| !rest.is_empty()) else { break };
            let len = char_len(charset, rest);
            if len > rest.len() {
                break;
            }
            mapped.text.push_str(&charset.decode(&rest[..len]).0);
            mapped.len += len;
            mapped.marks.push((mapped.text.len(), mapped.len));
        }
        mapped
    }

    /// Byte position of the character at `position` in the text; `None` within a multi-byte character.
    pub(super) fn byte_at(&self, position: usize) -> Option<usize> {
        let after = self.marks.partition_point(|(text, _)| *text <= position);
        let (text, byte) = if after == 0 { (0, 0) } else { self.marks[after - 1] };
        let is_ascii = self.text.as_bytes()[text..position].is_ascii();
        is_ascii.then_some(byte + (position - text))
    }
}

impl CharMap {
    /// The first character boundary at byte `from` or later. `bytes` are those that were mapped.
    pub(super) fn boundary(&self, bytes: &[u8], from: usize) -> usize {
        let after = self.marks.partition_point(|(_, byte)| *byte <= from);
        let last = if after == 0 { 0 } else { self.marks[after - 1].1 };
        match self.marks.get(after) {
            _ if from < self.len && bytes[last..=from].is_ascii() => from,
            _ if from == last => from,
            Some((_, byte)) => *byte,
            None => self.len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn multi_byte() -> impl Strategy<Value = Charset> {
        proptest::sample::select(vec!["gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"])
            .prop_map(|label| Charset::labelled(label, b"").unwrap())
    }

    proptest! {
        #[test]
        fn characters_are_as_long_as_the_decoder_says(charset in multi_byte(), code in 0x80u32..0x30000) {
            let Some(char) = char::from_u32(code) else { return Ok(()) };
            let Ok(bytes) = charset.encode(char.encode_utf8(&mut [0; 4])).map(|bytes| bytes.into_owned()) else {
                return Ok(())
            };
            let mut followed = bytes.clone();
            followed.extend_from_slice(&bytes);
            prop_assert_eq!(char_len(charset, &followed), bytes.len());
        }

        #[test]
        fn any_bytes_decode_alike_as_a_whole_and_by_characters(
            charset in multi_byte(),
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0x30u8..0x40, 0x80u8..=0xFF], 0..40),
        ) {
            let (whole, has_errors) = charset.decode(&bytes);
            let mapped = CharMap::new(charset, &bytes);
            if !has_errors {
                prop_assert_eq!(mapped.len, bytes.len());
                prop_assert_eq!(&mapped.text, &whole);
            }
        }
    }
}
