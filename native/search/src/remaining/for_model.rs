//! What is not shown of a search, rendered for models.

use super::by_directory;
use beamai_tool::for_model::{Fields, ModelPage};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of files that are named with their matches.
const FILES: usize = 10;
/// Maximum number of directories that are named.
const DIRECTORIES: usize = 10;

/// Notes where the files are that are not shown: those of the page, and those that follow it.
pub(crate) fn note_files<'a>(
    unseen: impl Iterator<Item = &'a str>,
    result: Fields<'a>,
    page: &mut ModelPage,
) {
    let remaining = result.object("remaining");
    let following = remaining.into_iter().flat_map(|remaining| counts(remaining, "by_directory"));
    let words = directories(unseen.map(|path| (path, 1)).chain(following));
    if !words.is_empty() {
        page.note(&format!("{}: {words}", headed("not shown", remaining)));
    }
}

/// Notes how many matches that are not shown are in which file: those of the page, and those that follow it.
pub(crate) fn note_matches<'a>(
    unseen: impl Iterator<Item = &'a str>,
    result: Fields<'a>,
    page: &mut ModelPage,
) {
    let remaining = result.object("remaining");
    let mut by_file: BTreeMap<&str, u64> = BTreeMap::new();
    let following = remaining.into_iter().flat_map(|remaining| counts(remaining, "by_file"));
    unseen
        .map(|path| (path, 1))
        .chain(following)
        .for_each(|(path, count)| *by_file.entry(path).or_default() += count);
    let mut by_file: Vec<(&str, u64)> = by_file.into_iter().collect();
    by_file.sort_by_key(|(path, count)| (Reverse(*count), *path));
    let others = by_file.split_off(by_file.len().min(FILES));
    let named: Vec<String> = by_file.iter().map(|(path, count)| format!("{path}: {count}")).collect();
    let others = others.into_iter();
    let following = remaining.into_iter().flat_map(|remaining| counts(remaining, "by_directory"));
    let others = directories(others.chain(following));
    let others = if others.is_empty() { others } else { format!("; in other files: {others}") };
    if !named.is_empty() {
        page.note(&format!("{}: {}{others}", headed("more matches", remaining), named.join(", ")));
    }
}

fn counts<'a>(remaining: Fields<'a>, key: &'static str) -> impl Iterator<Item = (&'a str, u64)> {
    remaining.objects(key).filter_map(|of| Some((of.text("path")?, of.count("count")?)))
}

fn headed(what: &str, remaining: Option<Fields<'_>>) -> String {
    let at_least = remaining.is_some_and(|remaining| remaining.flag("at_least"));
    format!("{what}{}", if at_least { ", at least" } else { "" })
}

/// Directories with their numbers, as `src/a/: 5, src/*: 2`.
fn directories<'a>(paths: impl Iterator<Item = (&'a str, u64)>) -> String {
    let (sums, _) = by_directory(paths, usize::MAX);
    let shown = |path: &str| if path == "*" { "./*".to_owned() } else { path.to_owned() };
    let (named, others) = sums.split_at(sums.len().min(DIRECTORIES));
    let mut words: Vec<String> =
        named.iter().map(|of| format!("{}: {}", shown(&of.path), of.count)).collect();
    if !others.is_empty() {
        let count: u64 = others.iter().map(|of| of.count).sum();
        words.push(format!("{} more directories: {count}", others.len()));
    }
    words.join(", ")
}
