//! What is not shown of a search, rendered for models.

use super::by_directory;
use beamai_tool::for_model::{Fields, ModelCall, name_line};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of files that are named with their matches.
const FILES: usize = 5;
/// Maximum number of directories that are named.
const DIRECTORIES: usize = 5;
/// Maximum characters of all names with their numbers.
const WORDS: usize = 300;

/// Where the files are that are not shown: those of the page, and those that follow it. Empty for all pages but the first:
/// each page has less of the rest.
pub(crate) fn rest_of_files<'a>(
    unseen: impl Iterator<Item = &'a str>,
    result: Fields<'a>,
    call: &ModelCall<'_>,
) -> String {
    let paths = unseen.map(|path| (path, 1)).chain(counts(result, "by_directory"));
    in_words(directories(paths), result, call)
}

/// How many matches that are not shown are in which file: those of the page, and those that follow it. Empty for all pages
/// but the first.
pub(crate) fn rest_of_matches<'a>(
    unseen: impl Iterator<Item = &'a str>,
    result: Fields<'a>,
    call: &ModelCall<'_>,
) -> String {
    let mut by_file: BTreeMap<&str, u64> = BTreeMap::new();
    unseen
        .map(|path| (path, 1))
        .chain(counts(result, "by_file"))
        .for_each(|(path, count)| *by_file.entry(path).or_default() += count);
    let mut by_file: Vec<(&str, u64)> = by_file.into_iter().collect();
    by_file.sort_by_key(|(path, count)| (Reverse(*count), *path));
    let others = by_file.split_off(by_file.len().min(FILES)).into_iter();
    let others = directories(others.chain(counts(result, "by_directory")));
    let named = by_file.into_iter().map(|(path, count)| (path.to_owned(), count));
    in_words(named.chain(others).collect(), result, call)
}

fn counts<'a>(result: Fields<'a>, key: &'static str) -> impl Iterator<Item = (&'a str, u64)> {
    let remaining = result.object("remaining").into_iter();
    remaining
        .flat_map(move |of| of.objects(key))
        .filter_map(|of| Some((of.text("path")?, of.count("count")?)))
}

/// The fullest directories; an empty name stands for the others.
fn directories<'a>(paths: impl Iterator<Item = (&'a str, u64)>) -> Vec<(String, u64)> {
    let (mut sums, _) = by_directory(paths, usize::MAX);
    let others: u64 = sums.split_off(sums.len().min(DIRECTORIES)).iter().map(|of| of.count).sum();
    let shown = |path: String| if path == "*" { "./*".to_owned() } else { path };
    let named = sums.into_iter().map(|of| (shown(of.path), of.count));
    named.chain((others > 0).then(|| (String::new(), others))).collect()
}

/// The names with their numbers, as `; the rest: src/a/: 5, src/*: 2, elsewhere: 3`.
fn in_words(numbers: Vec<(String, u64)>, result: Fields<'_>, call: &ModelCall<'_>) -> String {
    if numbers.is_empty() || call.skipped() > 0 {
        return String::new();
    }
    let (mut words, mut size, mut elsewhere) = (Vec::new(), 0, 0);
    for (name, count) in numbers {
        let word = format!("{}: {count}", name_line(&name));
        let length = word.chars().count();
        if name.is_empty() || size + length > WORDS {
            elsewhere += count;
        } else {
            size += length;
            words.push(word);
        }
    }
    words.extend((elsewhere > 0).then(|| format!("elsewhere: {elsewhere}")));
    let is_partial = result.object("remaining").is_some_and(|remaining| remaining.flag("at_least"));
    format!("; the rest{}: {}", if is_partial { ", at least" } else { "" }, words.join(", "))
}
