//! What a search left out, rendered for models.

use super::Hints;
use crate::Skipped;
use beamai_tool::for_model::{Fields, ModelCall, ModelPage};
use serde::Deserialize;

/// Adds a short note of what a search left out, by reason. If nothing was found it suggests the arguments that include
/// it, and if something could not be read it gives an example. Directories of git are not worth a word: nobody means them.
pub fn note_left_out(result: Fields<'_>, has_found: bool, call: &ModelCall<'_>, page: &mut ModelPage) {
    let Some(coverage) = result.object("coverage") else { return };
    let skipped = coverage.iter().find(|(key, _)| *key == "skipped").map(|(_, value)| value);
    let Some(skipped) = skipped.and_then(|value| Skipped::deserialize(value).ok()) else { return };
    let git = coverage.count("git_directories").unwrap_or(0);
    let skipped = Skipped { hidden: skipped.hidden.saturating_sub(git), ..skipped };
    let is_helpful = !has_found && call.takes("hidden");
    let binary_files: Vec<String> = coverage.texts("binary_files").map(str::to_owned).collect();
    let words = skipped.in_words(if is_helpful { Hints::Given } else { Hints::Withheld }, &binary_files);
    if words.is_empty() {
        return;
    }
    let example = coverage.text("note").and_then(|note| note.split_once(super::EXAMPLE));
    let example = example.filter(|_| !coverage.flag("complete"));
    let example = example.map_or(String::new(), |(_, example)| format!("{}{example}", super::EXAMPLE));
    page.note(&format!("left out: {}{example}", words.join(", ")));
}

/// Notes which of `total` items are shown, `within` what, and the call that continues, unless they are all of them.
pub fn note_rest(
    shown: u64,
    total: u64,
    what: &str,
    within: &str,
    call: &ModelCall<'_>,
    page: &mut ModelPage,
) {
    let skipped = call.skipped();
    let end = skipped + shown;
    if shown == 0 && skipped >= total && total > 0 {
        page.note(&format!("nothing follows the first {skipped}: there are {total} {what}{within}"));
        return;
    }
    if end >= total {
        if skipped > 0 {
            page.note(&format!("{what} {} to {end} of {total}", skipped + 1));
        }
        return;
    }
    let range = match skipped {
        0 => format!("{shown} of {total} {what}{within}"),
        _ => format!("{what} {} to {end} of {total}{within}", skipped + 1),
    };
    page.note(&match call.skipping(end) {
        Some(next) => format!("{range}; continue with {next}"),
        None => format!("{range}; a narrower path or pattern shows the others"),
    });
}
