//! The answer of a search: one page of the results, in order.

use super::match_collector::MatchWindow;
use super::matched_files::{FileMatches, MatchedFiles};
use super::search::FileSearch;
use super::text::{CutPart, MatchText, RawBytes};
use super::{Grep, GrepPlan, OutputMode};
use crate::remaining::Remaining;
use beamai_base::Result;
use beamai_text::Charset;
use beamai_walk::{SearchCoverage, Tally, coverage::counted};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What [`super::Grep`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrepOutput {
    /// The matches, by path and line; empty unless the output mode is content.
    pub matches: Vec<GrepMatch>,
    /// The files on this page, by path, relative to the workspace.
    pub files: Vec<String>,
    /// Matching lines per file; only in output mode count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<BTreeMap<String, u64>>,
    /// Matching lines in all files, including those not shown. With multiline, a match over several lines counts once.
    pub total_matches: u64,
    /// Files with a match, including those not shown.
    pub total_files: u64,
    /// Whether there are more results; continue with offset.
    pub truncated: bool,
    /// Where the results after this page are; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<Remaining>,
    /// What was searched and what was left out.
    pub coverage: SearchCoverage,
    /// Whether line numbers are omitted.
    #[serde(skip)]
    pub unnumbered: bool,
}

/// A match.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrepMatch {
    /// Path of the file, relative to the workspace.
    pub file: String,
    /// Line number, from 1; of a match over several lines, of its first.
    pub line_number: u64,
    /// The line, or lines, without the last line end.
    pub content: String,
    /// Lines before the match, in order.
    pub before: Vec<String>,
    /// Lines after the match, in order.
    pub after: Vec<String>,
    /// Present and true if content or a line of context is cut: to 2,000 characters of a line, 20,000 of a match over
    /// several lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub content_truncated: bool,
    /// The lines of content and context that are cut, where they are in UTF-8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_lines: Vec<CutLine>,
    /// Lines at the end of a match over several lines that content lacks; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_left_out: u64,
    /// Character of the line, from 1, at which the first match in it begins; absent for lines up to 400 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The encoding that content and context are decoded from, if it is not UTF-8. A pattern of ASCII alone is compared
    /// with the bytes, any other one with the decoded text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The original bytes of text that is not UTF-8.
    #[serde(skip)]
    pub(super) raw: Vec<(MatchPart, RawBytes)>,
}

/// A line that is cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CutLine {
    /// Which line: 0 is the first one of content, -1 the one before it.
    pub line: i64,
    /// The character of it, from 1, that comes first in the result.
    pub column: u64,
    /// Its length in characters.
    pub length: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A part of a match.
#[derive(Debug, Clone, Copy)]
pub(super) enum MatchPart {
    Content,
    Before(usize),
    After(usize),
}

impl GrepMatch {
    /// A match without context, in a file that is set later.
    pub(super) fn new(line_number: u64, content: MatchText) -> Self {
        Self {
            file: String::new(),
            line_number,
            cut_lines: content.cut.map(|cut| CutLine::new(cut, 0)).into_iter().collect(),
            lines_left_out: content.lines_left_out,
            column: None,
            content: content.text,
            before: Vec::new(),
            after: Vec::new(),
            content_truncated: content.is_cut,
            encoding: None,
            raw: content.raw.map(|raw| (MatchPart::Content, raw)).into_iter().collect(),
        }
    }

    /// Adds a context line before the match.
    pub(super) fn add_before(&mut self, line: MatchText) {
        self.content_truncated |= line.is_cut;
        self.cut_lines.iter_mut().filter(|cut| cut.line < 0).for_each(|cut| cut.line -= 1);
        self.cut_lines.extend(line.cut.map(|cut| CutLine::new(cut, -1)));
        self.raw.extend(line.raw.map(|raw| (MatchPart::Before(self.before.len()), raw)));
        self.before.push(line.text);
    }

    /// Adds a context line after the match.
    pub(super) fn add_after(&mut self, line: MatchText) {
        self.content_truncated |= line.is_cut;
        let at = self.content.lines().count().max(1) as u64 + self.lines_left_out + self.after.len() as u64;
        self.cut_lines.extend(line.cut.map(|cut| CutLine::new(cut, at.cast_signed())));
        self.raw.extend(line.raw.map(|raw| (MatchPart::After(self.after.len()), raw)));
        self.after.push(line.text);
    }

    /// Decodes text that is not UTF-8 from this encoding.
    pub(super) fn decode(&mut self, charset: Charset) {
        for (part, raw) in std::mem::take(&mut self.raw) {
            let Some(text) = raw.decoded(charset) else {
                self.raw.push((part, raw));
                continue;
            };
            match part {
                MatchPart::Content => self.content = text,
                MatchPart::Before(at) => self.before[at] = text,
                MatchPart::After(at) => self.after[at] = text,
            }
            self.encoding = Some(charset.name());
        }
    }

    /// Approximate size in an answer, in bytes.
    pub(super) fn size(&self) -> usize {
        let lines = self.before.iter().chain(&self.after).map(String::len).sum::<usize>();
        self.file.len() + self.content.len() + lines + 64
    }
}

