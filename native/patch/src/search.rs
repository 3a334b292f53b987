//! Finds where the old lines of hunks occur in a file, for all hunks in one pass.
//!
//! Each distinct line gets a number, and each hunk's old lines are searched for as a sequence of numbers with the
//! Knuth-Morris-Pratt algorithm. Every line of the file is read once; memory holds only the patch and the matches.

use super::diff::HunkLine;
use super::lines::{FileLine, LineTerminator, each_line, without_return};
use beamai_base::Result;
use beamai_text::{Charset, Check, FileBytes, Unmappable};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;

/// Maximum number of matches kept per hunk on each side of the stated line, and for all hunks together. A few are
/// always kept for each hunk. Without a limit, a small patch with many hunks could exhaust memory.
const REMEMBERED: usize = 500;
const REMEMBERED_IN_ALL: usize = 1 << 17;
const REMEMBERED_AT_LEAST: usize = 16;

/// Consecutive lines of the file that equal the old lines of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HunkMatch {
    /// 1-based number of the first line.
    pub(super) line: u64,
    /// Byte range, including line endings.
    pub(super) range: Range<u64>,
}

/// The matches of a hunk.
#[derive(Debug, Default)]
pub(super) struct HunkMatches {
    /// The matches nearest to the stated line, in order.
    pub(super) near: VecDeque<HunkMatch>,
    /// Total number of matches.
    pub(super) total: u64,
    /// Characters of the old lines that the file's encoding cannot represent.
    pub(super) unmappable: Option<Unmappable>,
}

/// Properties of the whole file, collected in the same pass.
#[derive(Debug, Default)]
pub(super) struct FileSummary {
    pub(super) lines: u64,
    /// Number of lines that end with LF alone, and with CR LF.
    pub(super) feeds: u64,
    pub(super) returns: u64,
    /// Whether the file has no final newline.
    pub(super) is_open: bool,
    /// Byte offsets of the requested lines.
    pub(super) starts: BTreeMap<u64, u64>,
}

/// The old lines of one hunk.
pub(super) struct HunkQuery<'h> {
    pub(super) lines: Vec<&'h HunkLine>,
    /// The line where they should be.
    pub(super) stated: Option<u64>,
    /// Whether they must be at the end of the file.
    pub(super) is_at_end: bool,
}

/// How line endings are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEndMatching {
    /// Exactly.
    Exact,
    /// Ignored: all lines of the hunks have the same line ending, which may differ from the file's.
    Any,
}

/// The state of a search.
pub(super) struct HunkSearch {
    charset: Charset,
    ends: LineEndMatching,
    symbols: LineInterner,
    tracks: Vec<MatchTrack>,
    /// For each line id, the tracks that start with it.
    beginning_with: Vec<Vec<usize>>,
    /// Tracks with a partial match.
    active: Vec<usize>,
    /// Offsets of the last lines.
    recent: VecDeque<u64>,
    summary: FileSummary,
}

type LineId = u32;

struct LineInterner {
    by_bytes: HashMap<Vec<u8>, LineId>,
    /// For encodings with several byte sequences per text.
    by_text: HashMap<String, LineId>,
    longest: u64,
}

struct MatchTrack {
    word: Vec<LineId>,
    /// Failure function: for each prefix, the length of its longest proper suffix that is also a prefix.
    fallback: Vec<usize>,
    matched: usize,
    stated: Option<u64>,
    is_at_end: bool,
    /// Whether the last line must be without a line ending.
    is_open: bool,
    /// Maximum number of matches kept on each side of the stated line.
    most: usize,
    /// Number of kept matches before the stated line.
    before: usize,
    found: HunkMatches,
}

