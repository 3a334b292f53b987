//! Finds lines similar to a text that was not found.

use super::Contrast;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time limit of the search.
const PATIENCE: Duration = Duration::from_millis(250);
/// Characters of a line that are compared and shown.
const SHOWN: usize = 200;
/// Number of lines, or places, that are compared closely, and number of lines returned.
const CANDIDATES: usize = 30;
const BEST: usize = 3;
/// Maximum number of lines returned that have only one difference.
const ALIKE: usize = 10;
/// Minimum similarity of a place, on average of its lines, and of a single line; and that of a line whose difference is
/// worth saying.
const SIMILAR: f32 = 0.5;
const CLOSE: f32 = 0.8;

/// Lines similar to a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resemblance {
    /// The only difference of the nearest lines, if there is only one: `indentation`, `case`.
    pub differs_in: Option<&'static str>,
    /// The first and the last of the lines where the text may be meant, if that is known.
    pub place: Option<(u64, u64)>,
    /// Those with only that difference; those of the place that differ; or the most similar ones, best first.
    pub lines: Vec<NearLine>,
    /// Number of such lines that are left out.
    pub more: usize,
}

/// A line similar to a wanted one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearLine {
    /// Its number.
    pub line: u64,
    /// Its text, or the part around what differs.
    pub text: String,
    /// How it differs, if that is worth saying.
    pub contrast: Option<Contrast>,
}

impl NearLine {
    /// A line of this number.
    pub fn new(line: u64, text: &str, contrast: Option<Contrast>) -> Self {
        let part = cut(text);
        let text = match &contrast {
            _ if part.len() == text.len() => text.to_owned(),
            Some(contrast) => contrast.shown(),
            None => format!("{part}…"),
        };
        Self { line, text, contrast }
    }

    /// How it differs from the text of this name.
    pub fn told(&self, name: &str) -> Option<String> {
        self.contrast.as_ref().map(|contrast| format!("line {} {}", self.line, contrast.told(name)))
    }
}

/// The number and the text as search results show them, without a space that could be taken for indentation.
impl std::fmt::Display for NearLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.text)
    }
}

/// Normalizes a line, so that some differences disappear.
type Likeness = fn(&str) -> String;

/// Normalizations, from nearly none to strong.
const LIKENESSES: [(&str, Likeness); 5] = [
    ("whitespace", |line| line.trim().to_owned()),
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
        let differences = differences(&lines[at..], &wanted, edges);
        let first = differences.into_iter().next();
        let found = lines[at..].iter().zip(&wanted).enumerate().take(ALIKE).map(|(next, (line, _))| {
            let contrast = first.as_ref().filter(|(other, _)| *other == next);
            NearLine::new((at + next + 1) as u64, line, contrast.map(|(_, contrast)| contrast.clone()))
        });
        let more = wanted.len().saturating_sub(ALIKE);
        return Resemblance {
            differs_in: Some(differs_in),
            place: place(at, &wanted),
            lines: found.collect(),
            more,
        };
    }
    if let Some(at) = nearest_place(&lines, &wanted, deadline) {
        let mut differences = differences(&lines[at..], &wanted, edges);
        // Other text comes first: it decides.
        differences.sort_by_key(|(_, contrast)| contrast.is_white());
        let more = differences.len().saturating_sub(BEST);
        let of = |(next, contrast): (usize, Contrast)| {
            NearLine::new((at + next + 1) as u64, lines[at + next], Some(contrast))
        };
        let found = differences.into_iter().take(BEST).map(of).collect();
        return Resemblance { differs_in: None, place: place(at, &wanted), lines: found, more };
    }
    let broken = match wanted.as_slice() {
        [wanted] => broken(text, wanted),
        _ => None,
    };
    let lines = broken.map_or_else(|| similar_lines(&lines, &wanted, deadline), |line| vec![line]);
    Resemblance { lines, ..Resemblance::default() }
}

fn place(at: usize, wanted: &[&str]) -> Option<(u64, u64)> {
    Some((at as u64 + 1, (at + wanted.len()) as u64))
}

/// The lines that differ from the wanted ones, and how. The first may begin, and the last end, within a line.
fn differences(lines: &[&str], wanted: &[&str], edges: Edges) -> Vec<(usize, Contrast)> {
    let last = wanted.len() - 1;
    let compared = lines.iter().zip(wanted).enumerate().filter_map(|(at, (line, wanted))| {
        let may_begin_within = at == 0 && !edges.starts_line;
        let may_end_within = at == last && !edges.ends_line;
        let is_equal = match (may_begin_within, may_end_within) {
            (true, true) => line.contains(wanted),
            (true, false) => line.ends_with(wanted),
            (false, true) => line.starts_with(wanted),
            (false, false) => line == wanted,
        };
        if is_equal {
            return None;
        }
        let within = if may_begin_within || may_end_within { span(line, wanted) } else { None };
        let contrast = match within {
            Some(range) => {
                let meant = format!("{}{wanted}{}", &line[..range.start], &line[range.end..]);
                Contrast::of(line, &meant)
            }
            None => Contrast::of(if may_begin_within { line.trim_start() } else { line }, wanted),
        };
        Some((at, contrast?))
    });
    compared.collect()
}

