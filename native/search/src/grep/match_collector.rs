//! Collects the matches of one file, with their context lines.

use super::GrepPlan;
use super::output::GrepMatch;
use super::text::{self, MatchText};
use beamai_text::Charset;
use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkError, SinkMatch};
use std::collections::VecDeque;
use std::fmt::Display;
use std::io;

/// Which matches of a file to keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatchWindow {
    /// Number of matches to skip.
    pub(super) skip: usize,
    /// Number of matches to keep after those.
    pub(super) take: usize,
}

/// Whether the text of matches is kept.
#[derive(Clone, Copy)]
enum TextRetention {
    /// Decided at the first match.
    Unsettled,
    /// Kept for these matches.
    Yes(MatchWindow),
    /// Not kept; matches are only counted.
    No,
}

/// Why the search of a file ended early.
pub(super) enum SearchFault {
    /// The call has ended.
    Interrupted,
    /// Reading failed, or a line is too long.
    Io(io::Error),
}

impl SinkError for SearchFault {
    // Only the matcher reports errors by message, and only when it is interrupted.
    fn error_message<T: Display>(_: T) -> Self {
        Self::Interrupted
    }

    fn error_io(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Collects the matches of one file.
pub(super) struct MatchCollector<'a> {
    plan: &'a GrepPlan<'a>,
    path: &'a [u8],
    keep: TextRetention,
    is_again: bool,
    /// Number of matches so far.
    count: u64,
    hits: Vec<GrepMatch>,
    bytes: usize,
    /// Whether nothing that should be kept was dropped.
    is_whole: bool,
    /// The lines before the next match.
    recent: VecDeque<MatchText>,
    /// Index of the first match that still needs lines after it.
    open: usize,
}

impl<'a> MatchCollector<'a> {
    /// For a first pass: whether text is kept depends on the matches in other files.
    pub(super) fn new(plan: &'a GrepPlan<'a>, path: &'a [u8]) -> Self {
        Self::with(plan, path, TextRetention::Unsettled, false)
    }

    /// For a second pass, which ends with the last match of the window.
    pub(super) fn again(plan: &'a GrepPlan<'a>, path: &'a [u8], window: MatchWindow) -> Self {
        Self::with(plan, path, TextRetention::Yes(window), true)
    }

    fn with(plan: &'a GrepPlan<'a>, path: &'a [u8], keep: TextRetention, is_again: bool) -> Self {
        let (hits, recent) = (Vec::new(), VecDeque::new());
        Self { plan, path, keep, is_again, count: 0, hits, bytes: 0, is_whole: true, recent, open: 0 }
    }

    /// Number of matches.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The matches that were kept.
    pub(super) fn kept(self) -> Vec<GrepMatch> {
        self.hits
    }

    /// The matches that were kept; `None` if some that may be needed were dropped.
    pub(super) fn whole(self) -> Option<Vec<GrepMatch>> {
        (self.is_whole && matches!(self.keep, TextRetention::Yes(_))).then_some(self.hits)
    }

    /// Counts a match; returns whether its text is needed.
    pub(super) fn wants_next(&mut self) -> bool {
        self.count += 1;
        if let TextRetention::Unsettled = self.keep {
            let window = MatchWindow { skip: 0, take: self.plan.found.page_end() };
            self.keep =
                if self.plan.found.wants(self.path) { TextRetention::Yes(window) } else { TextRetention::No };
        }
        let TextRetention::Yes(window) = self.keep else { return false };
        if self.count <= window.skip as u64 || self.hits.len() >= window.take {
            return false;
        }
        // More than one answer can hold is not kept.
        let fits = self.bytes <= self.plan.cx.limits.content_bytes;
        self.is_whole &= fits;
        fits
    }

    /// The kept matches that are not valid UTF-8.
    pub(super) fn undecoded(&mut self) -> impl Iterator<Item = &mut GrepMatch> {
        self.hits.iter_mut().filter(|hit| !hit.raw.is_empty())
    }

    /// Notes the encoding that the searched text was decoded from.
    pub(super) fn decoded_from(&mut self, charset: Charset) {
        self.hits.iter_mut().for_each(|hit| hit.encoding = Some(charset.name()));
    }

    /// Keeps a match.
    pub(super) fn push(&mut self, hit: GrepMatch) {
        self.bytes += hit.size();
        self.hits.push(hit);
    }

    /// Ends the context of all matches so far.
    pub(super) fn close(&mut self) {
        self.open = self.hits.len();
    }

    /// Whether a second pass has found all matches of its window.
    pub(super) fn is_done(&self) -> bool {
        let TextRetention::Yes(window) = self.keep else { return false };
        let is_full = self.hits.len() >= window.take || !self.is_whole;
        self.is_again && is_full && self.open >= self.hits.len()
    }

    /// Adds a line to the matches before it that still need context.
    fn follow(&mut self, line: &[u8]) {
        let most = self.plan.after;
        for hit in &mut self.hits[self.open..] {
            let line = text::of_line(line);
            self.bytes += line.text.len();
            hit.add_after(line);
        }
        while self.hits.get(self.open).is_some_and(|hit| hit.after.len() >= most) {
            self.open += 1;
        }
    }

    /// Remembers a line as context for later matches.
    fn remember(&mut self, line: &[u8]) {
        if self.plan.before > 0 && !matches!(self.keep, TextRetention::No) {
            if self.recent.len() >= self.plan.before {
                self.recent.pop_front();
            }
            self.recent.push_back(text::of_line(line));
        }
    }

    fn hit(&self, found: &SinkMatch<'_>) -> GrepMatch {
        let line = found.bytes();
        let part = match text::is_long(line) {
            true => self.plan.pattern.matcher.find(line).unwrap_or_default(),
            false => None,
        };
        let start = part.map_or(0, |part| part.start());
        let mut hit = GrepMatch::new(found.line_number().unwrap_or(0), text::of_match(line, start, false));
        hit.column = text::column(line, start);
        self.recent.iter().cloned().for_each(|line| hit.add_before(line));
        hit
    }
}

impl Sink for &mut MatchCollector<'_> {
    type Error = SearchFault;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, SearchFault> {
        self.follow(found.bytes());
        if self.wants_next() {
            let hit = self.hit(found);
            self.push(hit);
            if self.plan.after == 0 {
                self.close();
            }
        }
        self.remember(found.bytes());
        Ok(!self.is_done())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, SearchFault> {
        self.follow(line.bytes());
        self.remember(line.bytes());
        Ok(!self.is_done())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, SearchFault> {
        self.recent.clear();
        self.close();
        Ok(!self.is_done())
    }
}
