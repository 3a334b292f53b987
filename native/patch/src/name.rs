//! Parses file names in patch headers: quoted, with prefixes and timestamps, or `/dev/null`.

use beamai_workspace::encode_path;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// One side of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderSide {
    /// `/dev/null`: the file does not exist on this side.
    Nothing,
    /// A file.
    File(HeaderName),
}

/// A file name in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderName {
    /// The name as a path argument.
    pub(super) text: String,
    /// Whether its timestamp is the epoch, by which GNU diff marks a missing file.
    pub(super) is_epoch: bool,
    /// Whether it is known to have no prefix.
    pub(super) is_bare: bool,
}

impl HeaderName {
    /// A name without a prefix.
    pub(super) fn bare(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_epoch: false, is_bare: true }
    }
}

impl HeaderSide {
    /// Parses the text after `---` or `+++`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let (name, time) = match text.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => match text.split_once('\t') {
                Some((name, time)) => (name.to_owned(), time),
                None => without_time(text),
            },
        };
        match name.as_str() {
            "/dev/null" => Ok(Self::Nothing),
            "" => Err("there is no file name".to_owned()),
            _ => Ok(Self::File(HeaderName { text: name, is_epoch: is_epoch(time), is_bare: false })),
        }
    }

    /// The name; `None` for `/dev/null`.
    pub(super) fn name(&self) -> Option<&HeaderName> {
        match self {
            Self::Nothing => None,
            Self::File(name) => Some(name),
        }
    }
}

/// Parses a name on its own, as in `rename from`.
pub(super) fn plain(text: &str) -> Result<String, String> {
    match text.strip_prefix('"') {
        Some(quoted) => Ok(unquote(quoted)?.0),
        None if text.is_empty() => Err("there is no file name".to_owned()),
        None => Ok(text.to_owned()),
    }
}

/// Splits the two names of `diff --git`, if that is unambiguous: quoted, or equal apart from their prefixes.
pub(super) fn pair(text: &str) -> Option<(String, String)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (first, rest) = unquote(quoted).ok()?;
        return Some((first, plain(rest.strip_prefix(' ')?).ok()?));
    }
    if let Some((first, quoted)) = text.split_once(" \"") {
        return Some((first.to_owned(), unquote(quoted).ok()?.0));
    }
    let spaces = text.match_indices(' ').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let mut same = spaces.filter(|(old, new)| old == new || tail_of_pair(old, new).is_some());
    same.next().map(|(old, new)| (old.to_owned(), new.to_owned()))
}

/// Prefixes of old and new names, from git and other tools.
const PREFIXES: [(&str, &str); 9] = [
    ("a/", "b/"),
    ("b/", "a/"),
    ("i/", "w/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("o/", "w/"),
    ("w/", "i/"),
    ("w/", "c/"),
    ("1/", "2/"),
];

/// The common part of two names after diff prefixes.
pub(super) fn tail_of_pair<'n>(old: &'n str, new: &str) -> Option<&'n str> {
    let stripped = |(one, other): &(&str, &str)| Some((old.strip_prefix(one)?, new.strip_prefix(other)?));
    PREFIXES.iter().find_map(stripped).filter(|(old, new)| old == new && !old.is_empty()).map(|(old, _)| old)
}

/// The name without its first directory.
pub(super) fn tail(name: &str) -> Option<&str> {
    name.split_once('/').map(|(_, tail)| tail).filter(|tail| !tail.is_empty())
}

/// The text of a quoted name after its opening quote, and the rest of the line.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let at = rest.find(['"', '\\']).ok_or("the quotation mark is not closed")?;
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let is_end = rest.as_bytes()[at] == b'"';
        rest = &rest[at + 1..];
        if is_end {
            return Ok((path_text(bytes), rest));
        }
        let (byte, len) = escaped(rest.as_bytes()).ok_or("a backslash is not followed by a valid escape")?;
        bytes.push(byte);
        rest = rest.get(len..).ok_or("a backslash is not followed by a valid escape")?;
    }
}

/// The byte that an escape stands for, and the length of the escape after its backslash.
fn escaped(after: &[u8]) -> Option<(u8, usize)> {
    let simple = match after.first()? {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0B,
        b'f' => 0x0C,
        b'r' => b'\r',
        b'"' => b'"',
        b'\\' => b'\\',
        b'0'..=b'3' => return octal(after.get(..3)?).map(|byte| (byte, 3)),
        _ => return None,
    };
    Some((simple, 1))
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// A name as a path argument. UTF-8 is kept as it is: it may already contain the escapes of such arguments, because
/// diffs of this project's tools quote them.
fn path_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| encode_path(Path::new(&OsString::from_vec(error.into_bytes()))))
}

