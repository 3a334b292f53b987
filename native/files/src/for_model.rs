//! Renders file contents and file changes for models.

use super::read::past_the_end;
use super::shown_diff::{self, DiffHunk};
use beamai_text::LONG_LINES;
use beamai_tool::for_model::{Fields, LINE, ModelCall, ModelPage, StreamCut, quantity};
use serde_json::{Value, json};

/// Names of the path argument in the dialects.
const PATHS: [&str; 2] = ["path", "file_path"];

/// Maximum characters of a long line, once a call has asked for part of it.
const PART: usize = 20_000;
/// Number of further cut lines that are named.
const NAMED: usize = 10;
/// Maximum number of places shown of a change in several.
const PLACES: usize = 50;
/// Maximum characters shown of the change by a write.
const OF_A_WRITE: usize = 2_000;

/// The lines in the dialect's format, followed by their position if they are not the whole file, with the arguments that
/// continue: after the last line, or within the first one that is cut.
pub(super) fn read(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let content = result.text("content")?;
    if let Some(kind) = result.non_empty("media_type") {
        page.line(&format!("{kind}, {} bytes", result.count("size").unwrap_or(0)));
        return Some(());
    }
    let read = ReadLines::new(result, content, call);
    if read.given == 0 {
        page.note(&result.non_empty("note").map_or_else(|| read.nothing(), str::to_owned));
        return Some(());
    }
    let shown = read.show(page);
    if !shown.ends_in_cut_line() && !read.is_one_line() {
        read.note_rest(&shown, result, page);
    }
    read.note_cut_lines(&shown, page);
    note_encoding(result, page);
    Some(())
}

/// The lines of a result.
struct ReadLines<'a> {
    content: &'a str,
    call: &'a ModelCall<'a>,
    /// Number of the first line; `None` if unknown.
    start: Option<u64>,
    /// Number of lines of the file; `None` if unknown.
    total: Option<u64>,
    given: u64,
    /// Characters of the first line before the content.
    skipped: u64,
    /// Whether the content ends within its only line.
    is_cut: bool,
    /// The length of that line, if it is known.
    length: Option<u64>,
}

/// What was shown of the lines.
#[derive(Default)]
struct ShownLines {
    count: u64,
    cut: Vec<CutLine>,
}

impl ShownLines {
    /// Whether only the last line is cut. The call that continues within it then also returns the lines after it.
    fn ends_in_cut_line(&self) -> bool {
        matches!(&*self.cut, [line] if line.at + 1 == self.count)
    }
}

/// A line of which only a part is shown.
struct CutLine {
    /// Its place in the content, from 0.
    at: u64,
    first: u64,
    last: u64,
    /// Its characters; `None` if its end is unknown.
    length: Option<u64>,
    /// Whether its length stands in the line itself.
    is_marked: bool,
}

impl<'a> ReadLines<'a> {
    fn new(result: Fields<'_>, content: &'a str, call: &'a ModelCall<'a>) -> Self {
        Self {
            content,
            call,
            start: result.count("start_line").or(result.count("lines").map(|_| 1)),
            total: result.count("total_lines").or_else(|| result.count("lines")),
            given: content.lines().count() as u64,
            skipped: result.count("start_column").map_or(0, |column| column - 1),
            is_cut: result.flag("line_is_cut"),
            length: result.count("line_length"),
        }
    }

    /// Whether the call reads on in one line alone: those after it were shown before, or are not wanted.
    fn is_one_line(&self) -> bool {
        self.call.has("column") && self.call.number("limit") == Some(1)
    }

    /// Why there is no line.
    fn nothing(&self) -> String {
        match (self.offset(), self.total) {
            (_, Some(0)) | (..=1, _) => "the file is empty".to_owned(),
            (offset, Some(total)) => past_the_end(total, offset),
            (offset, None) => format!("line {offset} is past the end of the file"),
        }
    }

