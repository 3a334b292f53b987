//! How a secret may be written: as it is, or with characters escaped as in URLs, JSON and HTML.

/// Longest escape that is read, in bytes.
const LONGEST: usize = 12;
/// Characters with which escapes begin.
const ESCAPES: [char; 3] = ['%', '\\', '&'];

/// Where the secret ends with which a text begins. If the text was cut, it may end within the secret.
pub(super) fn end_of(secret: &str, text: &str, is_cut: bool) -> Option<usize> {
    let mut characters = secret.chars();
    // Several, because a percent sign may stand for itself.
    let mut ends: Vec<usize> = lengths(text, characters.next()?).collect();
    for character in characters {
        if is_cut && ends.iter().any(|&end| is_beginning(&text[end..])) {
            return Some(text.len());
        }
        ends = ends
            .iter()
            .flat_map(|&end| lengths(&text[end..], character).map(move |length| end + length))
            .collect();
        ends.dedup();
    }
    ends.into_iter().max()
}

/// The numbers of bytes that stand for the character at the beginning of a text.
fn lengths(text: &str, character: char) -> impl Iterator<Item = usize> {
    let plain = text.starts_with(character).then_some(character.len_utf8());
    let escaped = escape(text).filter(|(escaped, _)| *escaped == character).map(|(_, length)| length);
    plain.into_iter().chain(escaped)
}

/// Whether a text that was cut could go on with any character.
fn is_beginning(text: &str) -> bool {
    text.is_empty() || (text.len() < LONGEST && text.starts_with(ESCAPES) && escape(text).is_none())
}

/// By byte, whether an escape may begin with it.
pub(super) fn begins_escape() -> [bool; 256] {
    let mut begins = [false; 256];
    ESCAPES.iter().for_each(|&character| begins[character as usize] = true);
    begins
}

/// The character that an escape at the beginning of a text stands for, and the escape's length.
fn escape(text: &str) -> Option<(char, usize)> {
    match text.as_bytes().first()? {
        b'%' => percent(text),
        b'\\' => backslash(text),
        b'&' => entity(text),
        _ => None,
    }
}

/// Of a character beyond ASCII, each byte is escaped.
fn percent(text: &str) -> Option<(char, usize)> {
    let byte = |at: usize| u8::from_str_radix(text.get(at * 3..at * 3 + 3)?.strip_prefix('%')?, 16).ok();
    let bytes: Vec<u8> = (0..4).map_while(byte).collect();
    let character = bytes.utf8_chunks().next()?.valid().chars().next()?;
    Some((character, character.len_utf8() * 3))
}

fn backslash(text: &str) -> Option<(char, usize)> {
    match text.as_bytes().get(1)? {
        b'u' => Some((number(text.get(2..6)?, 16)?, 6)),
        &quoted @ (b'"' | b'\\' | b'/') => Some((quoted.into(), 2)),
        _ => None,
    }
}

fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let character = match (name, name.strip_prefix('#')) {
        ("amp", _) => '&',
        ("lt", _) => '<',
        ("gt", _) => '>',
        ("quot", _) => '"',
        ("apos", _) => '\'',
        (_, Some(code)) => match code.strip_prefix(['x', 'X']) {
            Some(hex) => number(hex, 16)?,
            None => number(code, 10)?,
        },
        _ => return None,
    };
    Some((character, end + 1))
}

fn number(digits: &str, radix: u32) -> Option<char> {
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_in_each_way_to_escape_it() {
        for text in
            ["a+/é%&", "a%2B%2fé%25%26", "a\\u002b\\/é%&amp;", "a&#43;&#x2F;%c3%a9%&", "%61+/\\u00e9%25&"]
        {
            assert_eq!(end_of("a+/é%&", &format!("{text}x"), false), Some(text.len()), "{text}");
        }
        for other in ["a+/é%", "A+/é%&", "a%2B%2g", "a%", "", "a&#43", "a\\u002"] {
            assert_eq!(end_of("a+/é%&", other, false), None, "{other}");
        }
    }

    #[test]
    fn a_cut_text_may_end_within_an_escape() {
        let text = "a%2B\\u002F%C3%A9&#37;&amp;";
        for cut in 1..text.len() {
            assert_eq!(end_of("a+/é%&", &text[..cut], true), Some(cut), "{cut}");
        }
        assert_eq!(end_of("a+/é%&", "%", true), None);
    }
}