/// Where a line has a text that differs only in case, punctuation or white space.
fn span(line: &str, wanted: &str) -> Option<std::ops::Range<usize>> {
    let bare = strip(wanted);
    let mut stripped = String::with_capacity(line.len());
    // Where each byte of the stripped line comes from.
    let mut origins = Vec::with_capacity(line.len());
    for (at, char) in line.char_indices() {
        let part = strip(char.encode_utf8(&mut [0; 4]));
        origins.extend(std::iter::repeat_n(at..at + char.len_utf8(), part.len()));
        stripped.push_str(&part);
    }
    let start = stripped.find(&bare).filter(|_| !bare.is_empty())?;
    // White space at either end belongs to it if the wanted text has some there.
    let (first, last) = (origins[start].start, origins[start + bare.len() - 1].end);
    let before = &line[..first];
    let after = &line[last..];
    let from = if wanted.starts_with(char::is_whitespace) { before.trim_end().len() } else { first };
    let to = match wanted.ends_with(char::is_whitespace) {
        true => last + after.len() - after.trim_start().len(),
        false => last,
    };
    Some(from..to)
}

/// Where most of the wanted lines are in the text, in order, and the others resemble those that are there.
fn nearest_place(lines: &[&str], wanted: &[&str], deadline: Instant) -> Option<usize> {
    if wanted.len() < 2 {
        return None;
    }
    let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in wanted.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        positions.entry(line.trim()).or_default().push(at);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    let in_time = |at: &usize| !at.is_multiple_of(1024) || Instant::now() < deadline;
    for at in (0..lines.len()).take_while(in_time) {
        for position in positions.get(lines[at].trim()).into_iter().flatten() {
            let start = at.checked_sub(*position).filter(|start| start + wanted.len() <= lines.len());
            start.into_iter().for_each(|start| *votes.entry(start).or_default() += 1);
        }
    }
    let mut places: Vec<(usize, usize)> = votes.into_iter().map(|(start, votes)| (votes, start)).collect();
    places.sort_by_key(|(votes, start)| (std::cmp::Reverse(*votes), *start));
    let likeness = |start: usize| -> f32 {
        let each = lines[start..].iter().zip(wanted).map(|(line, wanted)| ratio(line.trim(), wanted.trim()));
        each.sum::<f32>() / wanted.len() as f32
    };
    let close = places.into_iter().take(CANDIDATES).take_while(|_| Instant::now() < deadline);
    let scored = close.map(|(_, start)| (likeness(start), start)).filter(|(score, _)| *score >= SIMILAR);
    // Of equal ones, the first.
    scored.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, start)| start)
}

