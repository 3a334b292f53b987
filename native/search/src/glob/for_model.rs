//! Matching paths, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};
use beamai_walk::coverage::{note_left_out, note_rest};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Paths that are shown unless the call asks for more.
const SHOWN: usize = 200;
/// Directories that are named for the others.
const DIRECTORIES: usize = 20;

/// How many of the paths that are not shown are in which directory at the top of what they have in common, the fullest first.
fn note_directories(rest: &[&str], page: &mut ModelPage) {
    let common = common_directory(rest);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in rest {
        let end = path[common..].find('/').map_or(common, |at| common + at + 1);
        *counts.entry(&path[..end]).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(directory, count)| (Reverse(*count), *directory));
    let name = |directory: &str| if directory.is_empty() { "./".to_owned() } else { directory.to_owned() };
    let mut words: Vec<String> = counts
        .iter()
        .take(DIRECTORIES)
        .map(|(directory, count)| format!("{}: {count}", name(directory)))
        .collect();
    if counts.len() > DIRECTORIES {
        words.push(format!("and {} more directories", counts.len() - DIRECTORIES));
    }
    if !words.is_empty() {
        page.note(&format!("not shown: {}", words.join(", ")));
    }
}

/// The length of the directory that all paths are in, with its slash.
fn common_directory(paths: &[&str]) -> usize {
    let Some((first, rest)) = paths.split_first() else { return 0 };
    let common = rest.iter().fold(first.len(), |common, path| {
        first.bytes().zip(path.bytes()).take(common).take_while(|(a, b)| a == b).count()
    });
    first[..floor(first, common)].rfind('/').map_or(0, |at| at + 1)
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// One path per line.
pub(super) fn found(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let files = result.list("files").or_else(|| result.list("matches"))?;
    let count = result.count("count")?;
    let paths: Vec<&str> = files.iter().filter_map(serde_json::Value::as_str).collect();
    let most = if call.has("limit") { paths.len() } else { SHOWN };
    let shown = paths.iter().take(most).take_while(|path| page.line(path)).count();
    if paths.is_empty() {
        page.line("no files match");
    }
    if (shown as u64) < count {
        note_directories(&paths[shown..], page);
        note_rest(shown, count, "files", shown < paths.len() && shown < most, call, page);
    }
    note_left_out(result, !paths.is_empty(), page);
    Some(())
}
