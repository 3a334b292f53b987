//! Finds lines similar to a text that was not found.

use similar::TextDiff;
use std::time::{Duration, Instant};

/// Time limit of the search.
const PATIENCE: Duration = Duration::from_millis(250);
/// Characters of a line that are compared and shown.
const SHOWN: usize = 200;
/// Number of lines that are compared closely, and number of lines returned.
const CANDIDATES: usize = 30;
const BEST: usize = 3;

/// Lines similar to a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resemblance {
    /// The only difference of the nearest lines, if there is only one: `indentation`, `case`.
    pub differs_in: Option<&'static str>,
    /// Numbers and texts of lines: those with only that difference, or the most similar ones, best first.
    pub lines: Vec<(u64, String)>,
}

/// Normalizes a line, so that some differences disappear.
type Likeness = fn(&str) -> String;

/// Normalizations, from nearly none to strong.
const LIKENESSES: [(&str, Likeness); 5] = [
    ("whitespace at the beginning or end of lines", |line| line.trim().to_owned()),
    ("whitespace", without_space),
    ("quotation marks, dashes or whitespace", |line| without_space(&to_ascii(line))),
    ("case or whitespace", |line| without_space(&line.to_lowercase())),
    ("case, quotation marks, dashes or whitespace", strip),
];

/// Finds lines similar to `wanted`, which does not occur in `text`.
pub fn resemble(text: &str, wanted: &str) -> Resemblance {
    let deadline = Instant::now() + PATIENCE;
    let lines: Vec<&str> = text.lines().collect();
    let edges = Edges {
        starts_line: wanted.starts_with(char::is_whitespace),
        ends_line: wanted.ends_with(char::is_whitespace),
    };
    // Empty lines around the text do not count either.
    let wanted: Vec<&str> = wanted.trim_matches(['\n', '\r']).lines().collect();
    if let Some((at, differs_in)) = alike(&lines, &wanted, edges, deadline) {
        let found = lines[at..].iter().take(wanted.len().min(10)).enumerate();
        let lines = found.map(|(next, line)| ((at + next + 1) as u64, cut(line).to_owned())).collect();
        return Resemblance { differs_in: Some(differs_in), lines };
    }
    Resemblance { differs_in: None, lines: similar_lines(&lines, &wanted, deadline) }
}

/// The first position where all lines are equal after normalization, and the remaining difference.
fn alike(lines: &[&str], wanted: &[&str], edges: Edges, deadline: Instant) -> Option<(usize, &'static str)> {
    let stripped: Vec<String> = wanted.iter().map(|line| strip(line)).collect();
    if stripped.iter().all(String::is_empty) {
        return None;
    }
    let starts = 0..(lines.len() + 1).saturating_sub(wanted.len());
    let in_time = starts.take_while(|at| !at.is_multiple_of(1024) || Instant::now() < deadline);
    let at = in_time.into_iter().find(|at| matches(&lines[*at..], &stripped, edges, strip))?;
    let same = |(_, likeness): &&(&str, Likeness)| {
        let wanted: Vec<String> = wanted.iter().map(|line| likeness(line)).collect();
        matches(&lines[at..], &wanted, edges, *likeness)
    };
    Some((at, LIKENESSES.iter().find(same).map_or("case, punctuation or whitespace", |(name, _)| name)))
}

/// Whether a text begins and ends at line boundaries, judging by its white space. Otherwise it may be part of a line.
#[derive(Clone, Copy)]
struct Edges {
    starts_line: bool,
    ends_line: bool,
}

/// Whether lines begin with the wanted ones; the first may begin, and the last end, within a line.
fn matches(lines: &[&str], wanted: &[String], edges: Edges, likeness: Likeness) -> bool {
    let last = wanted.len() - 1;
    wanted.iter().zip(lines).enumerate().all(|(at, (wanted, line))| {
        let edges =
            Edges { starts_line: at > 0 || edges.starts_line, ends_line: at < last || edges.ends_line };
        is_in(&likeness(line), wanted, edges)
    })
}

/// Whether a text occurs in a line at word boundaries: "x=1" is not in "x=10".
fn is_in(line: &str, wanted: &str, edges: Edges) -> bool {
    let is_word = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    line.match_indices(wanted).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + wanted.len()..]);
        let cuts_start = is_word(before.chars().next_back()) && is_word(wanted.chars().next());
        let cuts_end = is_word(wanted.chars().next_back()) && is_word(after.chars().next());
        !(cuts_start
            || cuts_end
            || edges.starts_line && !before.is_empty()
            || edges.ends_line && !after.is_empty())
    })
}

