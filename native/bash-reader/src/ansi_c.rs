//! `$'…'`: quotes with escapes.

use super::cursor::Cursor;

/// Reads up to the closing quote and decodes the escapes; `None` if the text is not certain.
pub(super) fn read(cursor: &mut Cursor) -> Option<String> {
    let mut text = String::new();
    loop {
        match cursor.next_raw()? {
            '\'' => return Some(text),
            '\\' => text.push(escape(cursor)?),
            char => text.push(char),
        }
    }
}

/// A text in such quotes, with its control characters as escapes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("$'");
    for char in text.chars() {
        match char {
            '\n' => quoted.push_str(r"\n"),
            '\r' => quoted.push_str(r"\r"),
            '\t' => quoted.push_str(r"\t"),
            '\\' | '\'' => quoted.extend(['\\', char]),
            char if char.is_ascii_control() => quoted.push_str(&format!(r"\x{:02x}", u32::from(char))),
            char => quoted.push(char),
        }
    }
    quoted + "'"
}

fn escape(cursor: &mut Cursor) -> Option<char> {
    let char = match cursor.next_raw()? {
        'a' => '\x07',
        'b' => '\x08',
        'e' | 'E' => '\x1b',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        char @ ('\\' | '\'' | '"' | '?') => char,
        'x' => byte(number(cursor, 16, 2, 0)?)?,
        // Outside ASCII the result depends on the locale.
        'u' => byte(number(cursor, 16, 4, 0)?)?,
        'U' => byte(number(cursor, 16, 8, 0)?)?,
        digit @ '0'..='7' => byte(number(cursor, 8, 2, digit.to_digit(8)?)?)?,
        // Control characters and invalid escapes are not needed in commands.
        _ => return None,
    };
    // bash ends the text at a NUL.
    (char != '\0').then_some(char)
}

/// Bytes outside ASCII may be parts of characters, or invalid.
fn byte(value: u32) -> Option<char> {
    char::from_u32(value).filter(char::is_ascii)
}

/// Reads up to `most` further digits. `value` is that of the digits so far; without any digit at all, it is not an escape.
fn number(cursor: &mut Cursor, radix: u32, most: usize, value: u32) -> Option<u32> {
    let (mut value, mut count) = (value, 0);
    while let Some(digit) = cursor.peek_raw().and_then(|char| char.to_digit(radix)).filter(|_| count < most) {
        cursor.next_raw();
        value = value.checked_mul(radix)?.checked_add(digit)?;
        count += 1;
    }
    (count > 0 || radix == 8).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Option<String> {
        read(&mut Cursor::new(text.chars().collect()))
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(decoded(r"\x67it'").as_deref(), Some("git"));
        assert_eq!(decoded(r"\147\151t'").as_deref(), Some("git"));
        assert_eq!(decoded(r"\u0067\'\\\n'").as_deref(), Some("g'\\\n"));
    }

    #[test]
    fn what_is_quoted_reads_back() {
        let text = "a'\\\n\t\r\x1b\x7f1é";
        assert_eq!(quoted(text), r"$'a\'\\\n\t\r\x1b\x7f1é'");
        assert_eq!(decoded(quoted(text).strip_prefix("$'").unwrap()).as_deref(), Some(text));
    }

    #[test]
    fn what_is_not_sure_is_not_read() {
        for text in [r"rm\0junk'", r"\xff'", r"\u00e9'", r"\q'", r"\x'", "open", r"\x00'"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}
