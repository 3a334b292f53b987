//! Explains a hunk that does not match, by the nearest lines.

use super::diff::{Hunk, HunkLine};
use super::lines::{each_line, without_return};
use super::placing::stated;
use super::rewrite::OriginalFile;
use super::search::{HunkQuery, HunkSearch, LineEndMatching};
use beamai_base::Result;
use beamai_text::{Charset, Check, resemble};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};

/// Maximum characters shown of a line.
const SHOWN: usize = 200;
/// Maximum bytes of a file that are searched for similar lines.
const SEARCHED: u64 = 8 << 20;
/// Weight of a matching line, and of a matching empty one, which says little.
const LINE: u32 = 8;
const EMPTY: u32 = 1;

/// Describes what is nearest to a hunk's old lines: the end of a sentence, and details for programs.
///
/// # Errors
/// I/O errors, and those of `check`.
pub(super) fn nearest(
    file: &OriginalFile<'_>,
    hunk: &Hunk,
    check: Check<'_>,
) -> Result<(String, Map<String, Value>)> {
    if let Some(line) = there_already(file, hunk, check)? {
        let text =
            format!("; the file has its new lines already, at line {line}: it may have been applied before");
        return Ok((text, facts([("already_at", json!(line))])));
    }
    let old: Vec<&HunkLine> = hunk.old_lines().collect();
    match best_place(file, &old, stated(hunk), check)? {
        Some(start) => differing(file, &old, start, check),
        None => alike(file, &old),
    }
}

fn facts<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The only line of the file where the hunk's new lines are, if there is one.
fn there_already(file: &OriginalFile<'_>, hunk: &Hunk, check: Check<'_>) -> Result<Option<u64>> {
    let wanted = HunkQuery { lines: hunk.new_lines().collect(), stated: stated(hunk), is_at_end: false };
    if hunk.changes().0 == 0 {
        return Ok(None);
    }
    let (found, _) =
        HunkSearch::new(file.charset, LineEndMatching::Any, &[wanted], &[]).run(&file.bytes, check)?;
    Ok(found[0].near.front().filter(|_| found[0].total == 1).map(|hunk_match| hunk_match.line))
}

/// The line from which the most old lines are where they should be.
fn best_place(
    file: &OriginalFile<'_>,
    old: &[&HunkLine],
    stated: Option<u64>,
    check: Check<'_>,
) -> Result<Option<u64>> {
    let mut vote = LineVotes::new(file.charset, old, stated);
    each_line(&file.bytes, file.charset, vote.longest, check, |line| {
        vote.line(line.body.map(|body| without_return(file.charset, body)));
        Ok(())
    })?;
    Ok(vote.finish())
}

/// Counts matching lines for every position of the hunk in the file.
struct LineVotes {
    /// Positions in the hunk of each line's text.
    positions: HashMap<Vec<u8>, Vec<usize>>,
    longest: u64,
    /// Votes for the positions that start at the last lines read.
    open: VecDeque<u32>,
    len: usize,
    /// Number of the next line.
    next: u64,
    stated: Option<u64>,
    best: (u32, u64),
}

impl LineVotes {
    fn new(charset: Charset, old: &[&HunkLine], stated: Option<u64>) -> Self {
        let mut positions: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (at, line) in old.iter().enumerate() {
            if let Ok(bytes) = charset.encode(line.text.strip_suffix('\r').unwrap_or(&line.text)) {
                positions.entry(bytes.into_owned()).or_default().push(at);
            }
        }
        let longest = positions.keys().map(Vec::len).max().unwrap_or(0) + 4;
        let open = VecDeque::new();
        Self { positions, longest: longest as u64, open, len: old.len(), next: 1, stated, best: (0, 0) }
    }

    fn line(&mut self, body: Option<&[u8]>) {
        self.open.push_back(0);
        let weight = if body.is_some_and(<[u8]>::is_empty) { EMPTY } else { LINE };
        let last = self.open.len() - 1;
        for position in body.and_then(|body| self.positions.get(body)).into_iter().flatten() {
            if let Some(votes) = last.checked_sub(*position).and_then(|at| self.open.get_mut(at)) {
                *votes += weight;
            }
        }
        self.next += 1;
        if self.open.len() == self.len {
            self.close_first();
        }
    }

