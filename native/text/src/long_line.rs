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
    /// Reads these lines. Nothing beyond `limits`, between which there is no other change, is shown of them.
    ///
    /// # Errors
    /// Those of reading, and of `check`.
    pub(super) fn around(
        bytes: &FileBytes<'_>,
        charset: Charset,
        range: &Range<u64>,
        limits: Range<u64>,
        check: Check<'_>,
    ) -> Result<Self> {
        let reader = LineReader { bytes, charset, check };
        let before = reader.before(range.start, limits.start)?;
        Ok(Self { before, after: reader.after(range.end, limits.end)? })
    }

    /// The lines with this text in the range, each cut to the part around the text.
    pub(super) fn with(&self, text: &str) -> Vec<Excerpt> {
        let nothing = ("", 0);
        let [before, after] = [&self.before, &self.after].map(|(text, count)| (text.as_str(), *count));
        let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        let last = lines.len() - 1;
        let part = |(at, line): (usize, &&str)| {
            let before = if at == 0 { before } else { nothing };
            let after = if at == last { after } else { nothing };
            Excerpt::between(before, line, after)
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
    /// The last characters before a position in its line, but not before `least`; and the number of all before it.
    fn before(&self, at: u64, least: u64) -> Result<(String, u64)> {
        let (mut last, mut count) = (String::new(), 0);
        let start = self.line_start(at)?;
        let least = least.clamp(start, at);
        self.each_text(start..least, |text| {
            count += text.chars().count() as u64;
            true
        })?;
        self.each_text(least..at, |text| {
            count += text.chars().count() as u64;
            last.push_str(text);
            last = last_chars(&last, AROUND).to_owned();
            true
        })?;
        Ok((last, count))
    }

    /// The first characters from a position on, but not beyond `most`; and the number of all to the end of its line.
    fn after(&self, at: u64, most: u64) -> Result<(String, u64)> {
        let (mut first, mut count, mut ends_in_return, mut is_end) = (String::new(), 0, false, false);
        for (range, is_shown) in [(at..most, true), (most..self.bytes.len(), false)] {
            if is_end {
                break;
            }
            self.each_text(range, |text| {
                let line = text.split_once('\n').map(|(line, _)| line);
                is_end = line.is_some();
                let text = line.unwrap_or(text);
                if is_shown {
                    first.extend(text.chars().take(AROUND.saturating_sub(first.chars().count())));
                }
                count += text.chars().count() as u64;
                ends_in_return = if text.is_empty() { ends_in_return } else { text.ends_with('\r') };
                !is_end
            })?;
        }
        if is_end && ends_in_return {
            count -= 1;
            first.truncate(first.trim_end_matches('\r').len());
        }
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
