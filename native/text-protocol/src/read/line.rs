//! Lines of a text.

/// The first line, and what follows its line break: a line feed, a carriage return, or both.
pub(super) fn split_line(text: &str) -> (&str, &str) {
    let Some(end) = memchr::memchr2(b'\n', b'\r', text.as_bytes()) else { return (text, "") };
    let (line, rest) = text.split_at(end);
    (line, rest.strip_prefix("\r\n").unwrap_or(&rest[1..]))
}
