//! Writes a file with some ranges replaced and all other bytes unchanged.

use super::{Check, FileBytes};
use beamai_base::{Result, ToolError};
use std::io::{BufWriter, Write};
use std::ops::Range;

/// Bytes copied at a time.
const BLOCK: u64 = 256 << 10;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice<'a> {
    /// The byte range to replace.
    pub range: Range<u64>,
    /// Number of the line where it begins.
    pub line: u64,
    /// The new bytes, in the file's encoding.
    pub with: &'a [u8],
}

/// Writes the file with its splices, which are in order and do not overlap. Returns hash and size.
///
/// # Errors
/// Those of reading, writing, and of `check`.
pub fn splice<'a>(
    bytes: &FileBytes<'_>,
    splices: impl Iterator<Item = Splice<'a>>,
    out: impl Write,
    check: Check<'_>,
) -> Result<(blake3::Hash, u64)> {
    let room = usize::try_from(bytes.len().min(BLOCK)).unwrap_or(0);
    let mut out =
        HashingWriter { out: BufWriter::with_capacity(room, out), hasher: blake3::Hasher::new(), size: 0 };
    let mut at = 0;
    for splice in splices {
        out.copy(bytes, at..splice.range.start, check)?;
        out.write(splice.with)?;
        at = splice.range.end;
    }
    out.copy(bytes, at..bytes.len(), check)?;
    out.out.flush().map_err(failed)?;
    Ok((out.hasher.finalize(), out.size))
}

struct HashingWriter<W: Write> {
    out: BufWriter<W>,
    hasher: blake3::Hasher,
    size: u64,
}

impl<W: Write> HashingWriter<W> {
    fn copy(&mut self, bytes: &FileBytes<'_>, range: Range<u64>, check: Check<'_>) -> Result<()> {
        let (mut at, mut scratch) = (range.start, Vec::new());
        while at < range.end {
            check()?;
            let end = range.end.min(at + BLOCK);
            self.write(bytes.read(at..end, &mut scratch)?)?;
            at = end;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        self.out.write_all(bytes).map_err(failed)
    }
}

fn failed(error: std::io::Error) -> ToolError {
    ToolError::io("write", "the file", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ranges_change() {
        let splices = [
            Splice { range: 0..1, line: 1, with: b"" },
            Splice { range: 2..2, line: 1, with: b"new" },
            Splice { range: 3..4, line: 1, with: b"X" },
        ];
        let mut out = Vec::new();
        let (hash, size) =
            splice(&FileBytes::Memory(b"abcd\xFF"), splices.into_iter(), &mut out, &|| Ok(())).unwrap();
        assert_eq!(out, b"bnewcX\xFF");
        assert_eq!((hash, size), (blake3::hash(&out), 7));
    }
}
