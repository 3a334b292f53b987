//! What differs between a line of a file and the line that was expected there, in words.

use super::excerpt::{Excerpt, differing};
use std::ops::Range;

/// Maximum characters quoted of what differs.
const QUOTED: usize = 60;
/// Maximum characters shown of the line.
const SHOWN: usize = 200;

/// The difference between a line that was found and the wanted one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contrast {
    line: String,
    /// What differs, in characters.
    found: Range<usize>,
    /// What differs on either side.
    texts: [String; 2],
    place: WhitePlace,
    is_white: bool,
}

/// Where white space differs, if nothing else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhitePlace {
    Start,
    End,
    /// There, or other text differs.
    Elsewhere,
}

impl Contrast {
    /// Compares the lines; `None` if they are equal.
    pub fn of(found: &str, wanted: &str) -> Option<Self> {
        // Indentation is told where it is the only difference.
        let (bare, bare_wanted) = (found.trim_start(), wanted.trim_start());
        let (own, other, indent) = match bare == bare_wanted {
            true => (found, wanted, 0),
            false => (bare, bare_wanted, found.chars().count() - bare.chars().count()),
        };
        let lines = [own, other].map(|line| line.chars().collect::<Vec<char>>());
        let (own, other) = differing(own, other);
        if own.is_empty() && other.is_empty() {
            return None;
        }
        let mut ranges = [own, other];
        let mut sides = lines.iter().zip(&ranges).map(|(line, range)| &line[range.clone()]);
        let is_white = sides.all(|side| side.iter().all(|char| char.is_whitespace()));
        let mut place = WhitePlace::Elsewhere;
        if is_white {
            extend(&lines, &mut ranges, [true; 2], char::is_whitespace);
            place = match () {
                () if ranges[0].start == 0 && indent == 0 => WhitePlace::Start,
                () if ranges[0].end == lines[0].len() => WhitePlace::End,
                () => WhitePlace::Elsewhere,
            };
        }
        match (place, is_white) {
            // The words beside it show where it is.
            (WhitePlace::Elsewhere, true) => {
                extend(&lines, &mut ranges, [true; 2], |char| !char.is_whitespace())
            }
            (WhitePlace::Elsewhere, false) => {
                let cut = cut_words(&lines, &ranges);
                extend(&lines, &mut ranges, cut, is_word);
            }
            _ => {}
        }
        let texts = [0, 1].map(|side| lines[side][ranges[side].clone()].iter().collect());
        let found_range = ranges[0].start + indent..ranges[0].end + indent;
        Some(Self { line: found.to_owned(), found: found_range, texts, place, is_white })
    }

    /// Whether only white space differs.
    pub fn is_white(&self) -> bool {
        self.is_white
    }

    /// The line that was found, or the part around what differs.
    pub fn shown(&self) -> String {
        match self.line.char_indices().nth(SHOWN) {
            None => self.line.clone(),
            Some(_) => Excerpt::of(&self.line, self.found.clone()).text,
        }
    }

    /// What the line has that the text of the given name has not, as the end of a sentence about the line.
    pub fn told(&self, name: &str) -> String {
        let [found, wanted] = &self.texts;
        match self.place {
            WhitePlace::Start => format!("begins with {} where {name} has {}", white(found), white(wanted)),
            WhitePlace::End => format!("ends with {} where {name} has {}", white(found), white(wanted)),
            WhitePlace::Elsewhere if found.is_empty() => format!("lacks {} of {name}", quoted(wanted)),
            WhitePlace::Elsewhere if wanted.is_empty() => {
                format!("has {}, which {name} lacks", quoted(found))
            }
            WhitePlace::Elsewhere => format!("has {} where {name} has {}", quoted(found), quoted(wanted)),
        }
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether a word may be cut at the start and at the end of the ranges.
fn cut_words(lines: &[Vec<char>; 2], ranges: &[Range<usize>; 2]) -> [bool; 2] {
    let is_cut = |edge: for<'c> fn(&'c [char]) -> Option<&'c char>| {
        let mut sides = lines.iter().zip(ranges).map(|(line, range)| edge(&line[range.clone()]));
        sides.any(|char| char.is_some_and(|char| is_word(*char)))
    };
    [is_cut(<[char]>::first), is_cut(<[char]>::last)]
}

/// Extends both ranges by the common characters before and after them, as far as `take` accepts these.
fn extend(
    lines: &[Vec<char>; 2],
    ranges: &mut [Range<usize>; 2],
    [to_left, to_right]: [bool; 2],
    take: impl Fn(char) -> bool,
) {
    let (line, range) = (&lines[0], &ranges[0]);
    let left = line[..range.start].iter().rev().take_while(|char| to_left && take(**char)).count();
    let right = line[range.end..].iter().take_while(|char| to_right && take(**char)).count();
    for range in ranges {
        range.start -= left;
        range.end += right;
    }
}

/// White space in words.
fn white(text: &str) -> String {
    let all = |char| text.chars().all(|other| other == char);
    let named = |name: &str| match text.chars().count() {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    };
    match () {
        () if text.is_empty() => "no white space".to_owned(),
        () if all(' ') => named("space"),
        () if all('\t') => named("tab"),
        () => quoted(text),
    }
}

/// The text with its control characters escaped, cut if it is long.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => format!("{text:?}"),
        Some((at, _)) => format!("{:?}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(found: &str, wanted: &str) -> String {
        Contrast::of(found, wanted).unwrap().told("old_string")
    }

    #[test]
    fn white_space_is_told_in_words() {
        assert_eq!(told("\tx = 1", "    x = 1"), "begins with 1 tab where old_string has 4 spaces");
        assert_eq!(told("        x", "      x"), "begins with 8 spaces where old_string has 6 spaces");
        assert_eq!(told("x  ", "x"), "ends with 2 spaces where old_string has no white space");
        assert_eq!(told("x =  y;", "x = y;"), "has \"=  y;\" where old_string has \"= y;\"");
        assert_eq!(told("  \tx", "   x"), "begins with \"  \\t\" where old_string has 3 spaces");
        assert_eq!(told("a\u{a0}b", "a b"), "has \"a\\u{a0}b\" where old_string has \"a b\"");
    }

    #[test]
    fn other_text_is_quoted_in_whole_words() {
        assert_eq!(told("  x = y + 1", "  x = y + 2"), "has \"1\" where old_string has \"2\"");
        assert_eq!(told("let nome = 1", "let name = 1"), "has \"nome\" where old_string has \"name\"");
        assert_eq!(told("def g(self):", "def g(self, q):"), "lacks \", q\" of old_string");
        assert_eq!(told("f(a, b)", "f(a)"), "has \", b\", which old_string lacks");
        assert_eq!(told("    return f(3)", "\treturn f(4)"), "has \"3\" where old_string has \"4\"");
        assert_eq!(Contrast::of("a", "a"), None);
    }

    #[test]
    fn of_a_long_line_the_part_that_differs_is_shown() {
        let line = |middle: &str| format!("{}{middle}{}", "a ".repeat(500), " z".repeat(500));
        let contrast = Contrast::of(&line("old"), &line("new")).unwrap();
        assert_eq!(contrast.shown(), format!("…{}old{}…", "a ".repeat(40), " z".repeat(40)));
        assert_eq!(Contrast::of("short", "s").unwrap().shown(), "short");
    }
}