    fn show(&self, page: &mut ModelPage) -> ShownLines {
        let mut shown = ShownLines::default();
        for (at, line) in (0..).zip(self.content.lines()) {
            let (number, line) = self.split_number(at, line);
            let is_part = at == 0 && self.call.has("column");
            let most = match is_part {
                _ if self.call.is_shown_whole() => usize::MAX,
                true => PART,
                false => LINE,
            };
            let is_whole = line.char_indices().nth(most).is_none() && !(at == 0 && self.is_cut);
            if is_whole && page.whole_line(&format!("{number}{line}")) {
                shown.count += 1;
                continue;
            }
            // The first line is always shown, or at least its beginning: a call that shows nothing cannot be continued.
            if is_whole && at > 0 {
                break;
            }
            let skipped = if at == 0 { self.skipped } else { 0 };
            let length = match at == 0 && self.is_cut {
                true => self.length,
                false => Some(skipped + line.chars().count() as u64),
            };
            let is_marked = length.is_some() && !is_part;
            let mark = match length.filter(|_| is_marked) {
                Some(length) => format!("… [cut: the line has {length} characters]"),
                None if is_part => String::new(),
                None => "… [cut]".to_owned(),
            };
            if at > 0 && page.room() < most + number.len() + mark.chars().count() + 1 {
                break;
            }
            let count = page.part(number, line, &mark, most) as u64;
            shown.cut.push(CutLine { at, first: skipped + 1, last: skipped + count, length, is_marked });
            shown.count += 1;
            if is_part {
                break;
            }
        }
        shown
    }

    /// The line's number, in the dialect whose text has them, and the line itself.
    fn split_number<'b>(&self, at: u64, line: &'b str) -> (&'b str, &'b str) {
        let number =
            self.start.filter(|_| self.call.takes("file_path")).map(|start| format!("{:>6}\t", start + at));
        let end = number.filter(|number| line.starts_with(number.as_str())).map_or(0, |number| number.len());
        line.split_at(end)
    }

    /// Notes which lines are shown, unless they are the whole file, and the call for those that follow.
    fn note_rest(&self, shown: &ShownLines, result: Fields<'_>, page: &mut ModelPage) {
        let Some(start) = self.start else {
            if shown.count < self.given || result.flag("has_more") && !self.is_cut {
                let next = self.next(json!(self.offset() + shown.count.cast_signed()));
                page.note(&format!("cut after {}{next}", quantity(shown.count, "line", "lines")));
            }
            return;
        };
        let last = start + shown.count - 1;
        let of = self.total.map_or(String::new(), |total| format!(" of {total}"));
        let range = format!("lines {start} to {last}{of}");
        let is_rest = shown.count < self.given
            || result.flag("has_more") && self.total.is_none_or(|total| last < total);
        if is_rest {
            page.note(&format!("{range}{}", self.next(json!(last + 1))));
        } else if start > 1 {
            page.note(&range);
        }
    }

    /// The call that continues with the line of this offset, from its first character on.
    fn next(&self, offset: Value) -> String {
        let whole = self.call.has("column").then(|| ("column", json!(1)));
        let changes: Vec<(&str, Value)> = [("offset", offset)].into_iter().chain(whole).collect();
        self.call.with(&changes).map_or(String::new(), |next| format!("; continue with {next}"))
    }

    /// The call's offset, which counts from the end if the number of the first line is not known.
    fn offset(&self) -> i64 {
        self.call.integer("offset").unwrap_or(1)
    }

    /// Notes the part that is shown of the first cut line, and the call that continues within it.
    fn note_cut_lines(&self, shown: &ShownLines, page: &mut ModelPage) {
        let Some((line, others)) = shown.cut.split_first() else { return };
        let offset = match self.start {
            Some(start) => json!(start + line.at),
            // Lines counted from the end of a file that was not read from its beginning.
            None => json!(self.offset() + line.at.cast_signed()),
        };
        let name = self.start.map_or("the line".to_owned(), |start| format!("line {}", start + line.at));
        let of = match line.length {
            Some(length) => length.to_string(),
            None => format!("more than {}", self.skipped + self.content.chars().count() as u64),
        };
        // The lines after it are shown already, unless it is the last one.
        let alone = (!shown.ends_in_cut_line()).then(|| ("limit", json!(1)));
        let changes: Vec<_> =
            [("offset", offset), ("column", json!(line.last + 1))].into_iter().chain(alone).collect();
        let next = self.call.with(&changes);
        let how = if shown.ends_in_cut_line() { "continue" } else { "more of it" };
        let next = next.map_or(String::new(), |next| format!("; {how} with {next}"));
        let follow = self.total.filter(|total| {
            shown.ends_in_cut_line() && self.start.is_some_and(|start| start + line.at < *total)
        });
        let name = follow.map_or(name.clone(), |total| format!("{name} of {total}"));
        let part = match line.is_marked {
            true => String::new(),
            false => format!(", characters {} to {} of {of}", line.first, line.last),
        };
        page.note(&format!("{name}{part}{next}"));
        if let (Some(start), false) = (self.start, others.is_empty()) {
            let numbers: Vec<String> =
                others.iter().take(NAMED).map(|line| (start + line.at).to_string()).collect();
            let more = others.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            page.note(&format!("also cut: lines {}{more}", numbers.join(", ")));
        }
    }
}

