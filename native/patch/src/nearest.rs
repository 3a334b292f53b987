//! Explains a hunk that does not match, by the nearest lines.

use super::diff::{Hunk, HunkLine};
use super::lines::{each_line, without_return};
use super::placing::stated;
use super::rewrite::OriginalFile;
use super::search::{HunkQuery, HunkSearch, LineEndMatching};
use beamai_base::Result;
use beamai_text::{Charset, Check, Contrast, NearLine, resemble};
use beamai_tool::for_model::quantity;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};

/// Maximum characters shown of a line.
const SHOWN: usize = 200;
/// Maximum number of differing lines in an error.
const TOLD: usize = 3;
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

/// Describes the lines that differ from the hunk at a position.
fn differing(
    file: &OriginalFile<'_>,
    old: &[&HunkLine],
    start: u64,
    check: Check<'_>,
) -> Result<(String, Map<String, Value>)> {
    let mut number: u64 = 0;
    let mut found: Vec<NearLine> = Vec::new();
    each_line(&file.bytes, file.charset, u64::from(u16::MAX), check, |line| {
        number += 1;
        let at = number.checked_sub(start).and_then(|at| usize::try_from(at).ok());
        if let Some(wanted) = at.and_then(|at| old.get(at)) {
            let text = line.body.map_or("(a very long line)".into(), |body| {
                file.charset.decode(without_return(file.charset, body)).0.into_owned()
            });
            let contrast = Contrast::of(&text, unended(wanted));
            if contrast.is_some() || is_end_wrong(file, wanted, &line) {
                found.push(NearLine::new(number, &text, contrast));
            }
        }
        Ok(())
    })?;
    let at = found.first().map_or(number + 1, |line| line.line);
    let expected =
        usize::try_from(at - start).ok().and_then(|at| old.get(at)).map_or("", |line| unended(line));
    let text = found.first().map(|line| line.text.as_str());
    let facts = facts([(
        "nearest",
        json!({"line": start, "differs_at": at, "expected": cut(expected), "found": text}),
    )]);
    let told = match found.is_empty() {
        true => format!(
            ". The nearest place is line {start}, but the file ends where the patch has {:?}",
            cut(expected)
        ),
        false => told(start, &found),
    };
    Ok((told, facts))
}

/// The text of a line without a carriage return.
fn unended(line: &HunkLine) -> &str {
    line.text.strip_suffix('\r').unwrap_or(&line.text)
}

fn is_end_wrong(file: &OriginalFile<'_>, wanted: &HunkLine, line: &super::lines::FileLine<'_>) -> bool {
    use super::lines::LineTerminator;
    let is_open = line.end == LineTerminator::Nothing;
    let has_return = line.end == LineTerminator::Return;
    let is_exact = file.ends == LineEndMatching::Exact;
    (wanted.is_open && !is_open)
        || (is_exact && (is_open != wanted.is_open || has_return != wanted.text.ends_with('\r')))
}

fn told(start: u64, found: &[NearLine]) -> String {
    let shown = |line: &NearLine| match line.told("the patch") {
        Some(told) => format!("\n    {told}:\n    {line}"),
        None => format!("\n    line {} ends differently", line.line),
    };
    let shown_lines: String = found.iter().take(TOLD).map(shown).collect();
    let more = match found.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!("\n    … and {}", quantity(more as u64, "more line", "more lines")),
    };
    format!(". The nearest place is line {start}, but:{shown_lines}{more}")
}

/// Describes similar lines, when no line is equal.
fn alike(file: &OriginalFile<'_>, old: &[&HunkLine]) -> Result<(String, Map<String, Value>)> {
    let mut scratch = Vec::new();
    let top = file.charset.bom().len() as u64;
    let text = file.charset.decode(file.bytes.read(top..SEARCHED, &mut scratch)?).0;
    let wanted: Vec<&str> = old.iter().map(|line| line.text.as_str()).collect();
    let near = resemble(&text, &wanted.join("\n"));
    let Some(first) = near.lines.first() else {
        let text = "; the file has no similar lines, so read the file and create the patch again";
        return Ok((text.to_owned(), Map::new()));
    };
    let facts = facts([("nearest", json!({"line": first.line, "found": first.text}))]);
    let shown: String = near.lines.iter().map(|line| format!("\n    {line}")).collect();
    let difference = near.lines.iter().find_map(|line| line.told("the patch"));
    let told = difference.as_ref().map_or(String::new(), |told| format!(" ({told})"));
    let how = match near.differs_in {
        Some(what) => format!("They differ only in {what}{told} from"),
        None if near.lines.len() == 1 => format!("The nearest line is{told}"),
        None => format!("The nearest lines are{told}"),
    };
    let more = if near.more > 0 { "\n    …" } else { "" };
    let advice = if difference.is_none() { "\n  Copy the lines exactly as they are in the file" } else { "" };
    Ok((format!(". {how}:{shown}{more}{advice}"), facts))
}

fn cut(line: &str) -> &str {
    line.char_indices().nth(SHOWN).map_or(line, |(at, _)| &line[..at])
}
