//! What a search found beyond the page that it returns: how much, and where.

pub(crate) mod for_model;

use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of directories, or files, whose names are remembered; others are only counted.
const REMEMBERED: usize = 20_000;
/// Maximum number of files that are listed.
const FILES: usize = 20;
/// Maximum number of directories that are listed.
const DIRECTORIES: usize = 50;

/// What follows a page of results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remaining {
    /// Number of files that have some of it; a lower bound if at_least is set.
    pub files: u64,
    /// Number of matches; absent if the results are files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<u64>,
    /// The files with most of the matches; absent if the results are files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_file: Vec<PathCount>,
    /// The other files by directory, the fullest first: their matches, or their number if the results are files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_directory: Vec<PathCount>,
    /// Whether by_file and by_directory have less than there is, because there are too many files or directories.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// A number of matches, or of files, with the file or the directory that they are in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathCount {
    /// A file; or a directory with a slash at its end, for all below it; or with `/*`, for the files directly in it.
    pub path: String,
    /// The number.
    pub count: u64,
}

impl PathCount {
    fn new(path: impl Into<String>, count: u64) -> Self {
        Self { path: path.into(), count }
    }
}

/// Numbers by path, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct PathCounts {
    counts: HashMap<Box<[u8]>, u64>,
    /// Whether some paths were not remembered.
    is_partial: bool,
}

impl PathCounts {
    /// Adds to the number of a path.
    pub(crate) fn add(&mut self, path: &[u8], count: u64) {
        if let Some(known) = self.counts.get_mut(path) {
            *known += count;
        } else if self.counts.len() < REMEMBERED {
            self.counts.insert(path.into(), count);
        } else {
            self.is_partial = true;
        }
    }

    /// Takes from the number of a path.
    pub(crate) fn subtract(&mut self, path: &[u8], count: u64) {
        if let Some(known) = self.counts.get_mut(path) {
            *known = known.saturating_sub(count);
            if *known == 0 {
                self.counts.remove(path);
            }
        }
    }

    /// Keeps this path and those that follow it.
    pub(crate) fn keep_from(&mut self, first: &[u8]) {
        self.counts.retain(|path, _| **path >= *first);
    }

    /// The number of files by directory, of paths of files.
    pub(crate) fn directories(self) -> Self {
        let mut directories = Self { is_partial: self.is_partial, ..Self::default() };
        self.counts.keys().for_each(|path| directories.add(directory(path), 1));
        directories
    }

    /// Adds another collection.
    pub(crate) fn merge(&mut self, other: Self) {
        self.is_partial |= other.is_partial;
        other.counts.into_iter().for_each(|(path, count)| self.add(&path, count));
    }

    /// The numbers by directory, of paths of directories; `shown` makes a path of it that results show.
    pub(crate) fn of_directories(self, files: u64, shown: impl Fn(&[u8]) -> String) -> Remaining {
        // A name stands for the files directly in a directory.
        let named = |path: &[u8]| match path {
            [] => shown(b"*"),
            path => shown(&[path, b"/*"].concat()),
        };
        let counts: Vec<PathCount> =
            self.counts.iter().map(|(path, count)| PathCount::new(named(path), *count)).collect();
        let (by_directory, is_cut) = by_directory(counts.iter().map(|of| (&*of.path, of.count)), DIRECTORIES);
        Remaining { files, by_directory, at_least: self.is_partial || is_cut, ..Remaining::default() }
    }

    /// The numbers of matches by file, of paths of files: the fullest ones, and the others by directory.
    pub(crate) fn of_files(self, matches: u64, shown: impl Fn(&[u8]) -> String) -> Remaining {
        let mut by_file: Vec<PathCount> =
            self.counts.iter().map(|(path, count)| PathCount::new(shown(path), *count)).collect();
        by_file.sort_by(|a, b| (Reverse(a.count), &a.path).cmp(&(Reverse(b.count), &b.path)));
        let files = by_file.len() as u64;
        let others = by_file.split_off(by_file.len().min(FILES));
        let (by_directory, is_cut) = by_directory(others.iter().map(|of| (&*of.path, of.count)), DIRECTORIES);
        Remaining {
            files,
            matches: Some(matches),
            by_file,
            by_directory,
            at_least: self.is_partial || is_cut,
        }
    }
}

