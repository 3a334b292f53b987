//! Patterns of commands with wildcards.

use super::arguments::Arguments;
use super::words::Certainty;
use crate::bytes;
use beamai_bash_reader::system_name;
use beamai_path_rules::{check_classes, clean};
use globset::{Glob, GlobMatcher};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The words of a pattern with wildcards, compiled.
#[derive(Debug, Clone)]
pub(super) struct CommandGlob {
    /// For deny and ask rules: the words joined with spaces.
    wide: GlobMatcher,
    /// For allow rules: the words kept apart.
    strict: GlobMatcher,
    /// The first word alone.
    named: GlobMatcher,
    /// Its text.
    name: String,
}

/// The characters that begin a wildcard, and the one that escapes them.
const WILDCARDS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The boundary of words in a strict glob: the unit separator, which no word of an allowed command has.
pub(super) const BOUNDARY: &str = "\u{1f}";

impl CommandGlob {
    /// The pattern of these words.
    ///
    /// # Errors
    /// The problem, as the end of a sentence.
    pub(super) fn new(words: &[String]) -> Result<Self, String> {
        words.iter().try_for_each(|word| check_classes(word))?;
        let compiled = |text: &str| match Glob::new(text) {
            Ok(glob) => Ok(glob.compile_matcher()),
            Err(error) => Err(error.kind().to_string()),
        };
        let apart = words.iter().map(|word| within_word(word)).collect::<Vec<_>>().join(BOUNDARY);
        let (wide, strict, named) = (compiled(&words.join(" "))?, compiled(&apart)?, compiled(&words[0])?);
        Ok(Self { wide, strict, named, name: words[0].clone() })
    }

    /// All words.
    pub(super) fn text(&self) -> &str {
        self.wide.glob().glob()
    }

    /// The first word, if it has no wildcards.
    pub(super) fn name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.contains(WILDCARDS))
    }

    /// Words that it matches, without a last one that is `*`; `None` if there are other wildcards than words that are `*`.
    pub(super) fn sample(&self) -> Option<Vec<String>> {
        let text = self.text();
        let words = text.strip_suffix(" *").unwrap_or(text).split(' ');
        let sample = words.map(|word| match word {
            "*" => Some("1".to_owned()),
            word => (!word.contains(WILDCARDS)).then(|| word.to_owned()),
        });
        self.name().and_then(|_| sample.collect())
    }

    /// Whether it can match a program by its path.
    pub(super) fn may_name_paths(&self) -> bool {
        self.name.contains('/') || self.name.starts_with('*')
    }

    /// If its program is a path with wildcards: the same with the absolute paths that this means in `top`, as named and
    /// without links.
    pub(super) fn absolute(&self, top: &Path) -> Vec<Self> {
        if !self.name.contains('/') || self.name().is_some() {
            return Vec::new();
        }
        let (directory, rest) = split_at_wildcard(&self.name);
        let directory = clean(&top.join(directory));
        let real = directory.canonicalize().ok().filter(|real| *real != directory);
        let with_name = |of: &GlobMatcher, own: &str, new: &str| {
            let arguments = &of.glob().glob()[own.len()..];
            Some(Glob::new(&format!("{new}{arguments}")).ok()?.compile_matcher())
        };
        let absolute = |directory: PathBuf| {
            let directory = escaped(&directory.to_string_lossy());
            let name = clean(&Path::new(&directory).join(rest)).to_string_lossy().into_owned();
            Some(Self {
                wide: with_name(&self.wide, &self.name, &name)?,
                strict: with_name(&self.strict, &within_word(&self.name), &within_word(&name))?,
                named: Glob::new(&name).ok()?.compile_matcher(),
                name,
            })
        };
        [Some(directory), real].into_iter().flatten().filter_map(absolute).collect()
    }

    /// For allow rules: whether it certainly matches a program.
    pub(super) fn allows(&self, name: &str, arguments: &Arguments) -> bool {
        let name = system_name(name).unwrap_or(name);
        // Unknown text may have any length, so the glob has to match with none and with some of it.
        let matches = |rest: &OsString| self.strict.is_match(joined(name, rest, ""));
        !name.contains(BOUNDARY)
            && !self.climbs(name)
            && arguments.apart().is_some_and(|all| all.iter().all(matches))
    }

    /// Whether a path has a `..` behind the directory that the pattern names without wildcards. To a wildcard, any path
    /// of the machine can be written as one that begins with that directory.
    fn climbs(&self, path: &str) -> bool {
        let named = split_at_wildcard(&self.name).0.matches('/').count();
        path.split('/').skip(named).any(|name| name == "..")
    }

    /// For deny and ask rules: whether it matches a program with one of these names.
    pub(super) fn holds(&self, names: [&str; 2], arguments: &Arguments) -> Certainty {
        let may_be_named = || self.name.contains('*') || names.iter().any(|name| self.named.is_match(name));
        // At the end, `*` is also about no further word.
        let end = if self.text().ends_with(" *") { " " } else { "" };
        let matches = |name: &&str| self.wide.is_match(joined(name, arguments.spaced(), end));
        match names.iter().any(matches) {
            true => Certainty::Surely,
            false if may_be_named() && !arguments.are_known() => Certainty::Maybe,
            false => Certainty::No,
        }
    }
}

fn joined(name: &str, rest: &OsStr, end: &str) -> OsString {
    let mut text = bytes::word(name);
    text.push(rest);
    text.push(end);
    text
}

/// A glob in which `?` and negated classes do not match the boundary of words.
fn within_word(glob: &str) -> String {
    let mut within = String::with_capacity(glob.len());
    let mut chars = glob.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => within.extend([char].into_iter().chain(chars.next())),
            '?' => within.push_str(&format!("[!{BOUNDARY}]")),
            '[' if chars.next_if(|next| matches!(next, '!' | '^')).is_some() => {
                within.push_str("[!");
                within.extend(chars.next());
                within.push_str(BOUNDARY);
            }
            char => within.push(char),
        }
    }
    within
}

/// A text as a glob that matches it alone.
fn escaped(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for char in text.chars() {
        glob.extend("*?[]{}!\\".contains(char).then_some('\\'));
        glob.push(char);
    }
    glob
}

/// The directory before the first wildcard of a glob, without escapes, and the rest of the glob.
fn split_at_wildcard(glob: &str) -> (String, &str) {
    let (mut directory, mut name, mut rest) = (String::new(), String::new(), glob);
    let mut chars = glob.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => name.extend(chars.next()),
            char if WILDCARDS.contains(&char) => break,
            char => name.push(char),
        }
        if char == '/' {
            directory.push_str(&std::mem::take(&mut name));
            rest = chars.as_str();
        }
    }
    (directory, rest)
}
