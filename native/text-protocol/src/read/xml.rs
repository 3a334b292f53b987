//! Decodes XML character data.

use memchr::{memchr2, memmem};

const OPEN_CDATA: &str = "<![CDATA[";
const CLOSE_CDATA: &str = "]]>";

/// Maximum length of a character reference, including `&` and `;`.
const LONGEST_REFERENCE: usize = 12;

const NAMED: [(&[u8], char); 5] =
    [(b"&lt;", '<'), (b"&gt;", '>'), (b"&amp;", '&'), (b"&quot;", '"'), (b"&apos;", '\'')];

/// Decodes character data; `None` if it is not UTF-8. Anything except references and `CDATA` is literal, including `<`
/// and `&`: models forget to escape.
pub(crate) fn text(data: &[u8]) -> Option<String> {
    let mut rest = simdutf8::basic::from_utf8(data).ok()?;
    let mut out = String::with_capacity(rest.len());
    while let Some(stop) = memchr2(b'&', b'<', rest.as_bytes()) {
        out.push_str(&rest[..stop]);
        rest = &rest[stop..];
        if let Some((text, len)) = cdata(rest) {
            out.push_str(text);
            rest = &rest[len..];
        } else {
            let (character, len) = reference(rest).unwrap_or((char::from(rest.as_bytes()[0]), 1));
            out.push(character);
            rest = &rest[len..];
        }
    }
    out.push_str(rest);
    Some(out)
}

fn cdata(rest: &str) -> Option<(&str, usize)> {
    let inside = rest.strip_prefix(OPEN_CDATA)?;
    let len = memmem::find(inside.as_bytes(), CLOSE_CDATA.as_bytes())?;
    Some((&inside[..len], OPEN_CDATA.len() + len + CLOSE_CDATA.len()))
}

fn reference(rest: &str) -> Option<(char, usize)> {
    let named = NAMED.iter().find(|(name, _)| rest.as_bytes().starts_with(name));
    if let Some((name, character)) = named {
        return Some((*character, name.len()));
    }
    let number = rest.strip_prefix("&#")?;
    let len = number.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';')?;
    Some((numbered(&number[..len])?, len + 3))
}

fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_cdata_are_read_and_everything_else_stands_for_itself() {
        let data = "a &lt; b &amp;&#38;&#x26; <![CDATA[x &lt; <y>]]> if a < b && c &unknown; é";
        assert_eq!(text(data.as_bytes()).unwrap(), "a < b &&& x &lt; <y> if a < b && c &unknown; é");
        assert_eq!(text(b"\xff"), None);
    }
}