fn note_encoding(result: Fields<'_>, page: &mut ModelPage) {
    if let Some(encoding) = result.non_empty("encoding").filter(|name| !name.eq_ignore_ascii_case("utf-8")) {
        page.note(&format!("encoding: {encoding}"));
    }
    match result.non_empty("line_ending") {
        Some("crlf") => page.note("lines end in CR LF"),
        Some("mixed") => page.note("some lines end in CR LF, some in LF"),
        _ => {}
    }
    if result.flag("lossy") {
        page.note("some bytes are not valid in this encoding; U+FFFD stands for them");
    }
}

/// One line: what was done to which file, and how much changed. Where no other tool of the dialect edits files, what
/// changed as well.
pub(super) fn written(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let operation = result.non_empty("operation")?;
    let path = call.argument(&PATHS).unwrap_or("the file");
    let lines = |key: &str| result.count(key);
    page.line(&match (operation, lines("additions"), lines("deletions")) {
        ("created", Some(lines), _) => format!("created {path}, {}", quantity(lines, "line", "lines")),
        (_, Some(0), Some(0)) => format!("{path} is unchanged"),
        (_, Some(added), Some(removed)) => format!("{operation} {path}, +{added} -{removed} lines"),
        _ => format!("{operation} {path}, {}", quantity(result.count("bytes_written")?, "byte", "bytes")),
    });
    if operation == "updated" && call.takes("old_string") {
        let hunks = shown_diff::hunks(result.text("diff").unwrap_or_default());
        let text: String = hunks.iter().map(|hunk| hunk.text().trim_end().to_owned() + "\n").collect();
        if page.both_ends(text.trim_end(), OF_A_WRITE, StreamCut::default()) || result.flag("diff_truncated")
        {
            page.note("the change is complete; a part of it is shown");
        }
    }
    result.non_empty("note").into_iter().for_each(|note| page.note(note));
    note_change(result, page);
    Some(())
}

/// The changed lines with context; without context if there were several replacements.
pub(super) fn edited(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (diff, replacements) = (result.text("diff")?, result.count("replacements")?);
    let hunks = shown_diff::hunks(diff);
    let blocks: Vec<String> = match replacements {
        1 => hunks.iter().map(DiffHunk::text).collect(),
        _ => hunks.iter().flat_map(DiffHunk::places).collect(),
    };
    if replacements > 1 {
        page.line(&quantity(replacements, "replacement", "replacements"));
    }
    let shown = blocks.iter().take(PLACES).take_while(|block| page.whole_line(block)).count();
    if let (0, Some(first)) = (shown, blocks.first()) {
        first.lines().take_while(|line| page.line(line)).for_each(drop);
    }
    // The parts of long lines say themselves what they are.
    let is_cut = result.flag("diff_truncated") && !diff.trim_end().ends_with(&format!(": {LONG_LINES}]"));
    if shown < blocks.len() || is_cut {
        page.note(&match (shown, replacements) {
            (0, _) | (_, 1) => "the change is complete; a part of it is shown".to_owned(),
            _ => {
                format!("all are made; the first {} shown", quantity(shown as u64, "place is", "places are"))
            }
        });
    }
    if result.flag("line_endings_adapted") {
        page.note("line ends were adapted to the file's CR LF");
    }
    note_change(result, page);
    Some(())
}

fn note_change(result: Fields<'_>, page: &mut ModelPage) {
    if let Some(encoding) = result.non_empty("encoding").filter(|name| !name.eq_ignore_ascii_case("utf-8")) {
        page.note(&format!("encoding: {encoding}"));
    }
    if result.flag("link_broken") {
        page.note("the file had other names (hard links), which keep the old content");
    }
}
