//! Renders file contents and file changes for models.

use beamai_tool::for_model::{Fields, LINE, ModelCall, ModelPage, quantity};
use serde_json::json;

/// Names of the path argument in the dialects.
const PATHS: [&str; 2] = ["path", "file_path"];

/// The lines in the dialect's format, followed by their position if they are not the whole file, with the arguments that
/// continue.
pub(super) fn read(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let content = result.text("content")?;
    if let Some(kind) = result.non_empty("media_type") {
        page.line(&format!("{kind}, {} bytes", result.count("size").unwrap_or(0)));
        return Some(());
    }
    let total = result.count("total_lines").or_else(|| result.count("lines"));
    let first = result.count("start_line").or(total);
    if let Some(line) = only_long_line(content, call) {
        return long_line(line, result, call, page);
    }
    let (shown, given) = page.lines(content);
    if given == 0 {
        page.note(result.non_empty("note").unwrap_or("the file is empty"));
        return Some(());
    }
    let is_cut = shown < given || result.flag("has_more");
    let start = if result.count("start_line").is_some() { first? } else { 1 };
    match result.count("start_line").or(result.count("lines").map(|_| 1)) {
        Some(_) if is_cut => note_rest(start + shown - 1, start, total, call, page),
        Some(start) if start > 1 => page.note(&range(start, start + shown - 1, total)),
        Some(_) => {}
        None if is_cut => page.note(&format!("cut after {}", quantity(shown, "line", "lines"))),
        None => {}
    }
    if result.flag("truncated") && !content.ends_with('\n') && shown == given {
        result.non_empty("note").into_iter().for_each(|note| page.note(note));
    }
    note_cut_line(content, start, call, page);
    note_encoding(result, page);
    Some(())
}

/// Adds the arguments that read the first cut line on its own, which makes it possible to continue within it.
fn note_cut_line(content: &str, start: u64, call: &ModelCall<'_>, page: &mut ModelPage) {
    let is_long = |line: &str| line.char_indices().nth(LINE).is_some();
    if let Some(at) = content.lines().position(is_long).filter(|_| call.takes("column"))
        && let Some(next) = call.with(&[("offset", json!(start + at as u64)), ("limit", json!(1))])
    {
        page.note(&format!("line {} is cut; more of it with {next}", start + at as u64));
    }
}

/// Maximum characters of a long line, once a call has asked for part of it.
const PART: usize = 20_000;

/// The text, if it is a single line that is too long for a result, and the tool can continue within a line.
fn only_long_line<'a>(content: &'a str, call: &ModelCall<'_>) -> Option<&'a str> {
    let line = content.strip_suffix('\n').unwrap_or(content);
    let is_long = line.char_indices().nth(LINE).is_some();
    (is_long && !line.contains('\n') && call.takes("column")).then_some(line)
}

/// Part of a long line, and the arguments that continue within it.
fn long_line(line: &str, result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let first = result.count("start_column").unwrap_or(1);
    let size = line.chars().count();
    let shown = if call.has("column") {
        let most = PART.min(page.room().saturating_sub(1)).min(size);
        page.prose(&line.chars().take(most).collect::<String>());
        most
    } else {
        page.line(line);
        LINE
    };
    let number = result.count("start_line");
    if shown < size {
        let last = first + shown as u64 - 1;
        let next = call.with(&[("offset", json!(number.unwrap_or(1))), ("column", json!(last + 1))]);
        let next = next.map_or(String::new(), |next| format!("; continue with {next}"));
        let of = number.map_or("the line".to_owned(), |number| format!("line {number}"));
        let end = first + size as u64 - 1;
        let more = if result.flag("truncated") { "more than " } else { "" };
        page.note(&format!("{of}, characters {first} to {last} of {more}{end}{next}"));
    } else if result.flag("has_more") {
        let total = result.count("total_lines");
        let number = number.unwrap_or(1);
        note_rest(number, number, total, call, page);
    }
    note_encoding(result, page);
    Some(())
}

fn note_rest(last: u64, first: u64, total: Option<u64>, call: &ModelCall<'_>, page: &mut ModelPage) {
    let range = range(first, last, total);
    match call.with(&[("offset", json!(last + 1))]) {
        Some(next) => page.note(&format!("{range}; continue with {next}")),
        None => page.note(&format!("{range}; this tool shows no more of it")),
    }
}

fn range(first: u64, last: u64, total: Option<u64>) -> String {
    let of = total.map_or(String::new(), |total| format!(" of {total}"));
    format!("lines {first} to {last}{of}")
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

/// One line: what was done to which file, and how much changed.
pub(super) fn written(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let operation = result.non_empty("operation")?;
    let path = call.argument(&PATHS).unwrap_or("the file");
    let lines = |key: &str| result.count(key);
    let size = match (operation, lines("additions"), lines("deletions")) {
        ("created", Some(lines), _) => quantity(lines, "line", "lines"),
        (_, Some(0), Some(0)) => "unchanged".to_owned(),
        (_, Some(added), Some(removed)) => format!("+{added} -{removed} lines"),
        _ => quantity(result.count("bytes_written")?, "byte", "bytes"),
    };
    page.line(&format!("{operation} {path}, {size}"));
    result.non_empty("note").into_iter().for_each(|note| page.note(note));
    note_change(result, page);
    Some(())
}

/// The changed lines with context; without context if there were several replacements.
pub(super) fn edited(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (diff, replacements) = (result.text("diff")?, result.count("replacements")?);
    let hunks = diff.find("@@").map_or("", |at| &diff[at..]);
    if replacements > 1 {
        page.line(&quantity(replacements, "replacement", "replacements"));
    }
    let is_shown = |line: &&str| replacements == 1 || line.starts_with(['@', '+', '-']);
    let lines: Vec<&str> = hunks.lines().filter(is_shown).collect();
    let shown = lines.iter().take_while(|line| page.line(line)).count();
    if shown < lines.len() || result.flag("diff_truncated") {
        page.note("the change is complete; the diff shows a part of it");
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
