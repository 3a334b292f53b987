//! The start of a line, column by column.

use super::probe::is_blank;

/// Maximum length of a margin in bytes. What follows counts as text.
const MOST: usize = 256;

/// How much of the start of a line has been taken as white space and marks of containers.
#[derive(Clone, Copy)]
pub(super) struct Margin<'l> {
    line: &'l [u8],
    /// Whether the line ends with the bytes that are there.
    is_whole: bool,
    /// The bytes that have been taken.
    at: usize,
    /// The column after them.
    column: usize,
    /// The columns of a tab that have not been taken.
    owed: usize,
    /// No thematic break begins before this offset, so that a line of many marks is searched once.
    unbroken: usize,
}

impl<'l> Margin<'l> {
    pub(super) fn new(line: &'l [u8], is_whole: bool) -> Self {
        Self { line, is_whole, at: 0, column: 0, owed: 0, unbroken: 0 }
    }

    /// A byte after what has been taken, a line break at the end of the line; `None` if more of the line is needed.
    pub(super) fn byte(&self, offset: usize) -> Option<u8> {
        match self.line.get(self.at + offset) {
            _ if self.at + offset >= MOST => Some(0),
            Some(b'\r') => Some(b'\n'),
            Some(byte) => Some(*byte),
            None => self.is_whole.then_some(b'\n'),
        }
    }

    /// Takes all white space but the columns that the result counts: those are what precedes the next byte.
    pub(super) fn indent(&self) -> Option<(usize, Self)> {
        let mut after = *self;
        let mut indent = self.owed;
        after.owed = 0;
        loop {
            match after.byte(0)? {
                byte if is_blank(byte) => indent += after.blank(byte),
                _ => return Some((indent, after)),
            }
        }
    }

    /// Whether nothing but white space follows these bytes.
    pub(super) fn ends_after(&self, len: usize) -> Option<bool> {
        let mut after = *self;
        after.mark(len);
        Some(after.indent()?.1.byte(0)? == b'\n')
    }

    /// Whether the rest of the line is a thematic break.
    pub(super) fn is_break(&mut self) -> Option<bool> {
        let mark = self.byte(0)?;
        if !matches!(mark, b'-' | b'*' | b'_') || self.at < self.unbroken {
            return Some(false);
        }
        let mut count = 0;
        for offset in 0.. {
            match self.byte(offset)? {
                b'\n' => break,
                byte if byte == mark => count += 1,
                byte if is_blank(byte) => {}
                _ => {
                    self.unbroken = self.at + offset;
                    return Some(false);
                }
            }
        }
        Some(count >= 3)
    }

    /// Takes columns of white space, of which there are as many.
    pub(super) fn take(&mut self, columns: usize) {
        let mut wanted = columns;
        while wanted > self.owed {
            wanted -= self.owed;
            self.owed = self.blank(self.line[self.at]);
        }
        self.owed -= wanted;
    }

    fn blank(&mut self, blank: u8) -> usize {
        let width = if blank == b'\t' { 4 - self.column % 4 } else { 1 };
        self.at += 1;
        self.column += width;
        width
    }

    /// Takes one mark. A mark is never white space.
    pub(super) fn mark(&mut self, len: usize) {
        self.at += len;
        self.column += len;
    }

    /// The number of bytes that have been taken.
    pub(super) fn len(&self) -> usize {
        self.at
    }

    /// The line after what has been taken.
    pub(super) fn rest(&self) -> &'l [u8] {
        &self.line[self.at.min(self.line.len())..]
    }
}
