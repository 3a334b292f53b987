//! The bytes of a file, in memory or on disk.

use beamai_base::{Reason, Result, ToolError};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The bytes of a file.
#[derive(Debug, Clone, Copy)]
pub enum FileBytes<'a> {
    /// In memory.
    Memory(&'a [u8]),
    /// In an open file, with its size when it was opened.
    File(&'a File, u64),
}

impl FileBytes<'_> {
    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, size) => *size,
        }
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a range, clamped to the end; `scratch` is the buffer if they have to be read.
    ///
    /// # Errors
    /// `stale` when the file was truncated meanwhile, and those of the operating system.
    pub fn read<'b>(&'b self, range: Range<u64>, scratch: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        match self {
            Self::Memory(bytes) => Ok(&bytes[index(start)..index(end)]),
            Self::File(file, _) => {
                scratch.resize(index(end - start), 0);
                file.read_exact_at(scratch, start).map_err(failed)?;
                Ok(scratch)
            }
        }
    }

    /// The end of a block that starts at `at`: the end of the file in memory, `block` bytes further in a file.
    pub fn block_end(&self, at: u64, block: u64) -> u64 {
        match self {
            Self::Memory(_) => self.len(),
            Self::File(_, size) => at.saturating_add(block).min(*size),
        }
    }
}

fn failed(error: io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            ToolError::new(Reason::Stale, "the file became shorter while it was read; try again")
        }
        _ => ToolError::io("read", "the file", error),
    }
}

/// An index into memory. Only ranges that fit in memory are read.
pub(super) fn index(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}
