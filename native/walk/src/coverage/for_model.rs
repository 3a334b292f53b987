//! What a search left out, rendered for models.

use super::{Hints, LEFT_OUT};
use crate::Skipped;
use beamai_tool::for_model::{Fields, ModelCall, ModelPage};
use serde::Deserialize;
use serde_json::json;

/// The largest limit that a call can set.
const MOST: u64 = 100_000;

/// Adds a short note of what a search left out, by reason. If nothing was found it suggests the arguments that include
/// it, and if something could not be read it gives an example.
pub fn note_left_out(result: Fields<'_>, has_found: bool, page: &mut ModelPage) {
    let Some(coverage) = result.object("coverage") else { return };
    let said = coverage.text("note").and_then(|note| note.split_once(LEFT_OUT));
    let is_complete = coverage.flag("complete");
    if let (false, Some((_, said))) = (has_found && is_complete, said) {
        page.note(&format!("left out: {said}"));
        return;
    }
    let skipped = coverage.iter().find(|(key, _)| *key == "skipped").map(|(_, value)| value);
    let words =
        skipped.and_then(|value| Skipped::deserialize(value).ok()).map(|it| it.in_words(Hints::Withheld));
    if let Some(words) = words.filter(|words| !words.is_empty()) {
        page.note(&format!("left out: {}", words.join(", ")));
    }
}

/// Notes how many of `count` items are shown, and how to see the others. `is_full`: the text has no more room, so a
/// larger limit would not help.
pub fn note_rest(
    shown: usize,
    count: u64,
    what: &str,
    is_full: bool,
    call: &ModelCall<'_>,
    page: &mut ModelPage,
) {
    let more = if is_full { None } else { call.with(&[("limit", json!(count.min(MOST)))]) };
    page.note(&match more {
        Some(more) => format!("{shown} of {count} {what}; {more} shows all"),
        None => format!("{shown} of {count} {what}; a narrower path or pattern shows the others"),
    });
}