/// The directory of a path, without a slash at its end; empty for the top.
pub(crate) fn directory(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(b"", |end| &path[..end])
}

/// Sums of numbers by directory, the fullest first: by the directories directly below the one that all paths have in
/// common. A path is one of a file, or as in [`PathCount`]. Returns also whether some are left out, over `most`.
pub(crate) fn by_directory<'a>(
    paths: impl Iterator<Item = (&'a str, u64)>,
    most: usize,
) -> (Vec<PathCount>, bool) {
    let paths: Vec<(&str, u64)> = paths.collect();
    let common = common_directory(&paths);
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (path, count) in paths {
        let name = match path[common..].find('/') {
            Some(end) => path[..=common + end].to_owned(),
            None => format!("{}*", &path[..common]),
        };
        *sums.entry(name).or_default() += count;
    }
    let mut sums: Vec<PathCount> =
        sums.into_iter().map(|(path, count)| PathCount::new(path, count)).collect();
    sums.sort_by(|a, b| (Reverse(a.count), &a.path).cmp(&(Reverse(b.count), &b.path)));
    let is_cut = sums.len() > most;
    sums.truncate(most);
    (sums, is_cut)
}

/// The length of the directory that all paths are in, with its slash.
fn common_directory(paths: &[(&str, u64)]) -> usize {
    let Some(((first, _), rest)) = paths.split_first() else { return 0 };
    let first = first.strip_suffix('/').unwrap_or(first);
    let common = rest.iter().fold(first.len(), |common, (path, _)| {
        let path = path.strip_suffix('/').unwrap_or(path);
        first.bytes().zip(path.bytes()).take(common).take_while(|(a, b)| a == b).count()
    });
    first.as_bytes()[..common].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(paths: &[(&str, u64)]) -> Vec<(String, u64)> {
        by_directory(paths.iter().copied(), 9).0.into_iter().map(|of| (of.path, of.count)).collect()
    }

    fn named(path: &str, count: u64) -> (String, u64) {
        (path.to_owned(), count)
    }

    #[test]
    fn numbers_are_summed_below_what_all_paths_have_in_common() {
        assert_eq!(
            sums(&[("src/a/x.rs", 1), ("src/a/b/y.rs", 2), ("src/z.rs", 4), ("src/b/*", 9)]),
            [named("src/b/", 9), named("src/*", 4), named("src/a/", 3)]
        );
        assert_eq!(sums(&[("a.rs", 1), ("b.rs", 1)]), [named("*", 2)]);
        assert_eq!(sums(&[("src/a/", 5), ("src/a/deep/x.rs", 1)]), [named("src/a/", 6)]);
        assert_eq!(
            sums(&[("src/*", 5), ("src/x.rs", 1), ("src/a/", 1)]),
            [named("src/*", 6), named("src/a/", 1)]
        );
        assert_eq!(sums(&[("ä/a", 1), ("å/a", 1)]), [named("ä/", 1), named("å/", 1)]);
        assert_eq!(sums(&[]), []);
    }

    #[test]
    fn what_is_too_much_to_be_remembered_makes_it_a_lower_bound() {
        let mut counts = PathCounts::default();
        (0..=REMEMBERED).for_each(|number| counts.add(format!("d/{number}").as_bytes(), 1));
        let remaining =
            counts.of_directories(REMEMBERED as u64 + 1, |path| String::from_utf8_lossy(path).into());
        assert!(remaining.at_least && remaining.by_directory.len() == DIRECTORIES);
    }

    #[test]
    fn the_fullest_files_are_named_and_the_others_summed() {
        let mut counts = PathCounts::default();
        (0..30).for_each(|number| counts.add(format!("d{}/{number:02}", number % 2).as_bytes(), 30 - number));
        counts.subtract(b"d0/00", 30);
        counts.subtract(b"d0/02", 8);
        counts.keep_from(b"d0/00");
        let remaining = counts.of_files(400, |path| String::from_utf8_lossy(path).into());
        assert_eq!((remaining.by_file.len(), remaining.at_least), (FILES, false));
        assert_eq!(remaining.by_file[0], PathCount::new("d1/01", 29));
        let sums: u64 = remaining.by_file.iter().chain(&remaining.by_directory).map(|of| of.count).sum();
        assert_eq!(sums, (1..=30).sum::<u64>() - 30 - 8);
    }
}
