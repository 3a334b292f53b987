//! Matches across several lines, in text that is completely in memory.

use super::GrepPlan;
use super::match_collector::MatchCollector;
use super::output::GrepMatch;
use super::text;
use beamai_base::Result;
use grep_matcher::{Match, Matcher};
use memchr::{memchr, memchr_iter, memrchr};
use std::ops::Range;

/// Finds every match in `text`. Matches that share a line count as one.
///
/// # Errors
/// When the call has ended; checked after every match.
pub(super) fn search(plan: &GrepPlan<'_>, text: &[u8], hits: &mut MatchCollector<'_>) -> Result<()> {
    let mut blocks = Blocks { plan, text, hits, line: 1, counted: 0 };
    let mut pending: Option<Range<usize>> = None;
    let mut at = 0;
    while let Some(found) = next(plan, text, at)? {
        let lines = lines_of(text, found);
        // There is no line after the last line end.
        if lines.start == text.len() {
            break;
        }
        match &mut pending {
            Some(block) if lines.start < block.end => block.end = block.end.max(lines.end),
            _ => {
                if let Some(block) = pending.replace(lines) {
                    blocks.add(block);
                }
            }
        }
        at = found.end() + usize::from(found.is_empty());
        if at > text.len() || blocks.hits.is_done() {
            break;
        }
    }
    if let Some(block) = pending {
        blocks.add(block);
    }
    Ok(())
}

fn next(plan: &GrepPlan<'_>, text: &[u8], at: usize) -> Result<Option<Match>> {
    plan.cx.check()?;
    Ok(plan.pattern.matcher.find_at(text, at).unwrap_or_default())
}

/// The lines that a match touches. A line end at its end belongs to the match's last line.
fn lines_of(text: &[u8], found: Match) -> Range<usize> {
    let start = memrchr(b'\n', &text[..found.start()]).map_or(0, |at| at + 1);
    let ends_a_line = !found.is_empty() && text[found.end() - 1] == b'\n';
    let end = match ends_a_line {
        true => found.end(),
        false => line_end(text, found.end()),
    };
    start..end
}

/// The end of the line that `at` is in.
fn line_end(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1)
}

struct Blocks<'t, 'h, 'a> {
    plan: &'t GrepPlan<'t>,
    text: &'t [u8],
    hits: &'h mut MatchCollector<'a>,
    /// Number of the line at `counted`.
    line: u64,
    counted: usize,
}

impl Blocks<'_, '_, '_> {
    fn add(&mut self, block: Range<usize>) {
        if !self.hits.wants_next() {
            return;
        }
        self.line += memchr_iter(b'\n', &self.text[self.counted..block.start]).count() as u64;
        self.counted = block.start;
        let mut hit = GrepMatch::new(self.line, text::of_match(&self.text[block.clone()], 0, true));
        self.before(block.start).into_iter().rev().for_each(|line| hit.add_before(text::of_line(line)));
        self.after(block.end).into_iter().for_each(|line| hit.add_after(text::of_line(line)));
        self.hits.push(hit);
        self.hits.close();
    }

    /// The lines before a position, nearest first.
    fn before(&self, mut end: usize) -> Vec<&[u8]> {
        let mut lines = Vec::new();
        while end > 0 && lines.len() < self.plan.before {
            let start = memrchr(b'\n', &self.text[..end - 1]).map_or(0, |at| at + 1);
            lines.push(&self.text[start..end]);
            end = start;
        }
        lines
    }

    /// The lines from a position on.
    fn after(&self, mut start: usize) -> Vec<&[u8]> {
        let mut lines = Vec::new();
        while start < self.text.len() && lines.len() < self.plan.after {
            let end = line_end(self.text, start);
            lines.push(&self.text[start..end]);
            start = end;
        }
        lines
    }
}