impl HunkSearch {
    /// Prepares a search for each of `wanted` in a file of this encoding, and for the offsets of the lines `starts`.
    pub(super) fn new(
        charset: Charset,
        ends: LineEndMatching,
        wanted: &[HunkQuery<'_>],
        starts: &[u64],
    ) -> Self {
        let mut search = Self {
            charset,
            ends,
            symbols: LineInterner { by_bytes: HashMap::new(), by_text: HashMap::new(), longest: 0 },
            tracks: Vec::with_capacity(wanted.len()),
            beginning_with: vec![],
            active: vec![],
            recent: VecDeque::new(),
            summary: FileSummary {
                starts: starts.iter().map(|line| (*line, u64::MAX)).collect(),
                ..FileSummary::default()
            },
        };
        let most = REMEMBERED_IN_ALL / wanted.len().max(1);
        for wanted in wanted {
            search.add(wanted, most.clamp(REMEMBERED_AT_LEAST, REMEMBERED));
        }
        search
    }

    fn add(&mut self, wanted: &HunkQuery<'_>, most: usize) {
        let mut word = Vec::with_capacity(wanted.lines.len());
        let mut found = HunkMatches::default();
        for line in &wanted.lines {
            let text = match self.ends {
                LineEndMatching::Any => line.text.strip_suffix('\r').unwrap_or(&line.text),
                LineEndMatching::Exact => &line.text,
            };
            match self.symbols.intern(self.charset, text) {
                Ok(symbol) => word.push(symbol),
                Err(unmappable) => found.unmappable = Some(unmappable),
            }
        }
        if found.unmappable.is_some() {
            word.clear();
        }
        if let Some(first) = word.first() {
            let at = *first as usize;
            self.beginning_with.resize_with(self.beginning_with.len().max(at + 1), Vec::new);
            self.beginning_with[at].push(self.tracks.len());
        }
        self.tracks.push(MatchTrack {
            fallback: fallback(&word),
            word,
            matched: 0,
            stated: wanted.stated,
            is_at_end: wanted.is_at_end,
            is_open: wanted.lines.last().is_some_and(|line| line.is_open),
            most,
            before: 0,
            found,
        });
    }

    /// Searches the file.
    ///
    /// # Errors
    /// I/O errors, and those of `check`.
    pub(super) fn run(
        mut self,
        bytes: &FileBytes<'_>,
        check: Check<'_>,
    ) -> Result<(Vec<HunkMatches>, FileSummary)> {
        let (charset, longest) = (self.charset, self.symbols.longest);
        let held = self.tracks.iter().map(|track| track.word.len()).max().unwrap_or(0);
        each_line(bytes, charset, longest, check, |line| {
            if self.summary.lines.is_multiple_of(4096) {
                check()?;
            }
            self.line(&line, held);
            Ok(())
        })?;
        for start in self.summary.starts.values_mut().filter(|start| **start == u64::MAX) {
            *start = bytes.len();
        }
        let lines = self.summary.lines;
        Ok((self.tracks.into_iter().map(|track| track.finish(lines)).collect(), self.summary))
    }

    fn line(&mut self, line: &FileLine<'_>, held: usize) {
        self.summary.take(line);
        self.recent.push_back(line.range.start);
        if self.recent.len() > held {
            self.recent.pop_front();
        }
        let symbol = line.body.and_then(|body| self.symbols.of(self.charset, self.ends, body));
        let Some(symbol) = symbol else {
            self.active.drain(..).for_each(|at| self.tracks[at].matched = 0);
            return;
        };
        let mut active = std::mem::take(&mut self.active);
        // Tracks with a partial match are already in the list.
        let begin = self.beginning_with.get(symbol as usize).into_iter().flatten().copied();
        let begin: Vec<usize> = begin.filter(|at| self.tracks[*at].matched == 0).collect();
        active.extend(begin);
        active.retain(|at| self.advance(*at, symbol, line));
        self.active = active;
    }

    /// Advances a track; false if it has no partial match any more.
    fn advance(&mut self, at: usize, symbol: LineId, line: &FileLine<'_>) -> bool {
        let track = &mut self.tracks[at];
        if track.advance(symbol) {
            let len = track.word.len();
            let hunk_match = HunkMatch {
                line: self.summary.lines + 1 - len as u64,
                range: self.recent[self.recent.len() - len]..line.range.end,
            };
            let fits =
                (self.ends == LineEndMatching::Any || track.is_open || line.end != LineTerminator::Nothing)
                    && (!track.is_open || line.end == LineTerminator::Nothing);
            if fits {
                track.take(hunk_match);
            }
            track.matched = track.fallback[len - 1];
        }
        track.matched > 0
    }
}

impl LineInterner {
    fn intern(&mut self, charset: Charset, text: &str) -> Result<LineId, Unmappable> {
        let bytes = charset.encode(text)?;
        let next = LineId::try_from(self.by_bytes.len()).unwrap_or(LineId::MAX);
        let reach = if charset.is_ambiguous() { text.chars().count() * 4 } else { bytes.len() };
        // Allow for a carriage return.
        self.longest = self.longest.max((reach + 2 * charset.unit()) as u64);
        let symbol = *self.by_bytes.entry(bytes.into_owned()).or_insert(next);
        if charset.is_ambiguous() {
            self.by_text.insert(text.to_owned(), symbol);
        }
        Ok(symbol)
    }

