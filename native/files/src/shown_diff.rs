//! A unified diff as a model sees it: with or without context, and of long runs and long lines only a part.

use beamai_text::{Excerpt, differing};
use std::ops::Range;

/// Maximum characters of a changed line that is shown whole, and of any line of the context.
const WHOLE: usize = 600;
const CONTEXT: usize = 200;
/// Number of lines shown of either end of a long run of removed or added lines.
const ENDS: usize = 12;

const NO_NEWLINE: &str = "\\ No newline at end of file";

/// A hunk.
pub(super) struct DiffHunk<'a> {
    header: &'a str,
    parts: Vec<HunkPart<'a>>,
}

enum HunkPart<'a> {
    Context(&'a str),
    Change(DiffPlace<'a>),
}

/// Adjacent changed lines.
#[derive(Default)]
struct DiffPlace<'a> {
    /// Number of the first line on either side.
    starts: [u64; 2],
    gone: Vec<&'a str>,
    added: Vec<&'a str>,
    /// Whether either side ends the file without a newline.
    are_open: [bool; 2],
}

/// The hunks of a diff.
pub(super) fn hunks(diff: &str) -> Vec<DiffHunk<'_>> {
    let mut hunks = Vec::new();
    let mut numbers = [0, 0];
    for line in diff.lines() {
        if let Some(starts) = starts(line) {
            numbers = starts;
            hunks.push(DiffHunk { header: line, parts: Vec::new() });
        } else if let Some(hunk) = hunks.last_mut() {
            hunk.add(line, &mut numbers);
        }
    }
    hunks
}

/// The numbers of the lines after a hunk's header; `None` if the line is none. A line that was removed or added never
/// begins like one.
fn starts(header: &str) -> Option<[u64; 2]> {
    let (old, rest) = header.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let first = |side: &str| -> Option<u64> {
        let (start, count) = side.split_once(',').unwrap_or((side, "1"));
        // A side without lines has the number of the line before it.
        Some(start.parse::<u64>().ok()?.saturating_add(u64::from(count == "0")))
    };
    Some([first(old)?, first(new)?])
}

impl<'a> DiffHunk<'a> {
    fn add(&mut self, line: &'a str, numbers: &mut [u64; 2]) {
        let (tag, text) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        match tag {
            " " => {
                self.parts.push(HunkPart::Context(text));
                numbers.iter_mut().for_each(|number| *number = number.saturating_add(1));
            }
            "-" => {
                self.place(*numbers).gone.push(text);
                numbers[0] = numbers[0].saturating_add(1);
            }
            "+" => {
                self.place(*numbers).added.push(text);
                numbers[1] = numbers[1].saturating_add(1);
            }
            "\\" => {
                if let Some(HunkPart::Change(place)) = self.parts.last_mut() {
                    place.are_open[usize::from(!place.added.is_empty())] = true;
                }
            }
            _ => {}
        }
    }

    /// The place at the end of the hunk, which a line is added to.
    fn place(&mut self, numbers: [u64; 2]) -> &mut DiffPlace<'a> {
        if !matches!(self.parts.last(), Some(HunkPart::Change(_))) {
            self.parts.push(HunkPart::Change(DiffPlace { starts: numbers, ..DiffPlace::default() }));
        }
        match self.parts.last_mut() {
            Some(HunkPart::Change(place)) => place,
            _ => unreachable!("it was added"),
        }
    }

    /// The hunk with its context.
    pub(super) fn text(&self) -> String {
        let lines = self.parts.iter().flat_map(|part| match part {
            HunkPart::Context(line) => vec![format!(" {}", beginning(line))],
            HunkPart::Change(place) => place.lines(),
        });
        joined(std::iter::once(self.header.to_owned()).chain(lines))
    }

    /// Each place of the hunk, without context.
    pub(super) fn places(&self) -> impl Iterator<Item = String> {
        self.parts.iter().filter_map(|part| match part {
            HunkPart::Context(_) => None,
            HunkPart::Change(place) => Some(joined(std::iter::once(place.header()).chain(place.lines()))),
        })
    }
}

impl DiffPlace<'_> {
    fn header(&self) -> String {
        let [old, new] = self.starts;
        format!("@@ -{} +{} @@", side(old, self.gone.len()), side(new, self.added.len()))
    }

    /// The removed lines, then the added ones. Where in a long line the change is, is said once: of the new line.
    fn lines(&self) -> Vec<String> {
        let is_removal = self.added.is_empty();
        let gone = |part: Excerpt| if is_removal { part.marked() } else { part.text };
        let [is_open, is_open_now] = self.are_open;
        let mut lines = run('-', &self.gone, &self.added, gone);
        lines.extend((is_open && !is_open_now).then(|| NO_NEWLINE.to_owned()));
        lines.extend(run('+', &self.added, &self.gone, |part| part.marked()));
        lines.extend((is_open_now && !is_open).then(|| NO_NEWLINE.to_owned()));
        lines
    }
}

