//! Finds text in bytes at character boundaries only.

use super::bytes::index;
use super::chars::CharMap;
use super::{Charset, Check, FileBytes, LineStats, Unmappable, line_breaks};
use beamai_base::Result;
use memchr::memmem::Finder;
use std::ops::Range;

/// Block size in bytes; small in tests, so that matches cross block boundaries.
const BLOCK: u64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// A text to search for, in a file's encoding.
#[derive(Debug)]
pub struct Needle {
    text: String,
    bytes: Vec<u8>,
}

impl Needle {
    /// The text encoded in that charset; it must not be empty.
    ///
    /// # Errors
    /// Characters that the charset cannot represent; no file in it contains the text then.
    pub fn new(charset: Charset, text: &str) -> Result<Self, Unmappable> {
        Ok(Self { text: text.to_owned(), bytes: charset.encode(text)?.into_owned() })
    }

    /// Maximum length of an occurrence in bytes: a character may have longer forms than the encoder's.
    fn reach(&self, charset: Charset) -> u64 {
        let longest = if charset.is_ambiguous() { self.text.chars().count() * 4 } else { self.bytes.len() };
        longest as u64
    }
}

/// How to count overlapping occurrences, as of `aa` in `aaa`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// All of them.
    Each,
    /// The first one; the search goes on after its end.
    First,
}

/// An occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// Byte range in the file.
    pub range: Range<u64>,
    /// Number of the line where it begins.
    pub line: u64,
}

/// The result of a pass over a file.
#[derive(Debug)]
pub struct FileScan {
    /// The occurrences, in order.
    pub hits: Vec<Occurrence>,
    /// Whether `hits` has all occurrences.
    pub is_complete: bool,
    /// Line statistics of the file.
    pub stats: LineStats,
    /// Has been fed all bytes of the file.
    pub hasher: blake3::Hasher,
}

impl FileScan {
    /// Hash of all the file's bytes.
    pub fn hash(&self) -> blake3::Hash {
        self.hasher.finalize()
    }
}

/// Finds up to `most` occurrences, and counts lines and hashes in the same pass.
///
/// # Errors
/// Those of reading, and of `check`.
pub fn find(
    bytes: &FileBytes<'_>,
    charset: Charset,
    needle: &Needle,
    overlap: Overlap,
    most: usize,
    check: Check<'_>,
) -> Result<FileScan> {
    let search = OccurrenceSearch {
        charset,
        needle,
        finder: Finder::new(&needle.bytes),
        overlap,
        most,
        hits: vec![],
        next: 0,
        is_complete: true,
    };
    pass(bytes, charset, Some(search), check)
}

/// Counts lines and hashes.
///
/// # Errors
/// Those of reading, and of `check`.
pub fn summarize(bytes: &FileBytes<'_>, charset: Charset, check: Check<'_>) -> Result<FileScan> {
    pass(bytes, charset, None, check)
}

fn pass(
    bytes: &FileBytes<'_>,
    charset: Charset,
    mut search: Option<OccurrenceSearch<'_>>,
    check: Check<'_>,
) -> Result<FileScan> {
    let (mut stats, mut hasher) = (LineStats::default(), blake3::Hasher::new());
    let mut scratch = Vec::new();
    let reach = search.as_ref().map_or(0, |search| search.needle.reach(charset));
    let mut at = charset.bom().len() as u64;
    hasher.update(bytes.read(0..at, &mut scratch)?);
    while at < bytes.len() {
        check()?;
        let end = bytes.block_end(at, BLOCK);
        let block = bytes.read(at..end.saturating_add(reach), &mut scratch)?;
        let own = match &mut search {
            Some(search) => search.block(at, block, index(end - at), 1 + stats.ends()),
            None => block.len(),
        };
        stats.feed(charset, &block[..own]);
        hasher.update(&block[..own]);
        at += own as u64;
    }
    let (hits, is_complete) = search.map_or((vec![], true), |search| (search.hits, search.is_complete));
    Ok(FileScan { hits, is_complete, stats, hasher })
}

struct OccurrenceSearch<'a> {
    charset: Charset,
    needle: &'a Needle,
    finder: Finder<'a>,
    overlap: Overlap,
    most: usize,
    hits: Vec<Occurrence>,
    /// Minimum position of the next occurrence.
    next: u64,
    is_complete: bool,
}

impl OccurrenceSearch<'_> {
    /// Finds occurrences that begin in the first `own` bytes of a block; the bytes after them are for those that extend
    /// beyond. Returns the number of bytes that were searched: whole characters.
    fn block(&mut self, at: u64, block: &[u8], own: usize, first_line: u64) -> usize {
        let mut lines = LineCursor { charset: self.charset, block, position: 0, line: first_line };
        if !self.charset.is_ambiguous() {
            self.among_bytes(at, block, own, &mut lines);
            return own;
        }
        let mapped = CharMap::new(self.charset, block);
        let own = if own == block.len() { own } else { mapped.boundary(block, own) };
        self.among_chars(at, &mapped, own, &mut lines);
        own
    }

    fn among_bytes(&mut self, at: u64, block: &[u8], own: usize, lines: &mut LineCursor<'_>) {
        let unit = self.charset.unit();
        let mut from = index(self.next.saturating_sub(at));
        while self.is_complete && from < own {
            let Some(start) = self.finder.find(&block[from..]).map(|found| from + found) else { return };
            if start >= own {
                return;
            }
            from = start + unit;
            if start % unit == 0 {
                let end = start + self.needle.bytes.len();
                self.hit(at, start..end, lines);
                from = if self.overlap == Overlap::First { end } else { from };
            } else {
                from = start + 1;
            }
        }
    }

    fn among_chars(&mut self, at: u64, mapped: &CharMap, own: usize, lines: &mut LineCursor<'_>) {
        let finder = Finder::new(&self.needle.text);
        let mut from = 0;
        while self.is_complete {
            let Some(start) = finder.find(&mapped.text.as_bytes()[from..]).map(|found| from + found) else {
                return;
            };
            let end = start + self.needle.text.len();
            from = start + mapped.text[start..].chars().next().map_or(1, char::len_utf8);
            let Some(range) = mapped.byte_at(start).zip(mapped.byte_at(end)) else { continue };
            if range.0 >= own {
                return;
            }
            if at + range.0 as u64 >= self.next {
                self.hit(at, range.0..range.1, lines);
                from = if self.overlap == Overlap::First { end } else { from };
            }
        }
    }

    fn hit(&mut self, at: u64, range: Range<usize>, lines: &mut LineCursor<'_>) {
        if self.hits.len() == self.most {
            self.is_complete = false;
            return;
        }
        let line = lines.line_at(range.start);
        let range = at + range.start as u64..at + range.end as u64;
        self.next = if self.overlap == Overlap::First { range.end } else { range.start + 1 };
        self.hits.push(Occurrence { range, line });
    }
}