    fn of(&self, charset: Charset, ends: LineEndMatching, body: &[u8]) -> Option<LineId> {
        let body = if ends == LineEndMatching::Any { without_return(charset, body) } else { body };
        if body.len() as u64 > self.longest {
            return None;
        }
        let known = self.by_bytes.get(body).copied();
        if known.is_some() || !charset.is_ambiguous() || body.is_ascii() {
            return known;
        }
        match charset.decode(body) {
            (text, false) => self.by_text.get(text.as_ref()).copied(),
            (_, true) => None,
        }
    }
}

impl MatchTrack {
    /// Consumes a line; true if the match is complete.
    fn advance(&mut self, symbol: LineId) -> bool {
        while self.matched > 0 && self.word[self.matched] != symbol {
            self.matched = self.fallback[self.matched - 1];
        }
        self.matched += usize::from(self.word[self.matched] == symbol);
        self.matched == self.word.len()
    }

    fn take(&mut self, hunk_match: HunkMatch) {
        self.found.total += 1;
        let is_before = self.stated.is_some_and(|stated| hunk_match.line < stated);
        if self.is_at_end {
            // Only the last match can be at the end of the file.
            self.found.near.clear();
        } else if is_before {
            self.before += 1;
            if self.before > self.most {
                self.before -= 1;
                self.found.near.pop_front();
            }
        } else if self.found.near.len() - self.before >= self.most {
            return;
        }
        self.found.near.push_back(hunk_match);
    }

    fn finish(mut self, lines: u64) -> HunkMatches {
        if self.is_at_end {
            let len = self.word.len() as u64;
            self.found.near.retain(|hunk_match| hunk_match.line + len == lines + 1);
            self.found.total = self.found.near.len() as u64;
        }
        self.found
    }
}

impl FileSummary {
    fn take(&mut self, line: &FileLine<'_>) {
        self.lines += 1;
        match line.end {
            LineTerminator::Feed => self.feeds += 1,
            LineTerminator::Return => self.returns += 1,
            LineTerminator::Nothing => self.is_open = true,
        }
        if let Some(start) = self.starts.get_mut(&self.lines) {
            *start = line.range.start;
        }
    }

