//! Matches rendered for models: grouped by file, as `rg --heading` prints them.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage, cut_line, quantity};
use beamai_walk::coverage::note_left_out;
use serde_json::json;
use std::collections::BTreeMap;

/// Number of matches shown unless the call asks for more.
const SHOWN: usize = 100;
/// Maximum characters of a line that is shown.
const LINE: usize = 400;
/// Names of the limit parameter in the dialects.
const LIMITS: [&str; 3] = ["limit", "max_matches", "max_results"];

/// The matches by file, the files, or the files with their counts, depending on the output mode.
pub(super) fn found(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let matches: Vec<Fields<'_>> = result.objects("matches").collect();
    let total = result.count("total_matches").or_else(|| result.count("count"))?;
    let has_found = total > 0;
    if !has_found {
        page.line("no matches");
        note_plain_text(call, page);
    } else if let Some(counts) = result.object("counts") {
        let lines: Vec<String> = counts.iter().map(|(file, count)| format!("{file}:{count}")).collect();
        listed(&lines, result, call, page);
    } else if matches.is_empty() {
        listed(&result.texts("files").map(str::to_owned).collect::<Vec<_>>(), result, call, page);
    } else {
        let shown = by_file(&matches, call, page);
        note_rest(shown, &matches, total, result, call, page);
    }
    note_left_out(result, has_found, page);
    Some(())
}

/// Notes that a pattern without matches was searched as plain text, although it looks like a regular expression.
fn note_plain_text(call: &ModelCall<'_>, page: &mut ModelPage) {
    let query = call.argument(&["query"]).unwrap_or_default();
    let is_plain = call.nested("options", "regex").is_none_or(|flag| flag == &json!(false));
    if is_plain && query.contains(['|', '\\', '*', '^', '$', '[', '+']) {
        page.note("searched as plain text; \"options\":{\"regex\":true} takes it as a regular expression");
    }
}

fn listed(lines: &[String], result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) {
    let shown = lines.iter().take_while(|line| page.line(line)).count();
    let total = result.count("total_files").unwrap_or(lines.len() as u64);
    if (shown as u64) < total {
        let next = next(shown, call).unwrap_or_else(|| "narrow the search".to_owned());
        page.note(&format!("{shown} of {total} files; {next}"));
    }
}

/// Shows matches file by file; returns how many.
fn by_file(matches: &[Fields<'_>], call: &ModelCall<'_>, page: &mut ModelPage) -> usize {
    let is_limited = LIMITS.iter().any(|name| call.has(name));
    let most = if is_limited { matches.len() } else { SHOWN };
    let mut shown = 0;
    for of_file in matches[..matches.len().min(most)].chunk_by(|a, b| a.text("file") == b.text("file")) {
        let file = of_file[0].text("file").unwrap_or_default();
        let is_numbered = of_file[0].count("line_number").is_some();
        let groups = if is_numbered { numbered(of_file) } else { unnumbered(of_file) };
        let has_context =
            of_file.iter().any(|hit| hit.texts("before").chain(hit.texts("after")).next().is_some());
        if page.room() < file.len() + LINE
            || !page.line(&format!("{}{file}", if shown > 0 { "\n" } else { "" }))
        {
            return shown;
        }
        for (at, (text, count)) in groups.iter().enumerate() {
            // One group is shown completely or not at all, so that the shown matches can be counted.
            if page.room() < text.chars().count() + 4 {
                return shown;
            }
            if at > 0 && has_context {
                page.line("--");
            }
            page.lines(text);
            shown += count;
        }
    }
    shown
}

/// Adjacent lines merged, with their numbers, followed by ":" for a match and "-" for context. Each group comes with
/// its number of matches.
fn numbered(matches: &[Fields<'_>]) -> Vec<(String, usize)> {
    let mut lines: BTreeMap<u64, (char, &str)> = BTreeMap::new();
    let mut starts = BTreeMap::new();
    for hit in matches {
        let first = hit.count("line_number").unwrap_or(1);
        *starts.entry(first).or_insert(0) += 1;
        let own: Vec<&str> = hit.text("content").unwrap_or_default().lines().collect();
        let before: Vec<&str> = hit.texts("before").collect();
        let start = first.saturating_sub(before.len() as u64);
        before.iter().zip(start..).for_each(|(line, number)| _ = lines.entry(number).or_insert(('-', line)));
        let own_count = own.len().max(1) as u64;
        match own.is_empty() {
            true => _ = lines.insert(first, (':', "")),
            false => own.iter().zip(first..).for_each(|(line, number)| _ = lines.insert(number, (':', line))),
        }
        hit.texts("after").zip(first + own_count..).for_each(|(line, number)| {
            _ = lines.entry(number).or_insert(('-', line));
        });
    }
    let lines: Vec<_> = lines.into_iter().collect();
    let has_context = lines.iter().any(|(_, (mark, _))| *mark == '-');
    let groups = lines.chunk_by(|(a, _), (b, _)| has_context && a + 1 == *b);
    groups
        .map(|group| {
            let text = group
                .iter()
                .map(|(number, (mark, line))| format!("{number}{mark}{}\n", cut_line(line, LINE)));
            let count = group.iter().filter_map(|(number, _)| starts.get(number)).sum();
            (text.collect(), count)
        })
        .collect()
}

/// Each match with its context.
fn unnumbered(matches: &[Fields<'_>]) -> Vec<(String, usize)> {
    let text = |hit: &Fields<'_>| {
        let lines = hit.texts("before").chain(hit.text("content")).chain(hit.texts("after"));
        lines.flat_map(str::lines).map(|line| cut_line(line, LINE).into_owned() + "\n").collect()
    };
    matches.iter().map(|hit| (text(hit), 1)).collect()
}

/// Notes the number of matches per file that are not shown, and how to see more.
fn note_rest(
    shown: usize,
    matches: &[Fields<'_>],
    total: u64,
    result: Fields<'_>,
    call: &ModelCall<'_>,
    page: &mut ModelPage,
) {
    if shown as u64 >= total {
        return;
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for hit in &matches[shown..] {
        let file = hit.text("file").unwrap_or_default();
        match counts.last_mut().filter(|(last, _)| *last == file) {
            Some((_, count)) => *count += 1,
            None => counts.push((file, 1)),
        }
    }
    // Where the result does not have all matches, it does not have the counts of these files either.
    if !counts.is_empty() && matches.len() as u64 >= total {
        let words: Vec<String> = counts.iter().map(|(file, count)| format!("{file}: {count}")).collect();
        page.note(&format!("more matches: {}", words.join(", ")));
    }
    let files = result
        .count("total_files")
        .map_or(String::new(), |files| format!(" in {}", quantity(files, "file", "files")));
    let next =
        next(shown, call).unwrap_or_else(|| "narrow the pattern or the path to see the others".to_owned());
    page.note(&format!("{shown} of {total} matches{files}; {next}"));
}

/// The arguments for the next page.
fn next(shown: usize, call: &ModelCall<'_>) -> Option<String> {
    let next = call.with(&[("offset", json!(call.number("offset").unwrap_or(0) + shown as u64))])?;
    Some(format!("continue with {next}"))
}
