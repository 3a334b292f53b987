//! Matches rendered for models: grouped by file, as `rg --heading` prints them.

mod lines;

use crate::remaining::for_model::{rest_of_files, rest_of_matches};
use beamai_tool::for_model::{Fields, ModelCall, ModelPage, name_line, quantity};
use beamai_walk::coverage::{note_left_out, note_rest};
use lines::{LineGroup, MatchLine};
use serde_json::json;

/// Number of matches shown of a tool without a limit, unless the call asks for more.
const SHOWN: usize = 100;
/// Number of files shown of such a tool.
const SHOWN_FILES: usize = 200;
/// Names of the limit parameter in the dialects; the last one is among the options.
const LIMITS: [&str; 3] = ["limit", "max_matches", "head_limit"];
const NESTED_LIMIT: (&str, &str) = ("options", "max_results");

/// The matches by file, the files, or the files with their counts, depending on the output mode.
pub(super) fn found(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let matches: Vec<Fields<'_>> = result.objects("matches").collect();
    let total = result.count("total_matches").or_else(|| result.count("count"))?;
    let files: Vec<&str> = result.texts("files").collect();
    let has_found = total > 0;
    if !has_found {
        page.line("no matches");
        note_plain_text(call, page);
    } else if let Some(counts) = result.object("counts") {
        let lines: Vec<String> =
            counts.iter().map(|(file, count)| format!("{}:{count}", name_line(file))).collect();
        listed(&lines, &counts.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(), result, call, page);
    } else if matches.is_empty() && (!files.is_empty() || wants_files(call)) {
        let lines: Vec<_> = files.iter().map(|file| name_line(file)).collect();
        listed(&lines, &files, result, call, page);
    } else {
        let shown = by_file(&matches, call, page);
        note_more(shown, &matches, total, result, call, page);
    }
    note_left_out(result, has_found, call, page);
    Some(())
}

/// Whether the call asks for files and not for matches.
fn wants_files(call: &ModelCall<'_>) -> bool {
    call.argument(&["output_mode"]).is_some_and(|mode| !mode.eq_ignore_ascii_case("content"))
}

/// Whether the call or the tool's default says how many results there are to be, or whoever reads the result gets all of
/// it.
fn is_limited(call: &ModelCall<'_>) -> bool {
    let (options, limit) = NESTED_LIMIT;
    call.is_shown_whole()
        || LIMITS.iter().any(|name| call.has(name) || call.has_default(name))
        || call.nested(options, limit).is_some_and(|value| !value.is_null())
}

/// Notes that a pattern without matches was searched as plain text, although it looks like a regular expression.
fn note_plain_text(call: &ModelCall<'_>, page: &mut ModelPage) {
    let query = call.argument(&["query"]).unwrap_or_default();
    let is_plain = call.nested("options", "regex").is_none_or(|flag| flag == &json!(false));
    if is_plain && query.contains(['|', '\\', '*', '^', '$', '[', '+']) {
        page.note("searched as plain text; \"options\":{\"regex\":true} takes it as a regular expression");
    }
}

fn listed(
    lines: &[impl AsRef<str>],
    files: &[&str],
    result: Fields<'_>,
    call: &ModelCall<'_>,
    page: &mut ModelPage,
) {
    let most = if is_limited(call) { lines.len() } else { SHOWN_FILES };
    let shown = lines.iter().take(most).take_while(|line| page.line(line.as_ref())).count();
    let total = result.count("total_files").unwrap_or(lines.len() as u64);
    let rest = rest_of_files(files[shown..].iter().copied(), result, call);
    note_rest(shown as u64, total, "files", &rest, call, page);
}

/// Shows matches file by file; returns how many.
fn by_file(matches: &[Fields<'_>], call: &ModelCall<'_>, page: &mut ModelPage) -> usize {
    let most = if is_limited(call) { matches.len() } else { SHOWN };
    let mut shown = 0;
    let mut first_cut = None;
    'files: for of_file in
        matches[..matches.len().min(most)].chunk_by(|a, b| a.text("file") == b.text("file"))
    {
        let file = of_file[0].text("file").unwrap_or_default();
        let groups = lines::groups(of_file);
        let heading = format!("{}{}", if shown > 0 { "\n" } else { "" }, name_line(file));
        let mut is_headed = false;
        for group in &groups {
            let separator = is_headed && group.has_context;
            let above = if is_headed { 0 } else { heading.chars().count() + 1 };
            let is_whole = page.room() >= above + group.size() + 3;
            // What does not fit is left out, so that the shown matches can be counted; but something is always shown.
            if !is_whole && shown > 0 {
                break 'files;
            }
            if !is_headed {
                is_headed = page.line(&heading);
            }
            if separator {
                page.line("--");
            }
            shown += if is_whole { group.show(page) } else { group.show_matches(page) };
            let cut = || group.cut.map(|(line, column)| (file, line, column));
            first_cut = first_cut.or_else(cut);
            if !is_whole {
                break 'files;
            }
        }
    }
    if let Some((file, line, column)) = first_cut.filter(|_| !call.is_shown_whole())
        && let Some(more) = call.reading_line(file, line, column)
    {
        page.note(&format!("more of the first cut line: {more}"));
    }
    shown
}

/// Notes how to see the matches that are not shown, and in which files they are.
fn note_more(
    shown: usize,
    matches: &[Fields<'_>],
    total: u64,
    result: Fields<'_>,
    call: &ModelCall<'_>,
    page: &mut ModelPage,
) {
    let files = result.count("total_files").filter(|_| call.skipped() == 0);
    let files = files.map_or(String::new(), |files| format!(" in {}", quantity(files, "file", "files")));
    // Without all matches, and without what is said of those that follow, the numbers would be too small.
    let is_known = result.object("remaining").is_some() || matches.len() as u64 >= total;
    let unseen = matches[shown..].iter().filter(|_| is_known).filter_map(|hit| hit.text("file"));
    let rest = rest_of_matches(unseen, result, call);
    note_rest(shown as u64, total, "matches", &format!("{files}{rest}"), call, page);
}

impl LineGroup {
    /// Shows every line; returns the number of matches.
    fn show(&self, page: &mut ModelPage) -> usize {
        self.lines.iter().for_each(|line| _ = page.line(&line.text));
        self.count()
    }

    /// Shows as many matches as fit, without their context; returns how many.
    fn show_matches(&self, page: &mut ModelPage) -> usize {
        if self.has_context {
            page.note("the lines around these matches do not fit and are left out");
        }
        let is_match = |line: &&MatchLine| line.is_match;
        let shown = self.lines.iter().filter(is_match).take_while(|line| page.line(&line.text));
        shown.filter(|line| line.is_start).count()
    }
}