impl CutLine {
    fn new(cut: CutPart, line: i64) -> Self {
        Self { line: line + cut.line.cast_signed(), column: cut.column, length: cut.length }
    }
}

/// A page under construction.
struct GrepPage<'a> {
    plan: &'a GrepPlan<'a>,
    skip: usize,
    left: usize,
    bytes_left: usize,
    matches: Vec<GrepMatch>,
    files: Vec<String>,
    counts: BTreeMap<String, u64>,
    /// The last file on the page or before it, with its number of matches up to the end of the page.
    last: Option<(Box<[u8]>, u64)>,
}

/// Builds the page that a call asks for.
///
/// # Errors
/// When the call ends while a file is read again.
pub(super) fn page(plan: &GrepPlan<'_>, tally: &Tally, grep: &Grep) -> Result<GrepOutput> {
    let totals = plan.found.totals();
    let mut page = GrepPage {
        plan,
        skip: grep.offset,
        left: grep.limit,
        bytes_left: plan.cx.limits.content_bytes,
        matches: Vec::new(),
        files: Vec::new(),
        counts: BTreeMap::new(),
        last: None,
    };
    for (path, kept) in plan.found.take() {
        if page.left == 0 || page.bytes_left == 0 {
            break;
        }
        page.add(&path, kept)?;
    }
    Ok(page.finish(tally, totals, grep))
}

impl GrepPage<'_> {
    fn add(&mut self, path: &[u8], kept: FileMatches) -> Result<()> {
        let units = MatchedFiles::units(self.plan.mode, kept.count);
        if self.skip >= units {
            self.skip -= units;
            self.last = Some((path.into(), kept.count));
            return Ok(());
        }
        let file = self.plan.scope.display(path);
        match self.plan.mode {
            OutputMode::Content => self.add_hits(path, file, kept)?,
            mode => {
                self.left -= 1;
                self.bytes_left = self.bytes_left.saturating_sub(file.len());
                if mode == OutputMode::Count {
                    self.counts.insert(file.clone(), kept.count);
                }
                self.files.push(file);
                self.last = Some((path.into(), kept.count));
            }
        }
        Ok(())
    }

    fn add_hits(&mut self, path: &[u8], file: String, kept: FileMatches) -> Result<()> {
        let window = MatchWindow { skip: self.skip, take: self.left };
        let hits = match kept.hits {
            Some(mut hits) => hits.drain(hits.len().min(window.skip)..).take(window.take).collect(),
            None => FileSearch::new(self.plan).again(path, window)?,
        };
        let skipped = std::mem::take(&mut self.skip);
        let before = self.matches.len();
        for mut hit in hits {
            hit.file.clone_from(&file);
            let size = hit.size();
            if size > self.bytes_left && !self.matches.is_empty() {
                self.bytes_left = 0;
                break;
            }
            self.bytes_left = self.bytes_left.saturating_sub(size);
            self.left -= 1;
            self.matches.push(hit);
        }
        let added = self.matches.len() - before;
        if added > 0 {
            self.files.push(file);
            self.last = Some((path.into(), (skipped + added) as u64));
        }
        Ok(())
    }

    /// Where the results after the page are.
    fn remaining(&self, total: u64, end: u64) -> Remaining {
        let shown = |path: &[u8]| self.plan.scope.display(path);
        let mut counts = self.plan.found.take_counts();
        if let Some((last, count)) = &self.last {
            counts.subtract(last, *count);
            counts.keep_from(last);
        }
        let left = total.saturating_sub(end);
        match self.plan.mode {
            OutputMode::Content => counts.of_files(left, shown),
            _ => counts.directories().of_directories(left, shown),
        }
    }

    fn finish(self, tally: &Tally, (total_matches, total_files): (u64, u64), grep: &Grep) -> GrepOutput {
        let is_content = self.plan.mode == OutputMode::Content;
        let (shown, total) = match is_content {
            true => (self.matches.len(), total_matches),
            false => (self.files.len(), total_files),
        };
        let end = (grep.offset + shown) as u64;
        let truncated = end < total;
        let mut note = format!("searched {}", counted(tally.searched, "file"));
        if truncated {
            let what = if is_content { "matches" } else { "files" };
            let hint = format!(", offset: {end} continues");
            note += &format!("; showing {shown} of {total} {what}{}", grep.hints.or_nothing(&hint));
        }
        let lossy = self.matches.iter().filter(|hit| !hit.raw.is_empty()).count();
        if lossy > 0 {
            note += &format!("; {} not in UTF-8, shown with \u{fffd}", counted(lossy as u64, "match"));
        }
        let remaining = truncated.then(|| self.remaining(total, end));
        GrepOutput {
            remaining,
            matches: self.matches,
            files: self.files,
            counts: (self.plan.mode == OutputMode::Count).then_some(self.counts),
            total_matches,
            total_files,
            truncated,
            coverage: tally.coverage(note, grep.hints),
            unnumbered: grep.unnumbered,
        }
    }
}
