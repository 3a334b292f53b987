//! Matching paths, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};
use beamai_walk::coverage::{note_left_out, note_rest};

/// One path per line.
pub(super) fn found(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let files = result.list("files").or_else(|| result.list("matches"))?;
    let count = result.count("count")?;
    let paths: Vec<&str> = files.iter().filter_map(serde_json::Value::as_str).collect();
    let shown = paths.iter().take_while(|path| page.line(path)).count();
    if paths.is_empty() {
        page.line("no files match");
    }
    if (shown as u64) < count {
        note_rest(shown, count, "files", shown < paths.len(), call, page);
    }
    note_left_out(result, !paths.is_empty(), page);
    Some(())
}