    fn close_first(&mut self) {
        let start = self.next - self.open.len() as u64;
        let votes = self.open.pop_front().unwrap_or(0);
        let distance = |line: u64| self.stated.map_or(0, |stated| stated.abs_diff(line));
        let is_nearer = votes == self.best.0 && distance(start) < distance(self.best.1);
        if votes > self.best.0 || is_nearer {
            self.best = (votes, start);
        }
    }

    fn finish(mut self) -> Option<u64> {
        while !self.open.is_empty() {
            self.close_first();
        }
        (self.best.0 >= LINE).then_some(self.best.1)
    }
}

/// Describes the first line that differs from the hunk at a position.
fn differing(
    file: &OriginalFile<'_>,
    old: &[&HunkLine],
    start: u64,
    check: Check<'_>,
) -> Result<(String, Map<String, Value>)> {
    let mut number: u64 = 0;
    let mut found: Option<(u64, String)> = None;
    each_line(&file.bytes, file.charset, u64::from(u16::MAX), check, |line| {
        number += 1;
        let wanted =
            number.checked_sub(start).and_then(|at| old.get(usize::try_from(at).unwrap_or(usize::MAX)));
        if let (None, Some(wanted)) = (&found, wanted) {
            let text = line.body.map_or("(a very long line)".into(), |body| {
                file.charset.decode(without_return(file.charset, body)).0.into_owned()
            });
            if text != wanted.text.strip_suffix('\r').unwrap_or(&wanted.text)
                || is_end_wrong(file, wanted, &line)
            {
                found = Some((number, text));
            }
        }
        Ok(())
    })?;
    let (at, text) = match found {
        Some((at, text)) => (at, Some(text)),
        None => (number + 1, None),
    };
    let expected = usize::try_from(at - start).ok().and_then(|at| old.get(at));
    let expected = expected.map_or("", |line| line.text.as_str());
    let facts = facts([(
        "nearest",
        json!({"line": start, "differs_at": at, "expected": cut(expected), "found": text.as_deref().map(cut)}),
    )]);
    Ok((told(start, at, expected, text.as_deref()), facts))
}

fn is_end_wrong(file: &OriginalFile<'_>, wanted: &HunkLine, line: &super::lines::FileLine<'_>) -> bool {
    use super::lines::LineTerminator;
    let is_open = line.end == LineTerminator::Nothing;
    let has_return = line.end == LineTerminator::Return;
    let is_exact = file.ends == LineEndMatching::Exact;
    (wanted.is_open && !is_open)
        || (is_exact && (is_open != wanted.is_open || has_return != wanted.text.ends_with('\r')))
}

fn told(start: u64, at: u64, expected: &str, found: Option<&str>) -> String {
    let expected = expected.strip_suffix('\r').unwrap_or(expected);
    let Some(found) = found else {
        return format!(
            ". The nearest place is line {start}, but the file ends where the patch has {:?}",
            cut(expected)
        );
    };
    let squeezed = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<String>();
    let how = match () {
        () if found == expected => " (the lines end differently)",
        () if squeezed(found) == squeezed(expected) => " (only whitespace differs)",
        () => "",
    };
    format!(
        ". The nearest place is line {start}, but line {at} is {:?} where the patch has {:?}{how}; copy the lines exactly \
         as they are in the file",
        cut(found),
        cut(expected)
    )
}

/// Describes similar lines, when no line is equal.
fn alike(file: &OriginalFile<'_>, old: &[&HunkLine]) -> Result<(String, Map<String, Value>)> {
    let mut scratch = Vec::new();
    let top = file.charset.bom().len() as u64;
    let text = file.charset.decode(file.bytes.read(top..SEARCHED, &mut scratch)?).0;
    let wanted: Vec<&str> = old.iter().map(|line| line.text.as_str()).collect();
    let near = resemble(&text, &wanted.join("\n"));
    let Some((line, _)) = near.lines.first() else {
        let text = "; the file has no similar lines, so read the file and create the patch again";
        return Ok((text.to_owned(), Map::new()));
    };
    let facts = facts([("nearest", json!({"line": line, "found": near.lines[0].1}))]);
    let shown: String = near.lines.iter().map(|(line, text)| format!("\n    {line}: {text}")).collect();
    let how = near
        .differs_in
        .map_or("The nearest lines are".to_owned(), |what| format!("It differs only in {what} from"));
    Ok((format!(". {how}:{shown}\n  Copy the lines exactly as they are in the file"), facts))
}

fn cut(line: &str) -> &str {
    line.char_indices().nth(SHOWN).map_or(line, |(at, _)| &line[..at])
}
