//! The lines of the matches in a file, with long ones cut around the match.

use super::super::text::SHOWN_LINE;
use beamai_tool::for_model::Fields;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Characters before a match that are shown of a long line.
const LEAD: usize = 100;
/// Minimum characters of a line that the search itself may have cut.
const LONGEST: usize = 2_000;

/// Lines that are shown together, without a gap between them if they are numbered.
#[derive(Debug, Default)]
pub(super) struct LineGroup {
    pub(super) lines: Vec<MatchLine>,
    /// Whether the file's matches have lines around them.
    pub(super) has_context: bool,
    /// The first cut line that belongs to a match: its number, and the first column that is not shown.
    pub(super) cut: Option<(u64, u64)>,
}

/// A line, with its number if the call wants it.
#[derive(Debug)]
pub(super) struct MatchLine {
    pub(super) text: String,
    /// Whether it belongs to a match, and not to what is around one.
    pub(super) is_match: bool,
    /// Whether a match begins with it.
    pub(super) is_start: bool,
}

impl LineGroup {
    /// Number of matches.
    pub(super) fn count(&self) -> usize {
        self.lines.iter().filter(|line| line.is_start).count()
    }

    /// Characters, line ends included.
    pub(super) fn size(&self) -> usize {
        self.lines.iter().map(|line| line.text.chars().count() + 1).sum()
    }
}

/// The matches of a file, by group: adjacent lines merged, with their numbers, followed by ":" for a match and "-" for
/// context; or every match with its context, if the lines have no numbers.
pub(super) fn groups(matches: &[Fields<'_>]) -> Vec<LineGroup> {
    let has_context =
        matches.iter().any(|hit| hit.texts("before").chain(hit.texts("after")).next().is_some());
    if matches[0].count("line_number").is_none() {
        return matches.iter().map(|hit| unnumbered(*hit, has_context)).collect();
    }
    let mut lines: BTreeMap<u64, ShownLine> = BTreeMap::new();
    for hit in matches {
        let first = hit.count("line_number").unwrap_or(1);
        for line in lines_of(*hit) {
            let number = first.saturating_add_signed(line.at);
            match lines.entry(number) {
                std::collections::btree_map::Entry::Vacant(entry) => _ = entry.insert(line),
                std::collections::btree_map::Entry::Occupied(mut entry) if line.is_match => {
                    _ = entry.insert(line)
                }
                std::collections::btree_map::Entry::Occupied(_) => {}
            }
        }
    }
    let lines: Vec<(u64, ShownLine)> = lines.into_iter().collect();
    let adjacent = lines.chunk_by(|(a, _), (b, _)| has_context && a + 1 == *b);
    adjacent
        .map(|group| {
            let mut made = LineGroup { has_context, ..LineGroup::default() };
            group.iter().for_each(|(number, line)| made.add(line, Some(*number)));
            made
        })
        .collect()
}

fn unnumbered(hit: Fields<'_>, has_context: bool) -> LineGroup {
    let mut made = LineGroup { has_context, ..LineGroup::default() };
    lines_of(hit).iter().for_each(|line| made.add(line, None));
    made
}

impl LineGroup {
    fn add(&mut self, line: &ShownLine, number: Option<u64>) {
        let mark = if line.is_match { ':' } else { '-' };
        let head = number.map_or(String::new(), |number| format!("{number}{mark}"));
        if let (Some(number), Some(next), true, None) = (number, line.next, line.is_match, self.cut) {
            self.cut = Some((number, next));
        }
        let text = format!("{head}{}", line.text);
        self.lines.push(MatchLine { text, is_match: line.is_match, is_start: line.is_match && line.at == 0 });
    }
}

/// A line of a match or around it.
struct ShownLine {
    /// Its place: 0 for the first line of the match.
    at: i64,
    text: String,
    is_match: bool,
    /// The column after the part that is shown; `None` if the line is shown to its end.
    next: Option<u64>,
}

/// The lines of a match with those around it, in order.
fn lines_of(hit: Fields<'_>) -> Vec<ShownLine> {
    let before: Vec<&str> = hit.texts("before").collect();
    let content = hit.text("content").unwrap_or_default();
    let own: Vec<&str> = if content.is_empty() { vec![""] } else { content.lines().collect() };
    let left_out = hit.count("lines_left_out").unwrap_or(0);
    let mut lines: Vec<ShownLine> = Vec::new();
    let start = -(before.len() as i64);
    lines.extend((start..).zip(before).map(|(at, line)| shown(hit, at, line, false)));
    lines.extend((0..).zip(&own).map(|(at, line)| shown(hit, at, line, true)));
    let mut end = own.len() as i64;
    if left_out > 0 {
        let text = format!("[… {left_out} more lines of this match]");
        lines.push(ShownLine { at: end, text, is_match: true, next: None });
        end += left_out.cast_signed();
    }
    lines.extend((end..).zip(hit.texts("after")).map(|(at, line)| shown(hit, at, line, false)));
    lines
}

/// A line; if it is long, the part around the match with its place in the line.
fn shown(hit: Fields<'_>, at: i64, line: &str, is_match: bool) -> ShownLine {
    let size = line.chars().count() as u64;
    let cut = hit.objects("cut_lines").find(|cut| cut.number("line") == Some(at));
    let cut = cut.and_then(|cut| Some((cut.count("column")?, cut.count("length")?)));
    // The search measures no lines in other encodings than UTF-8.
    let is_unknown = cut.is_none() && hit.flag("content_truncated") && size >= LONGEST as u64;
    let (first, length) = cut.unwrap_or((1, size));
    if cut.is_none() && size <= SHOWN_LINE as u64 {
        return ShownLine { at, text: line.to_owned(), is_match, next: None };
    }
    let column = hit.count("column").filter(|_| is_match && at == 0).unwrap_or(first);
    let ahead = usize::try_from(column.saturating_sub(first)).unwrap_or(0);
    let skipped = if ahead + LEAD > SHOWN_LINE { ahead - LEAD } else { 0 };
    let text: Cow<'_, str> = line.chars().skip(skipped).take(SHOWN_LINE).collect();
    let from = first + skipped as u64;
    let last = from + text.chars().count() as u64 - 1;
    let said = match (is_unknown, from) {
        (true, _) => String::new(),
        (false, 1) => format!(": the line has {length} characters"),
        (false, _) => format!(": characters {from} to {last} of {length}"),
    };
    let [before, after] = [from > 1, is_unknown || last < length].map(|is_cut| if is_cut { "…" } else { "" });
    let next = (!is_unknown && last < length).then_some(last + 1);
    ShownLine { at, text: format!("{before}{text}{after} [cut{said}]"), is_match, next }
}
