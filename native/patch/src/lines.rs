//! Reads the lines of a file of any size.

use beamai_base::Result;
use beamai_text::{Charset, Check, FileBytes, line_breaks};
use std::ops::Range;

/// Bytes per read; few in tests, so that lines span blocks.
const BLOCK: u64 = if cfg!(test) { 1 << 9 } else { 1 << 20 };

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineTerminator {
    /// Line feed.
    Feed,
    /// Carriage return and line feed.
    Return,
    /// End of file.
    Nothing,
}

impl LineTerminator {
    /// The characters of the line ending.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Feed => "\n",
            Self::Return => "\r\n",
            Self::Nothing => "",
        }
    }
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileLine<'a> {
    /// Its byte range, including the line ending.
    pub(super) range: Range<u64>,
    /// Its bytes up to the line feed; `None` if it is too long.
    pub(super) body: Option<&'a [u8]>,
    pub(super) end: LineTerminator,
}

/// Visits the lines of a file, in order. Lines longer than both a block and `longest` bytes are passed without their
/// bytes. A byte order mark is not part of any line.
///
/// # Errors
/// I/O errors, and those of `check` and `visit`.
pub(super) fn each_line(
    bytes: &FileBytes<'_>,
    charset: Charset,
    longest: u64,
    check: Check<'_>,
    mut visit: impl FnMut(FileLine<'_>) -> Result<()>,
) -> Result<()> {
    let block = BLOCK.max(longest.saturating_mul(2));
    let mut scratch = Vec::new();
    let mut at = charset.bom().len() as u64;
    while at < bytes.len() {
        check()?;
        let end = bytes.block_end(at, block);
        let read = bytes.read(at..end, &mut scratch)?;
        let used = split(charset, at, read, end == bytes.len(), &mut visit)?;
        at = match used {
            0 => skip_long(bytes, charset, at, end, check, &mut visit)?,
            used => at + used,
        };
    }
    Ok(())
}

/// Visits the lines in a block that starts at a line, and returns their total length. A last line without line ending
/// counts only at the end of the file.
fn split(
    charset: Charset,
    at: u64,
    block: &[u8],
    is_last: bool,
    visit: &mut impl FnMut(FileLine<'_>) -> Result<()>,
) -> Result<u64> {
    let mut start = 0;
    for end in line_breaks(charset, block) {
        visit(line(charset, at, start..end, block))?;
        start = end;
    }
    if is_last && start < block.len() {
        let range = at + start as u64..at + block.len() as u64;
        visit(FileLine { range, body: Some(&block[start..]), end: LineTerminator::Nothing })?;
        start = block.len();
    }
    Ok(start as u64)
}

fn line(charset: Charset, at: u64, range: Range<usize>, block: &[u8]) -> FileLine<'_> {
    let body = &block[range.start..range.end - charset.unit()];
    let end = if ends_with_return(charset, body) { LineTerminator::Return } else { LineTerminator::Feed };
    FileLine { range: at + range.start as u64..at + range.end as u64, body: Some(body), end }
}

/// Visits a line that starts at `at` and ends after `from`. Returns the start of the next line.
fn skip_long(
    bytes: &FileBytes<'_>,
    charset: Charset,
    at: u64,
    from: u64,
    check: Check<'_>,
    visit: &mut impl FnMut(FileLine<'_>) -> Result<()>,
) -> Result<u64> {
    let mut scratch = Vec::new();
    let mut from = from - (from - at) % charset.unit() as u64;
    while from < bytes.len() {
        check()?;
        let block = bytes.read(from..from + BLOCK, &mut scratch)?;
        let next = line_breaks(charset, block).next().map(|end| from + end as u64);
        from = next.unwrap_or(from + block.len() as u64);
        if next.is_some() {
            break;
        }
    }
    let unit = charset.unit() as u64;
    let last = bytes.read(from.saturating_sub(2 * unit)..from, &mut scratch)?;
    let end = match line_breaks(charset, last).next_back() {
        Some(end) if end == last.len() => line(charset, 0, 0..last.len(), last).end,
        _ => LineTerminator::Nothing,
    };
    visit(FileLine { range: at..from, body: None, end })?;
    Ok(from)
}

/// Whether the bytes end with a carriage return.
pub(super) fn ends_with_return(charset: Charset, body: &[u8]) -> bool {
    match (charset.unit(), charset.is_big_endian()) {
        (1, _) => body.last() == Some(&b'\r'),
        (_, false) => body.ends_with(b"\r\0"),
        (_, true) => body.ends_with(b"\0\r"),
    }
}

/// The bytes of a line without a trailing carriage return.
pub(super) fn without_return(charset: Charset, body: &[u8]) -> &[u8] {
    match ends_with_return(charset, body) {
        true => &body[..body.len() - charset.unit()],
        false => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    type Seen = (Range<u64>, Option<Vec<u8>>, LineTerminator);

    fn lines(label: &str, bytes: &[u8], longest: u64) -> Vec<Seen> {
        let charset = Charset::labelled(label, bytes).unwrap();
        let visit = |bytes: &FileBytes<'_>| {
            let mut lines: Vec<Seen> = Vec::new();
            each_line(bytes, charset, longest, &|| Ok(()), |line| {
                lines.push((line.range, line.body.map(<[u8]>::to_vec), line.end));
                Ok(())
            })
            .unwrap();
            lines
        };
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let read = visit(&FileBytes::File(&file, bytes.len() as u64));
        let position = |(range, _, end): &Seen| (range.clone(), *end);
        assert!(read.iter().map(position).eq(visit(&FileBytes::Memory(bytes)).iter().map(position)));
        read
    }

    #[test]
    fn lines_come_with_their_ends() {
        assert_eq!(
            lines("utf-8", b"\xEF\xBB\xBFa\n\r\nb", 0),
            [
                (3..5, Some(b"a".to_vec()), LineTerminator::Feed),
                (5..7, Some(b"\r".to_vec()), LineTerminator::Return),
                (7..8, Some(b"b".to_vec()), LineTerminator::Nothing)
            ]
        );
        assert_eq!(lines("utf-8", b"", 0), []);
        let wide: Vec<u8> = "\u{FEFF}a\r\n\u{A0A}\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(
            lines("utf-16be", &wide, 0),
            [
                (2..8, Some(b"\0a\0\r".to_vec()), LineTerminator::Return),
                (8..12, Some(b"\x0A\x0A".to_vec()), LineTerminator::Feed)
            ]
        );
    }

    #[test]
    fn lines_that_are_longer_than_a_block_come_without_their_bytes() {
        for (end, kind) in
            [("\n", LineTerminator::Feed), ("\r\n", LineTerminator::Return), ("", LineTerminator::Nothing)]
        {
            for len in 500..530 {
                let text = format!("a\n{}{end}", "x".repeat(len));
                let got = lines("utf-8", text.as_bytes(), 0);
                assert_eq!(got.len(), 2);
                assert_eq!((got[1].0.clone(), got[1].2), (2..text.len() as u64, kind));
            }
        }
        let long = "x".repeat(3000);
        let got = lines("utf-8", format!("{long}\nb").as_bytes(), 0);
        assert_eq!((&got[0].1, got.len()), (&None, 2));
        assert!(lines("utf-8", format!("{long}\nb").as_bytes(), 3000)[0].1.is_some());
    }
}