/// Splits a name from a timestamp that only spaces separate.
fn without_time(text: &str) -> (String, &str) {
    let is_date = |at: &usize| {
        let date = text.as_bytes().get(at + 1..at + 12).unwrap_or_default();
        date.len() == 11
            && date.iter().zip(b"dddd-dd-dd ").all(|(byte, kind)| match kind {
                b'd' => byte.is_ascii_digit(),
                kind => byte == kind,
            })
    };
    match text.match_indices(' ').map(|(at, _)| at).find(is_date) {
        Some(at) => (text[..at].trim_end().to_owned(), &text[at + 1..]),
        None => (text.trim_end().to_owned(), ""),
    }
}

/// Whether a timestamp is the epoch, in any time zone.
fn is_epoch(time: &str) -> bool {
    let mut parts = time.split_whitespace();
    let (Some(date), Some(clock), Some(zone)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let day = match date {
        "1970-01-01" => 0,
        "1969-12-31" => -24 * 60,
        _ => return false,
    };
    let minutes = |text: &str| {
        let (hours, minutes) = (text.get(..2)?, text.get(text.len().checked_sub(2)?..)?);
        Some(hours.parse::<i32>().ok()? * 60 + minutes.parse::<i32>().ok()?)
    };
    let offset = match zone.split_at_checked(1) {
        Some(("+", zone)) => minutes(zone),
        Some(("-", zone)) => minutes(zone).map(|minutes| -minutes),
        _ => None,
    };
    let seconds_are_zero = clock.get(5..).is_some_and(|rest| rest.bytes().all(|byte| b":.0".contains(&byte)));
    let at = clock.get(..5).and_then(minutes);
    seconds_are_zero && at.zip(offset).is_some_and(|(at, offset)| day + at == offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> (String, bool) {
        match HeaderSide::parse(text).unwrap() {
            HeaderSide::File(name) => (name.text, name.is_epoch),
            HeaderSide::Nothing => panic!("{text} names nothing"),
        }
    }

    #[test]
    fn names_come_with_times_and_quotes() {
        assert_eq!(name("a/x y.c\t2024-01-01 10:00:00.000000000 +0100"), ("a/x y.c".into(), false));
        assert_eq!(name("a/x y.c 2024-01-01 10:00:00"), ("a/x y.c".into(), false));
        assert_eq!(name("a/x 2.c \r"), ("a/x 2.c".into(), false));
        assert_eq!(name("a/ends in space \t"), ("a/ends in space ".into(), false));
        assert_eq!(name(r#""a/t\tab \303\244 \"q\" \\""#), ("a/t\tab ä \"q\" \\".into(), false));
        assert_eq!(name(r#""a/caf\351""#), ("a/caf\\xE9".into(), false));
        assert_eq!(HeaderSide::parse("/dev/null\t1970").unwrap(), HeaderSide::Nothing);
        assert!(HeaderSide::parse(r#""a/open"#).is_err() && HeaderSide::parse(r#""a\z""#).is_err());
        assert!(
            HeaderSide::parse("").is_err()
                && HeaderSide::parse(r#""\"#).is_err()
                && HeaderSide::parse(r#""\ä""#).is_err()
        );
    }

    #[test]
    fn the_epoch_is_told_in_any_zone() {
        for time in
            ["1970-01-01 00:00:00.000000000 +0000", "1970-01-01 01:00:00 +0100", "1969-12-31 19:00:00 -05:00"]
        {
            assert!(name(&format!("x\t{time}")).1, "{time}");
        }
        for time in ["1970-01-01 00:00:01 +0000", "1970-01-01 01:00:00 +0000", "1970-01-01", "1969-12-31 1 -"]
        {
            assert!(!name(&format!("x\t{time}")).1, "{time}");
        }
    }

    #[test]
    fn the_names_of_a_git_header_are_told_apart() {
        let pair = |text| super::pair(text).map(|(old, new)| format!("{old}|{new}"));
        assert_eq!(pair("a/x b/x").unwrap(), "a/x|b/x");
        assert_eq!(pair("a/x b/x b/x b/x").unwrap(), "a/x b/x|b/x b/x");
        assert_eq!(pair("x y x y").unwrap(), "x y|x y");
        assert_eq!(pair(r#""a/\t" "b/\t""#).unwrap(), "a/\t|b/\t");
        assert_eq!(pair(r#"a/x "b/\t""#).unwrap(), "a/x|b/\t");
        assert_eq!(pair("a/x b/y"), None);
    }

    #[test]
    fn prefixes_go_in_pairs() {
        assert_eq!(tail_of_pair("a/x", "b/x"), Some("x"));
        assert_eq!(tail_of_pair("i/x", "w/x"), Some("x"));
        assert_eq!(tail_of_pair("a/x", "a/x"), None);
        assert_eq!(tail_of_pair("a/x", "b/y"), None);
        assert_eq!(tail("a/b/c"), Some("b/c"));
        assert_eq!(tail("a/"), None);
    }
}