/// How similar two lines are, from 0 to 1.
fn ratio(one: &str, other: &str) -> f32 {
    match one == other {
        true => 1.0,
        false => beamai_base::ratio(cut(one), cut(other)),
    }
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
fn similar_lines(lines: &[&str], wanted: &[&str], deadline: Instant) -> Vec<NearLine> {
    let is_one = wanted.len() == 1;
    let Some(wanted) = wanted.iter().map(|line| line.trim()).max_by_key(|line| cut(line).len()) else {
        return vec![];
    };
    let mut best = roughly_similar(lines, cut(wanted), deadline);
    best.truncate(CANDIDATES);
    let mut scored: Vec<(f32, usize)> = best
        .into_iter()
        .map(|(_, at)| (ratio(wanted, lines[at].trim()), at))
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    if scored.first().is_some_and(|(score, _)| *score >= CLOSE) {
        scored.retain(|(score, _)| *score >= CLOSE);
    }
    let line = |(rank, (score, at)): (usize, (f32, usize))| {
        let is_close = rank == 0 && is_one && score >= CLOSE;
        let contrast = if is_close { Contrast::of(lines[at].trim(), wanted) } else { None };
        NearLine::new(at as u64 + 1, lines[at], contrast)
    };
    scored.into_iter().take(BEST).enumerate().map(line).collect()
}

/// The line that has a part of a line except for something within it.
fn broken(text: &str, wanted: &str) -> Option<NearLine> {
    // Whatever the text contains, it contains the beginnings and the ends of.
    let bounds: Vec<usize> = wanted.char_indices().map(|(at, _)| at).chain([wanted.len()]).collect();
    let head = bounds[bounds.partition_point(|end| text.contains(&wanted[..*end])).saturating_sub(1)];
    let from = bounds[bounds.partition_point(|from| !text.contains(&wanted[*from..]))].max(head);
    let (head, tail) = (&wanted[..head], &wanted[from..]);
    if head.is_empty() || tail.is_empty() || (head.len() + tail.len()) * 4 < wanted.len() * 3 {
        return None;
    }
    text.match_indices(head).take(CANDIDATES).find_map(|(start, _)| {
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[line_start..].lines().next()?;
        let (start, after) = (start - line_start, start - line_start + head.len());
        let gap = line.get(after..)?.find(tail).filter(|gap| *gap <= wanted.len())?;
        let meant = format!("{}{wanted}{}", &line[..start], &line[after + gap + tail.len()..]);
        let number = text[..line_start].matches('\n').count() + 1;
        Some(NearLine::new(number as u64, line, Some(Contrast::of(line, &meant)?)))
    })
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
        let first = &resemble(TEXT, "let name=\"x\";\nprint(").lines[0];
        assert_eq!((first.line, first.text.as_str()), (2, "    let name = \"x\";"));
    }

    #[test]
    fn otherwise_the_most_similar_lines_are_shown() {
        let found = resemble(TEXT, "print(names)?;");
        let [line] = found.lines.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.differs_in, line.line, line.text.as_str()), (None, 3, "    print(name);"));
        assert_eq!(resemble(TEXT, "nothing like it 12345"), Resemblance::default());
        // Beside a close one, others say nothing.
        let text = "def limits():\ndef limited():\ndef in_limit(self):\n";
        let found = resemble(text, "def limit_s():");
        assert_eq!(found.lines.iter().map(|line| line.line).collect::<Vec<_>>(), [1]);
        assert_eq!(resemble("", "\n"), Resemblance::default());
    }

    /// What an error says about each of the most similar lines; its number where nothing can be said.
    fn told(text: &str, wanted: &str) -> Vec<String> {
        let near = resemble(text, wanted);
        near.lines
            .iter()
            .map(|line| line.told("it").unwrap_or_else(|| format!("line {}", line.line)))
            .collect()
    }

    #[test]
    fn of_several_lines_those_that_differ_are_shown() {
        let text = "def f(x):\n    y = x + 1\n    z = y * 2\n    return z\n\ndef g(x):\n    return z\n";
        let wanted = "def f(x):\n    y = x + 1\n    z = y * 3\n    return z\n";
        assert_eq!(told(text, wanted), ["line 3 has \"2\" where it has \"3\""]);
        assert_eq!(resemble(text, wanted).place, Some((1, 4)));
        // Of two places with the same line, the one with the more similar other line.
        assert_eq!(told(text, "def g(x, y):\n    return z\n"), ["line 6 lacks \", y\" of it"]);
        // The first line may begin, and the last one end, within a line.
        assert_eq!(
            told(text, "= x + 1\n    z = y * 2\n    return q"),
            ["line 4 has \"z\" where it has \"q\""]
        );
        let shifted = wanted.replace("    ", "\t");
        let expected =
            ["line 3 has \"2\" where it has \"3\"", "line 2 begins with 4 spaces where it has 1 tab"];
        assert_eq!(told(text, &shifted)[..2], expected);
        let many: String = (0..20).map(|n| format!("same {n}\nold {n}\n")).collect();
        let near = resemble(&many, &many.replace("old", "new"));
        assert_eq!((near.lines.len(), near.more), (3, 17));
    }

    #[test]
    fn of_a_part_of_a_line_what_differs_is_said() {
        let text = "\nthe first line, with a no-break\u{a0}space, and more text after it\nother\n";
        let expected = ["line 2 has \"no-break\\u{a0}space,\" where it has \"no-break space,\""];
        assert_eq!(told(text, "a no-break space,"), expected);
        assert_eq!(told(text, "line, with no-one"), [""; 0]);
        let long = format!("{}function f(){{return 1}}{}\n", "x;".repeat(50_000), "y;".repeat(50_000));
        let near = resemble(&long, "function f(){return 2}");
        assert_eq!(near.lines[0].told("it").unwrap(), "line 1 has \"1\" where it has \"2\"");
        assert!(near.lines[0].text.ends_with(&format!("return 1}}{}…", "y;".repeat(39) + "y")), "{near:?}");
    }

    #[test]
    fn of_a_part_of_a_long_line_only_the_difference_is_said() {
        let text = format!("{}f(a,  b) {}\n", "x; ".repeat(500), "; y".repeat(500));
        let near = resemble(&text, "f(a, b)");
        assert_eq!(near.lines[0].told("it").unwrap(), "line 1 has \"f(a,  b)\" where it has \"f(a, b)\"");
        assert!(near.lines[0].text.chars().count() < 200, "{near:?}");
        assert_eq!(span("a  b c", "B  C"), Some(3..6));
        assert_eq!(span("a  b c", " b"), Some(1..4));
    }

    #[test]
    fn lines_with_only_one_difference_are_shown_with_the_first() {
        let text = "def f(x):\n\treturn x\n\tpass\n";
        assert_eq!(
            told(text, "def f(x):\n    return x\n    pass\n"),
            ["line 1", "line 2 begins with 1 tab where it has 4 spaces", "line 3"]
        );
        let long: String = (0..12).map(|n| format!("\tline {n}\n")).collect();
        let near = resemble(&long, &long.replace('\t', " "));
        assert_eq!((near.lines.len(), near.more), (10, 2));
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
            assert_eq!((near.differs_in.is_some(), near.lines[0].line), (true, line), "{wanted:?}: {near:?}");
        }
    }
}