    /// The most frequent line ending.
    pub(super) fn ending(&self) -> LineTerminator {
        if self.returns > self.feeds { LineTerminator::Return } else { LineTerminator::Feed }
    }
}

fn fallback(word: &[LineId]) -> Vec<usize> {
    let mut table = vec![0; word.len()];
    let mut len = 0;
    for at in 1..word.len() {
        while len > 0 && word[at] != word[len] {
            len = table[len - 1];
        }
        len += usize::from(word[at] == word[len]);
        table[at] = len;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::LineTag;
    use proptest::prelude::*;

    fn hunk_lines(text: &str) -> Vec<HunkLine> {
        let line = |text: &str| HunkLine { tag: LineTag::Context, text: text.to_owned(), is_open: false };
        text.lines().map(line).collect()
    }

    fn matches(charset: Charset, file: &[u8], wanted: &str, stated: Option<u64>) -> (Vec<u64>, u64) {
        let lines = hunk_lines(wanted);
        let wanted = HunkQuery { lines: lines.iter().collect(), stated, is_at_end: false };
        let search = HunkSearch::new(charset, LineEndMatching::Any, &[wanted], &[]);
        let (mut found, _) = search.run(&FileBytes::Memory(file), &|| Ok(())).unwrap();
        let found = found.remove(0);
        for hunk_match in &found.near {
            let text = charset
                .decode(&file[hunk_match.range.start as usize..hunk_match.range.end as usize])
                .0
                .into_owned();
            assert!(text.lines().eq(lines.iter().map(|line| line.text.as_str())), "{text:?}");
        }
        (found.near.iter().map(|hunk_match| hunk_match.line).collect(), found.total)
    }

    proptest! {
        #[test]
        fn all_places_are_found(file in "([ab]\n){0,30}[ab]?", wanted in "([ab]\n){1,4}") {
            let lines: Vec<&str> = file.lines().collect();
            let words: Vec<&str> = wanted.lines().collect();
            let naive: Vec<u64> =
                (0..lines.len()).filter(|at| lines[*at..].starts_with(&words)).map(|at| at as u64 + 1).collect();
            let total = naive.len() as u64;
            prop_assert_eq!(matches(Charset::UTF8, file.as_bytes(), &wanted, None), (naive, total));
        }
    }

    #[test]
    fn the_places_nearest_to_the_stated_line_are_remembered() {
        let file = "a\n".repeat(5000);
        let (near, total) = matches(Charset::UTF8, file.as_bytes(), "a\n", Some(2000));
        assert_eq!((near[0], near[near.len() - 1], near.len(), total), (1500, 2499, 2 * REMEMBERED, 5000));
        assert_eq!(matches(Charset::UTF8, file.as_bytes(), "a\n", Some(9000)).0.len(), REMEMBERED);
    }

    #[test]
    fn lines_are_found_in_any_encoding() {
        for label in ["utf-8", "utf-16le", "utf-16be", "gbk", "shift_jis"] {
            let charset = Charset::labelled(label, b"").unwrap();
            let file = charset.encode("一\r\n二 abc\n一\n二 abc\n\n").unwrap();
            assert_eq!(matches(charset, &file, "一\n二 abc", None).0, [1, 3], "{label}");
        }
        // Shift JIS has two byte sequences for some Roman numerals.
        let charset = Charset::labelled("shift_jis", b"").unwrap();
        assert_eq!(matches(charset, b"\x87\x54\n\xFA\x4A\n", "\u{2160}", None).0, [1, 2]);
    }

    #[test]
    fn the_end_of_the_file_can_be_asked_for() {
        let at_end = |file: &str, is_open| {
            let lines = [HunkLine { tag: LineTag::Delete, text: "a".into(), is_open }];
            let wanted = HunkQuery { lines: lines.iter().collect(), stated: None, is_at_end: true };
            let search = HunkSearch::new(Charset::UTF8, LineEndMatching::Any, &[wanted], &[]);
            let (found, _) = search.run(&FileBytes::Memory(file.as_bytes()), &|| Ok(())).unwrap();
            found[0].near.iter().map(|hunk_match| hunk_match.line).collect::<Vec<_>>()
        };
        assert_eq!(at_end("a\nb\na", true), [3]);
        assert!(at_end("a\nb\na\n", true).is_empty() && at_end("a\nb\n", false).is_empty());
        assert_eq!(at_end("a\nb\na\n", false), [3]);
    }

    #[test]
    fn a_pass_tells_of_lines_and_their_ends() {
        let search = HunkSearch::new(Charset::UTF8, LineEndMatching::Any, &[], &[1, 3, 9]);
        let (_, summary) = search.run(&FileBytes::Memory(b"a\r\nb\nc"), &|| Ok(())).unwrap();
        assert_eq!((summary.lines, summary.feeds, summary.returns, summary.is_open), (3, 1, 1, true));
        assert_eq!(summary.starts.into_iter().collect::<Vec<_>>(), [(1, 0), (3, 5), (9, 6)]);
    }
}
