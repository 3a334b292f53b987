//! The surroundings of a change in a line that is too long to be read at once.

use super::excerpt::{AROUND, last_chars};
use super::{Charset, Check, Excerpt, FileBytes, line_breaks};
use beamai_base::Result;
use encoding_rs::Decoder;
use std::ops::Range;

/// Bytes read at a time.
const BLOCK: u64 = 256 << 10;

/// What is before and after a range in the lines where it begins and ends: the adjacent characters, and how many there
/// are.
pub(super) struct LongLine {
    before: (String, u64),
    after: (String, u64),
}

impl LongLine {
    /// Reads these lines.
    ///
    /// # Errors
    /// Those of reading, and of `check`.
    pub(super) fn around(
        bytes: &FileBytes<'_>,
        charset: Charset,
        range: &Range<u64>,
        check: Check<'_>,
    ) -> Result<Self> {
        let reader = LineReader { bytes, charset, check };
        Ok(Self { before: reader.before(range.start)?, after: reader.after(range.end)? })
    }

    /// The lines with this text in the range, each cut to the part around the text; `is_marked` if they say where that is.
    pub(super) fn with(&self, text: &str, is_marked: bool) -> Vec<String> {
        let (nothing, before) = (("", 0), (self.before.0.as_str(), self.before.1));
        let after = (self.after.0.as_str(), self.after.1);
        let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        let last = lines.len() - 1;
        let part = |(at, line): (usize, &&str)| {
            let before = if at == 0 { before } else { nothing };
            let after = if at == last { after } else { nothing };
            let part = Excerpt::between(before, line, after);
            if is_marked { part.marked() } else { part.text }
        };
        lines.iter().enumerate().map(part).collect()
    }
}

struct LineReader<'a> {
    bytes: &'a FileBytes<'a>,
    charset: Charset,
    check: Check<'a>,
}

impl LineReader<'_> {
    /// The last characters before a position in its line, and the number of all of them.
    fn before(&self, at: u64) -> Result<(String, u64)> {
        let (mut last, mut count) = (String::new(), 0);
        self.each_text(self.line_start(at)?..at, |text| {
            count += text.chars().count() as u64;
            last.push_str(text);
            last = last_chars(&last, AROUND).to_owned();
            true
        })?;
        Ok((last, count))
    }

    /// The first characters from a position to the end of its line, and the number of all of them.
    fn after(&self, at: u64) -> Result<(String, u64)> {
        let (mut first, mut count, mut ends_in_return) = (String::new(), 0, false);
        self.each_text(at..self.bytes.len(), |text| {
            let (text, is_end) = text.split_once('\n').map_or((text, false), |(line, _)| (line, true));
            first.extend(text.chars().take(AROUND.saturating_sub(first.chars().count())));
            count += text.chars().count() as u64;
            ends_in_return = if text.is_empty() { ends_in_return } else { text.ends_with('\r') };
            if is_end && ends_in_return {
                count -= 1;
                first.truncate(first.trim_end_matches('\r').len());
            }
            !is_end
        })?;
        Ok((first, count))
    }

    fn line_start(&self, at: u64) -> Result<u64> {
        let (first, mut end, mut scratch) = (self.charset.bom().len() as u64, at, Vec::new());
        while end > first {
            (self.check)()?;
            // Blocks begin at a code unit.
            let start = end.saturating_sub(BLOCK).max(first);
            let block = self.bytes.read(start..end, &mut scratch)?;
            if let Some(found) = line_breaks(self.charset, block).next_back() {
                return Ok(start + found as u64);
            }
            end = start;
        }
        Ok(first)
    }

    /// Decodes a range in pieces, until `work` returns false.
    fn each_text(&self, range: Range<u64>, mut work: impl FnMut(&str) -> bool) -> Result<()> {
        let (mut decoder, mut at): (Decoder, u64) = (self.charset.decoder(), range.start);
        let (mut text, mut scratch) = (String::new(), Vec::new());
        while at < range.end {
            (self.check)()?;
            let end = range.end.min(at + BLOCK);
            let block = self.bytes.read(at..end, &mut scratch)?;
            text.clear();
            text.reserve(decoder.max_utf8_buffer_length(block.len()).unwrap_or(block.len()));
            _ = decoder.decode_to_string(block, &mut text, end == range.end);
            at = end;
            if !work(&text) {
                return Ok(());
            }
        }
        Ok(())
    }
}