/// The lines of one side of a place, `other` being those of the other side.
fn run(tag: char, own: &[&str], other: &[&str], of_part: impl Fn(Excerpt) -> String) -> Vec<String> {
    let line = |at: usize| {
        let line = own[at];
        match line.char_indices().nth(WHOLE) {
            None => format!("{tag}{line}"),
            Some(_) => format!("{tag}{}", of_part(Excerpt::of(line, changed(at, own, other)))),
        }
    };
    let count = own.len();
    if count <= 2 * ENDS + 1 {
        return (0..count).map(line).collect();
    }
    let gap = format!("[… {} lines …]", count - 2 * ENDS);
    (0..ENDS).map(line).chain([gap]).chain((count - ENDS..count).map(line)).collect()
}

/// The characters of a line that differ from the other side.
fn changed(at: usize, own: &[&str], other: &[&str]) -> Range<usize> {
    let (length, is_last) = (own[at].chars().count(), at + 1 == own.len());
    let (Some(first), Some(last)) = (other.first(), other.last()) else { return 0..length };
    if own.len() == other.len() {
        return differing(own[at], other[at]).0;
    }
    let start = if at == 0 { differing(own[at], first).0.start } else { 0 };
    let end = if is_last { differing(own[at], last).0.end } else { length };
    start.min(end)..end
}

/// One side of a header.
fn side(first: u64, count: usize) -> String {
    match count {
        0 => format!("{},0", first.saturating_sub(1)),
        1 => first.to_string(),
        _ => format!("{first},{count}"),
    }
}

fn beginning(line: &str) -> String {
    line.char_indices().nth(CONTEXT).map_or(line.to_owned(), |(at, _)| format!("{}…", &line[..at]))
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(diff: &str) -> Vec<String> {
        hunks(diff).iter().flat_map(|hunk| hunk.places().collect::<Vec<_>>()).collect()
    }

    #[test]
    fn places_have_their_own_numbers() {
        let diff = "--- a/@@ -1\n+++ b/@@ -1\n@@ -7,9 +7,10 @@\n a\n-b\n+B\n+B2\n c\n-d\n e\n+f\n g\n\
                    @@ -0,0 +20 @@\n+x\n\\ No newline at end of file\n[diff truncated: y]\n";
        let expected = [
            "@@ -8 +8,2 @@\n-b\n+B\n+B2",
            "@@ -10 +10,0 @@\n-d",
            "@@ -11,0 +12 @@\n+f",
            "@@ -0,0 +20 @@\n+x\n\\ No newline at end of file",
        ];
        assert_eq!(places(diff), expected);
        let open = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
        assert_eq!(hunks(open)[0].text(), "@@ -1 +1 @@\n-a\n+b");
    }

    #[test]
    fn of_a_long_run_both_ends_of_both_sides_are_shown() {
        let lines = |tag: &str| -> String { (1..=100).map(|number| format!("{tag}{number}\n")).collect() };
        let diff = format!("@@ -1,101 +1,101 @@\n{}{} z\n", lines("-a"), lines("+b"));
        let text = hunks(&diff)[0].text();
        assert!(
            text.starts_with("@@ -1,101 +1,101 @@\n-a1\n-a2\n") && text.ends_with("\n+b100\n z"),
            "{text}"
        );
        assert!(text.contains("\n-a12\n[… 76 lines …]\n-a89\n"), "{text}");
        assert!(text.contains("\n-a100\n+b1\n") && text.contains("\n+b12\n[… 76 lines …]\n+b89\n"), "{text}");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_change_is_shown() {
        let (left, right) = ("l".repeat(1_000), "r".repeat(3_000));
        let diff = format!("@@ -1,2 +1,3 @@\n {left}\n-{left}old{right}\n+{left}new\n+er{right}\n");
        let (near_left, near_right) = ("l".repeat(80), "r".repeat(80));
        assert_eq!(
            hunks(&diff)[0].text(),
            format!(
                "@@ -1,2 +1,3 @@\n {}…\n-…{near_left}old{near_right}…\n+…{near_left}new [characters 921 to 1003 of 1003]\n\
                 +er{near_right}… [characters 1 to 82 of 3002]",
                "l".repeat(200)
            )
        );
        let gone = format!("@@ -1,1 +0,0 @@\n-{right}\n");
        assert_eq!(
            places(&gone),
            [format!("@@ -1 +0,0 @@\n-{}…{} [of 3000 characters]", "r".repeat(160), "r".repeat(160))]
        );
    }
}
