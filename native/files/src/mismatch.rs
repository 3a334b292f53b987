//! Errors for a text that does not occur in a file, or occurs too often.

use beamai_base::{Reason, Result, ToolError};
use beamai_text::{Charset, FileBytes, FileScan, NearLine, Resemblance, Unmappable, resemble};
use beamai_tool::for_model::quantity;
use beamai_workspace::WorkspacePath;

/// Maximum bytes of a file that are searched for similar text.
const SEARCHED: u64 = 8 << 20;
/// The name of the text that is not found.
const OLD: &str = "old_string";
/// Maximum number of matching lines in an error.
const NAMED: usize = 20;

/// The error for a text that does not occur, with the most similar lines.
///
/// # Errors
/// I/O errors.
pub(super) fn no_match(
    path: &WorkspacePath,
    bytes: &FileBytes<'_>,
    charset: Charset,
    wanted: &str,
    unmappable: Option<&Unmappable>,
) -> Result<ToolError> {
    let mut scratch = Vec::new();
    let start = charset.bom().len() as u64;
    let (text, is_lossy) = charset.decode(bytes.read(start..SEARCHED, &mut scratch)?);
    let shown = path.display();
    let mut message = format!("old_string was not found in {shown}");
    let mistake = match unmappable {
        Some(wrong) => Some(unheld(charset, wrong)),
        None => mistake(&text, wanted, is_lossy),
    };
    let near = match &mistake {
        Some(TextMistake { meant: Some(meant), .. }) if text.contains(meant.as_str()) => None,
        Some(TextMistake { meant: Some(meant), .. }) => Some(resemble(&text, meant)),
        _ => Some(resemble(&text, wanted)),
    };
    if let Some(mistake) = &mistake {
        message += &format!(": {}", mistake.what);
    }
    message += &near.as_ref().map_or_else(|| ". Without that, it is there.".to_owned(), likeness);
    if bytes.len() > SEARCHED {
        message += &format!(" Only the first {SEARCHED} bytes were searched for similar lines.");
    }
    let near: Vec<u64> = near.iter().flat_map(|near| &near.lines).map(|near| near.line).collect();
    Ok(ToolError::new(Reason::NoMatch, message).file(shown).with("nearest", near))
}

/// Describes the most similar text in the file, and what differs there.
fn likeness(near: &Resemblance) -> String {
    let is_told = near.lines.iter().any(|line| line.contrast.is_some());
    let shown = |line: &NearLine| match (near.differs_in, near.place, line.told(OLD)) {
        (None, Some(_), Some(told)) => format!("\n{told}:\n{line}"),
        _ => format!("\n{line}"),
    };
    let shown: String = near.lines.iter().map(shown).collect();
    let first =
        near.lines.iter().find_map(|line| line.told(OLD)).map_or(String::new(), |told| format!(" ({told})"));
    let what = match (near.differs_in, near.place) {
        (Some(what), Some(place)) => format!(". It differs only in {what} from {}{first}:", named(place)),
        (Some(what), None) => format!(". It differs only in {what} from{first}:"),
        (None, Some(place)) => format!(". It is nearest to {}, but:", named(place)),
        (None, None) if near.lines.is_empty() => {
            return ". It has no similar text; read the file again and copy the text exactly.".to_owned();
        }
        (None, None) if near.lines.len() == 1 => format!(". The nearest line is{first}:"),
        (None, None) => format!(". The nearest lines are{first}:"),
    };
    let more = match near.more {
        0 => String::new(),
        more => format!("\n… and {}", quantity(more as u64, "more line", "more lines")),
    };
    let advice = if is_told { "" } else { "\nCopy the text exactly as it is in the file." };
    format!("{what}{shown}{more}{advice}")
}

fn named((from, to): (u64, u64)) -> String {
    if from == to { format!("line {from}") } else { format!("lines {from} to {to}") }
}

/// A common mistake in a text.
struct TextMistake {
    what: String,
    /// The text without it, if that can be told.
    meant: Option<String>,
}

fn unheld(charset: Charset, unmappable: &Unmappable) -> TextMistake {
    let what = format!("the file is in {}, which cannot hold {unmappable}", charset.name());
    TextMistake { what, meant: None }
}

/// Detects a common mistake in the text.
fn mistake(text: &str, wanted: &str, is_lossy: bool) -> Option<TextMistake> {
    let unescaped = wanted.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    let unreturned = wanted.replace("\r\n", "\n");
    let is_there = |meant: &String| meant != wanted && text.contains(meant.as_str());
    let (what, meant) = match without_numbers(wanted) {
        Some(meant) => ("its lines begin with line numbers, which are not in the file", Some(meant)),
        None if is_there(&unescaped) => (
            "it has a backslash and a letter where the file has a line break, a tab or a quotation mark",
            Some(unescaped),
        ),
        None if is_there(&unreturned) => {
            ("its lines end in CR LF, those of the file in LF", Some(unreturned))
        }
        None if is_lossy && wanted.contains('\u{FFFD}') => {
            ("U+FFFD stands for bytes that are no characters; choose a text without it", None)
        }
        None => return None,
    };
    Some(TextMistake { what: what.to_owned(), meant })
}

/// The text without the line numbers that all of its lines begin with, as results of reading have them.
fn without_numbers(text: &str) -> Option<String> {
    let lines = text.split('\n').map(|line| {
        let number = line.trim_start();
        let rest = number.trim_start_matches(|char: char| char.is_ascii_digit());
        match line.is_empty() {
            true => Some(line),
            false if rest.len() < number.len() => rest.strip_prefix(['\t', '→']),
            false => None,
        }
    });
    let lines: Vec<&str> = lines.collect::<Option<_>>()?;
    Some(lines.join("\n")).filter(|meant| meant != text)
}

/// The error for a text that occurs more than once.
pub(super) fn ambiguous(path: &WorkspacePath, found: &FileScan) -> ToolError {
    let mut lines: Vec<u64> = found.hits.iter().map(|hit| hit.line).collect();
    let count = lines.len();
    lines.dedup();
    let more = if lines.len() > NAMED { ", …" } else { "" };
    lines.truncate(NAMED);
    let named = lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let at_least = if found.is_complete { "" } else { "at least " };
    let shown = path.display();
    let message = format!(
        "old_string occurs {at_least}{count} times in {shown}, on lines {named}{more}; include more of the text around \
         the one you mean, or set replace_all"
    );
    ToolError::new(Reason::Ambiguous, message).file(shown).with("occurrences", count).with("lines", lines)
}

/// The error for a text that occurs more often than can be replaced at once.
pub(super) fn too_many(path: &WorkspacePath, most: usize) -> ToolError {
    let shown = path.display();
    let message = format!("old_string occurs more than {most} times in {shown}; use a longer text");
    ToolError::new(Reason::TooLarge, message).file(shown)
}
