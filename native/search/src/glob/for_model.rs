//! Matching paths, rendered for models.

use crate::remaining::for_model::rest_of_files;
use beamai_tool::for_model::{Fields, ModelCall, ModelPage, name_line};
use beamai_walk::coverage::{note_left_out, note_rest};

/// Paths that are shown unless the call asks for more.
const SHOWN: usize = 200;

/// One path per line; of many, the first ones, and how many of the others are in which directory.
pub(super) fn found(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let files = result.list("files").or_else(|| result.list("matches"))?;
    let count = result.count("count")?;
    let paths: Vec<&str> = files.iter().filter_map(serde_json::Value::as_str).collect();
    let most = if call.has("limit") || call.is_shown_whole() { paths.len() } else { SHOWN };
    let shown = paths.iter().take(most).take_while(|path| page.line(&name_line(path))).count();
    if count == 0 {
        page.line("no files match");
    }
    let rest = rest_of_files(paths[shown..].iter().copied(), result, call);
    note_rest(shown as u64, count, "files", &rest, call, page);
    note_left_out(result, count > 0, call, page);
    Some(())
}