fn without_space(line: &str) -> String {
    line.chars().filter(|char| !char.is_whitespace() && *char != '\u{200B}').collect()
}

/// Replaces typographic characters by their ASCII equivalents.
fn to_ascii(line: &str) -> String {
    let one = |char| match char {
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '`' | '\u{B4}' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{AB}' | '\u{BB}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    };
    line.chars().map(one).collect()
}

fn strip(line: &str) -> String {
    without_space(&to_ascii(line).to_lowercase())
}

/// The lines most similar to the longest of the wanted ones.
fn similar_lines(lines: &[&str], wanted: &[&str], deadline: Instant) -> Vec<(u64, String)> {
    let Some(wanted) = wanted.iter().map(|line| cut(line.trim())).max_by_key(|line| line.len()) else {
        return vec![];
    };
    let mut best = roughly_similar(lines, wanted, deadline);
    best.truncate(CANDIDATES);
    let mut scored: Vec<(f32, usize)> = best
        .into_iter()
        .map(|(_, at)| (TextDiff::from_chars(wanted, cut(lines[at].trim())).ratio(), at))
        .filter(|(score, _)| *score >= 0.5)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(BEST).map(|(_, at)| (at as u64 + 1, cut(lines[at]).to_owned())).collect()
}

/// Lines by the share of byte pairs that they have in common with the wanted one, highest first.
fn roughly_similar(lines: &[&str], wanted: &str, deadline: Instant) -> Vec<(usize, usize)> {
    let mut known = vec![false; 1 << 16];
    let pair = |two: &[u8]| usize::from(u16::from_be_bytes([two[0], two[1]]));
    wanted.as_bytes().windows(2).for_each(|two| known[pair(two)] = true);
    let in_time = |at: &usize| !at.is_multiple_of(1024) || Instant::now() < deadline;
    let mut scored: Vec<(usize, usize)> = (0..lines.len())
        .take_while(in_time)
        .filter_map(|at| {
            let line = cut(lines[at].trim()).as_bytes();
            let common = line.windows(2).filter(|two| known[pair(two)]).count();
            let score = common * 1000 / line.len().max(wanted.len()).max(1);
            (score >= 200).then_some((score, at))
        })
        .collect();
    scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    scored
}

/// The first characters of a line.
fn cut(line: &str) -> &str {
    line.char_indices().nth(SHOWN).map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn main() {\n    let name = \"x\";\n    print(name);\n}\n";

    fn differs_in(wanted: &str) -> &'static str {
        resemble(TEXT, wanted).differs_in.unwrap()
    }

    #[test]
    fn what_differs_a_little_is_found_and_said() {
        assert_eq!(differs_in("  let name = \"x\";\n  print(name);"), LIKENESSES[0].0);
        assert_eq!(differs_in("let name=\"x\";"), LIKENESSES[1].0);
        assert_eq!(differs_in("let name = “x”;"), LIKENESSES[2].0);
        assert_eq!(differs_in("LET name = \"x\";"), LIKENESSES[3].0);
        assert_eq!(resemble(TEXT, "let name=\"x\";\nprint(").lines[0], (2, "    let name = \"x\";".into()));
    }

    #[test]
    fn otherwise_the_most_similar_lines_are_shown() {
        let found = resemble(TEXT, "print(names)?;");
        assert_eq!(found, Resemblance { differs_in: None, lines: vec![(3, "    print(name);".into())] });
        assert_eq!(resemble(TEXT, "nothing like it 12345"), Resemblance::default());
        assert_eq!(resemble("", "\n"), Resemblance::default());
    }

    #[test]
    fn much_text_takes_little_time() {
        let text = "some line of text, again and again\n".repeat(200_000);
        let start = Instant::now();
        resemble(&text, "sum line of texts; again\nand again");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[test]
    fn lines_that_differ_in_text_do_not_differ_only_in_whitespace() {
        let text = "def f():\n    x = 10\n    y(x)\n\n    return x\n";
        for wanted in ["x=1", "  f():", "x = 10\n    y", "    y(x)\n    return x\n"] {
            let near = resemble(text, wanted);
            assert!(near.differs_in.is_none() || text.contains(wanted), "{wanted:?}: {near:?}");
        }
        for (wanted, line) in
            [("x=10", 2), ("\tx = 10\n", 2), ("  return x\n\n\n", 5), ("(x)\n\nreturn x", 3)]
        {
            let near = resemble(text, wanted);
            assert_eq!((near.differs_in.is_some(), near.lines[0].0), (true, line), "{wanted:?}: {near:?}");
        }
    }
}
