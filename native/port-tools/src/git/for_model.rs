//! Renders results of the git tools for models.

use beamai_tool::for_model::{Fields, LINE, ModelCall, ModelPage, cut_line};
use serde_json::json;

/// The last line of a text that the tool itself has cut.
const CUT: &str = "[output truncated]\n";
/// Number of files of a diff that are named if they are not shown.
const NAMED: usize = 10;

/// The text as the git program prints it, cut to the limit, with the call that continues.
pub(super) fn printed(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (content, is_cut) = content(result)?;
    let (shown, total) = page.lines(content);
    let skipped = call.skipped();
    if page.is_empty() {
        page.line(match (call.takes("staged"), skipped) {
            (_, 1..) => "no more lines",
            (true, 0) => "no changes",
            (false, 0) => "(nothing)",
        });
    }
    if shown < total || is_cut {
        let end = skipped + shown;
        let of = if is_cut { String::new() } else { format!(" of {}", skipped + total) };
        let next = call.skipping(end).map_or(String::new(), |next| format!("; continue with {next}"));
        page.note(&format!("lines {} to {end}{of}{next}", skipped + 1));
        let shown = usize::try_from(shown).unwrap_or(usize::MAX);
        note_files(content.lines().skip(shown), call, page);
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}

/// The text without the mark that it was cut, and whether it was.
fn content<'a>(result: Fields<'a>) -> Option<(&'a str, bool)> {
    let content = result.text("content")?;
    let is_cut = result.flag("truncated");
    Some((content.strip_suffix(CUT).filter(|_| is_cut).unwrap_or(content).trim_end(), is_cut))
}

/// Names the files of the lines of a diff that are not shown.
fn note_files<'a>(rest: impl Iterator<Item = &'a str>, call: &ModelCall<'_>, page: &mut ModelPage) {
    if !call.takes("path") || call.has("path") {
        return;
    }
    let name = |line: &'a str| line.strip_prefix("diff --git ")?.split_once(" b/").map(|(_, name)| name);
    let names: Vec<&str> = rest.filter_map(name).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if !names.is_empty() {
        page.note(&format!(
            "\"path\" shows one alone; not shown: {}{more}",
            names[..names.len().min(NAMED)].join(", ")
        ));
    }
}

/// Whole commits as the git program prints them, with the call for the older ones.
pub(super) fn logged(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (content, is_cut) = content(result)?;
    let lines: Vec<&str> = content.lines().collect();
    let commits: Vec<&[&str]> = match call.flag("oneline") {
        true => lines.chunks(1).collect(),
        false => lines.chunk_by(|_, next| !is_commit(next)).collect(),
    };
    // The last one may not be whole.
    let whole = if is_cut && commits.len() > 1 { &commits[..commits.len() - 1] } else { &commits[..] };
    let fits = |commit: &&&[&str]| {
        let size: usize = commit.iter().map(|line| cut_line(line, LINE).chars().count() + 1).sum();
        let fits = size <= page.room();
        fits && commit.iter().all(|line| page.line(line))
    };
    let mut shown = whole.iter().take_while(fits).count();
    if shown == 0
        && let Some(first) = whole.first()
    {
        let (count, total) = page.lines(&first.join("\n"));
        shown = 1;
        if count < total || is_cut && commits.len() == 1 {
            page.note("the commit's message is cut");
        }
    }
    if page.is_empty() {
        page.line(if call.has("skip") { "no more commits" } else { "(nothing)" });
    }
    if shown < commits.len() || result.flag("has_more") {
        let skip = call.number("skip").unwrap_or(0) + shown as u64;
        let next = call.with(&[("skip", json!(skip))]);
        let next = next.map_or(String::new(), |next| format!("; continue with {next}"));
        page.note(&format!("older commits follow{next}"));
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}

/// Whether a commit begins with this line. Lines of messages are indented.
fn is_commit(line: &str) -> bool {
    line.strip_prefix("commit ")
        .is_some_and(|hash| hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The staged files.
pub(super) fn added(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let files = result.list("files")?;
    if result.flag("ok") {
        match files.is_empty() {
            true => page.line("nothing changed: it is staged already"),
            false => page.line("staged:"),
        };
    }
    let shown = result.texts("files").take_while(|file| page.line(file)).count();
    if shown < files.len() || result.flag("truncated") {
        page.note(&format!("{shown} files are listed; the others were staged too"));
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}
