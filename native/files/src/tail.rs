//! Finds the start of a file's last lines, searching backwards from its end.

use beamai_base::Result;
use beamai_text::{Charset, Check, FileBytes, line_breaks};

/// Bytes per read.
const BLOCK: u64 = if cfg!(test) { 64 } else { 64 << 10 };

/// The start of the last lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TailStart {
    pub(super) position: u64,
    /// Whether it is the first line of the file.
    pub(super) is_first: bool,
}

/// The start of the last `count` lines.
///
/// # Errors
/// I/O errors, and those of `check`.
pub(super) fn start_of(
    bytes: &FileBytes<'_>,
    charset: Charset,
    count: u64,
    check: Check<'_>,
) -> Result<TailStart> {
    let (first, unit) = (charset.bom().len() as u64, charset.unit() as u64);
    // Align blocks to code units; a partial unit at the end belongs to the last line.
    let end = bytes.len() - (bytes.len() - first) % unit;
    let (mut at, mut left, mut scratch) = (end, count, Vec::new());
    while at > first {
        check()?;
        let from = at.saturating_sub(BLOCK).max(first);
        let block = bytes.read(from..at, &mut scratch)?;
        for position in line_breaks(charset, block).rev().map(|end| from + end as u64) {
            // The line ending at the end of the file starts no further line.
            if position == bytes.len() {
                continue;
            }
            left -= 1;
            if left == 0 {
                return Ok(TailStart { position, is_first: false });
            }
        }
        at = from;
    }
    Ok(TailStart { position: first, is_first: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_lines_are_those_of_the_text(text in "[ab\n\r]{0,200}", count in 1u64..8) {
            for (label, bom) in [("utf-8", ""), ("utf-16le", "\u{FEFF}"), ("utf-16be", "\u{FEFF}")] {
                let unmarked = Charset::labelled(label, b"").unwrap();
                let bytes = unmarked.encode(&format!("{bom}{text}")).unwrap().into_owned();
                let charset = Charset::labelled(label, &bytes).unwrap();
                let start = start_of(&FileBytes::Memory(&bytes), charset, count, &|| Ok(())).unwrap();
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let last = lines[lines.len().saturating_sub(count as usize)..].concat();
                prop_assert_eq!(charset.decode(&bytes[start.position as usize..]).0, last);
                prop_assert_eq!(start.is_first, lines.len() as u64 <= count);
            }
        }
    }
}