/// Computes line numbers of increasing positions.
struct LineCursor<'a> {
    charset: Charset,
    block: &'a [u8],
    position: usize,
    line: u64,
}

impl LineCursor<'_> {
    fn line_at(&mut self, position: usize) -> u64 {
        self.line += line_breaks(self.charset, &self.block[self.position..position]).count() as u64;
        self.position = position;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn ranges(label: &str, bytes: &[u8], text: &str, overlap: Overlap) -> Vec<(u64, u64, u64)> {
        let charset = Charset::labelled(label, bytes).unwrap();
        let needle = Needle::new(charset, text).unwrap();
        let in_memory = find(&FileBytes::Memory(bytes), charset, &needle, overlap, 100, &|| Ok(())).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let in_file = FileBytes::File(&file, bytes.len() as u64);
        let read = find(&in_file, charset, &needle, overlap, 100, &|| Ok(())).unwrap();
        assert_eq!((&in_memory.hits, in_memory.hash()), (&read.hits, read.hash()));
        assert_eq!(read.hash(), blake3::hash(bytes));
        read.hits.iter().map(|hit| (hit.range.start, hit.range.end, hit.line)).collect()
    }

    #[test]
    fn occurrences_come_with_their_lines() {
        assert_eq!(ranges("utf-8", b"ab\nab", "ab", Overlap::First), [(0, 2, 1), (3, 5, 2)]);
        assert_eq!(ranges("utf-8", b"aaa", "aa", Overlap::Each), [(0, 2, 1), (1, 3, 1)]);
        assert_eq!(ranges("utf-8", b"aaa", "aa", Overlap::First), [(0, 2, 1)]);
        assert_eq!(ranges("utf-8", b"\xEF\xBB\xBFab", "ab", Overlap::First), [(3, 5, 1)]);
        assert_eq!(ranges("utf-8", b"\xFFab\xFF", "ab", Overlap::First), [(1, 3, 1)]);
    }

    #[test]
    fn half_a_character_is_no_occurrence() {
        // U+6100 U+0061 has the bytes of U+0061 at an odd position too.
        assert_eq!(ranges("utf-16le", b"\0\x61\0\x61\x61\0", "a", Overlap::Each), [(4, 6, 1)]);
        // The trail byte of this character is a backslash.
        assert_eq!(ranges("shift_jis", b"\x83\x5C\x5C", "\\", Overlap::Each), [(2, 3, 1)]);
        // A2 A4 occurs in B0 A2 A4 D6 across two characters.
        assert_eq!(ranges("gbk", b"\xB0\xA2\xA4\xD6", "\u{3044}", Overlap::Each), []);
        let hiragana = Charset::labelled("gbk", b"").unwrap().encode("い").unwrap().into_owned();
        assert_eq!(ranges("gbk", &hiragana, "い", Overlap::Each), [(0, 2, 1)]);
    }

    #[test]
    fn every_form_of_a_character_is_found() {
        // Two byte sequences of Shift_JIS are the same Roman numeral.
        assert_eq!(
            ranges("shift_jis", b"\x87\x54 \xFA\x4A", "\u{2160}", Overlap::Each),
            [(0, 2, 1), (3, 5, 1)]
        );
    }

    #[test]
    fn occurrences_across_blocks_are_found_once() {
        for (label, char) in [("utf-8", "é"), ("utf-16le", "é"), ("gbk", "汉"), ("shift_jis", "漢")] {
            let charset = Charset::labelled(label, b"").unwrap();
            let text = charset.encode(char).unwrap();
            for shift in 0..4 {
                let lead = charset.encode(&"x".repeat(shift)).unwrap().into_owned();
                let body = text.repeat((BLOCK as usize + 8) / text.len());
                let mut bytes = [lead, body].concat();
                bytes.extend_from_slice(&charset.encode("end").unwrap());
                let last = format!("{char}end");
                let hits = ranges(label, &bytes, &last, Overlap::Each);
                assert_eq!(hits.len(), 1, "{label}");
                let across = format!("{}{char}e", char.repeat(7));
                assert_eq!(ranges(label, &bytes, &across, Overlap::First).len(), 1, "{label}");
            }
        }
    }

    #[test]
    fn the_search_ends_at_its_bound() {
        let needle = Needle::new(Charset::UTF8, "a").unwrap();
        let found =
            find(&FileBytes::Memory(b"aaaa"), Charset::UTF8, &needle, Overlap::Each, 2, &|| Ok(())).unwrap();
        assert_eq!((found.hits.len(), found.is_complete), (2, false));
        assert_eq!(found.hash(), blake3::hash(b"aaaa"));
    }
}
