//! Entries of a directory, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};
use beamai_walk::coverage::{note_left_out, note_rest};

/// Files from this size on, in bytes, are shown with their size: they take more than one call to read.
const LARGE: u64 = 100_000;

/// One name per line, or one path if subdirectories are listed too; directories end in "/".
pub(super) fn listed(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let entries = result.list("entries")?;
    let is_deep = result.objects("entries").any(|entry| depth(entry) != result_depth(result));
    let shown = result
        .objects("entries")
        .map_while(|entry| line(entry, is_deep))
        .take_while(|line| page.line(line))
        .count();
    if entries.is_empty() {
        page.line("no entries");
    }
    let count = result.count("count").unwrap_or(entries.len() as u64);
    if (shown as u64) < count {
        note_rest(shown, count, "entries", shown < entries.len(), call, page);
    }
    note_left_out(result, !entries.is_empty(), page);
    Some(())
}

fn depth(entry: Fields<'_>) -> usize {
    entry.text("path").unwrap_or_default().matches('/').count()
}

/// The depth of the first entry; if one directory is listed, all entries have it.
fn result_depth(result: Fields<'_>) -> usize {
    result.objects("entries").next().map_or(0, depth)
}

fn line(entry: Fields<'_>, is_deep: bool) -> Option<String> {
    let name = entry.text(if is_deep { "path" } else { "name" })?;
    Some(match (entry.text("type"), entry.count("size")) {
        (Some("directory"), _) => format!("{name}/"),
        (Some("file"), Some(size)) if size >= LARGE => format!("{name} ({size} bytes)"),
        (Some("file"), _) => name.to_owned(),
        (Some(kind), _) => format!("{name} ({kind})"),
        (None, _) => return None,
    })
}
