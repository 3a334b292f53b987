//! Quotes file names as git does: in double quotes, with escapes, if they contain unusual bytes.

/// Which characters are quoted.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuoteStyle {
    /// Whether non-ASCII bytes are quoted.
    pub(super) beyond_ascii: bool,
    /// Whether spaces are quoted.
    pub(super) spaces: bool,
}

impl QuoteStyle {
    /// A name with a prefix such as `a/`. Invalid UTF-8 is always escaped.
    pub(super) fn name(self, prefix: &str, name: &[u8]) -> String {
        let mut text = prefix.to_owned();
        let mut is_plain = true;
        for chunk in name.utf8_chunks() {
            for char in chunk.valid().chars() {
                is_plain &= self.push(char, &mut text);
            }
            for byte in chunk.invalid() {
                text.push_str(&format!("\\{byte:03o}"));
                is_plain = false;
            }
        }
        if is_plain { text } else { format!("\"{text}\"") }
    }

    /// Appends a character, escaped if necessary. Returns whether it needs no quotes.
    fn push(self, char: char, text: &mut String) -> bool {
        let escape = match char {
            '\x07' => "\\a",
            '\x08' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\x0b' => "\\v",
            '\x0c' => "\\f",
            '\r' => "\\r",
            '"' => "\\\"",
            '\\' => "\\\\",
            _ => "",
        };
        let is_octal = char.is_ascii_control() || (self.beyond_ascii && !char.is_ascii());
        match (escape, is_octal) {
            ("", false) => text.push(char),
            ("", true) => {
                let mut bytes = [0; 4];
                char.encode_utf8(&mut bytes).bytes().for_each(|byte| text.push_str(&format!("\\{byte:03o}")));
            }
            (escape, _) => text.push_str(escape),
        }
        escape.is_empty() && !is_octal && !(self.spaces && char == ' ')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_names_are_quoted_and_escaped() {
        let quote = QuoteStyle { beyond_ascii: true, spaces: false };
        assert_eq!(quote.name("a/", b"plain name"), "a/plain name");
        assert_eq!(quote.name("a/", "ä\"\n\x01".as_bytes()), "\"a/\\303\\244\\\"\\n\\001\"");
        let open = QuoteStyle { beyond_ascii: false, spaces: true };
        assert_eq!(open.name("", "ä".as_bytes()), "ä");
        assert_eq!(open.name("", b"\xe4"), "\"\\344\"");
        assert_eq!(open.name("", b"a b"), "\"a b\"");
    }
}
