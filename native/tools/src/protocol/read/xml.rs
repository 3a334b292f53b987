//! Character data of XML.

use memchr::{memchr, memchr2, memmem};

const OPEN_CDATA: &str = "<![CDATA[";
const CLOSE_CDATA: &str = "]]>";

/// Longest reference to a character, with its `&` and `;`.
const LONGEST_REFERENCE: usize = 12;

/// The text that character data stands for; `None` where it is not UTF-8. What is no reference and no `CDATA` stands
/// for itself, `<` and `&` included: models forget to escape.
pub(in crate::protocol) fn text(data: &[u8]) -> Option<String> {
    let mut rest = simdutf8::basic::from_utf8(data).ok()?;
    let mut out = String::with_capacity(rest.len());
    while let Some(stop) = memchr2(b'&', b'<', rest.as_bytes()) {
        out.push_str(&rest[..stop]);
        rest = &rest[stop..];
        let (text, len) = cdata(rest).or_else(|| reference(rest)).unwrap_or((rest[..1].to_owned(), 1));
        out.push_str(&text);
        rest = &rest[len..];
    }
    out.push_str(rest);
    Some(out)
}

fn cdata(rest: &str) -> Option<(String, usize)> {
    let inside = rest.strip_prefix(OPEN_CDATA)?;
    let len = memmem::find(inside.as_bytes(), CLOSE_CDATA.as_bytes())?;
    Some((inside[..len].to_owned(), OPEN_CDATA.len() + len + CLOSE_CDATA.len()))
}

fn reference(rest: &str) -> Option<(String, usize)> {
    let inside = rest.strip_prefix('&')?;
    let start = &inside.as_bytes()[..inside.len().min(LONGEST_REFERENCE)];
    let len = memchr(b';', start)?;
    let name = &inside[..len];
    let character = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let code = match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => name.strip_prefix('#')?.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((character.to_string(), len + 2))
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
