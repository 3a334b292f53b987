//! What a search covered, what it left out, and why.

mod for_model;

pub use for_model::{note_left_out, note_rest};

use beamai_base::ToolError;
use rustix::fs::FileType;
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Separates a note from the reasons for what was left out.
const LEFT_OUT: &str = "; left out: ";
/// Separates a note from an example of what could not be read.
const EXAMPLE: &str = "; for example: ";
/// Maximum number of binary files that are named.
const NAMED: usize = 3;

/// How much of the requested scope was searched.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchCoverage {
    /// Files searched: for a listing the entries, for a glob the names, for a grep the contents.
    pub searched: u64,
    /// How much was left out, by reason. A directory that was not entered counts once.
    pub skipped: Skipped,
    /// How many of the hidden ones are directories of git, which nobody means; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub git_directories: u64,
    /// The first binary files by name, up to three; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub binary_files: Vec<String>,
    /// False when something in scope could not be searched: totals are a lower bound then.
    pub complete: bool,
    /// The same as one sentence.
    pub note: String,
}

/// Entries left out of a search, by reason; reasons without entries are not listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Excluded by .gitignore, .ignore, .rgignore or git's own exclude files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ignored: u64,
    /// Name begins with a dot.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden: u64,
    /// Denied by a permission rule, or known to hold secrets.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u64,
    /// Symbolic links, which are not followed: those that match, and those to directories that might contain matches.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub links: u64,
    /// FIFOs, sockets and devices.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub special: u64,
    /// Binary files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub binary: u64,
    /// Files too large to search, and files with lines that are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_large: u64,
    /// Files and directories that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// Ignore files that could not be read completely: files that they exclude may have been searched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ignore_files: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whether an answer may suggest arguments. Tool bindings that lack some of the operation's parameters suggest none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hints {
    /// Suggestions are given.
    #[default]
    Given,
    /// No suggestions.
    Withheld,
}

impl Hints {
    /// The hint, or an empty string.
    pub fn or_nothing(self, hint: &str) -> &str {
        if self == Self::Given { hint } else { "" }
    }
}

/// Counts of one thread of a search.
#[derive(Debug, Default)]
pub struct Tally {
    /// Files searched.
    pub searched: u64,
    /// What was left out.
    pub skipped: Skipped,
    /// How many of the hidden ones are directories of git.
    pub git_directories: u64,
    /// The first binary files, in sort order.
    binary_files: BTreeSet<String>,
    /// The first path, in sort order, that could not be read, and why.
    problem: Option<(String, String)>,
}

impl Tally {
    /// Whether an entry is a regular file; links and special files are counted as skipped.
    pub fn is_file(&mut self, kind: FileType) -> bool {
        match kind {
            FileType::RegularFile => return true,
            FileType::Symlink => self.skipped.links += 1,
            _ => self.skipped.special += 1,
        }
        false
    }

    /// Counts an entry that could not be opened or read; one that is not a regular file is counted by its type.
    pub fn failed(&mut self, path: String, error: Errno) {
        match error {
            Errno::LOOP => self.skipped.links += 1,
            Errno::NXIO | Errno::INVAL => self.skipped.special += 1,
            Errno::STALE => {
                let why =
                    format!("{path} was moved during the search, so permission rules could not be checked");
                self.skipped.unreadable += 1;
                self.remember(path, why);
            }
            _ => {
                let why = ToolError::io("read", &path, error).message;
                self.skipped.unreadable += 1;
                self.remember(path, why);
            }
        }
    }

    /// Counts a binary file.
    pub fn binary(&mut self, path: String) {
        self.skipped.binary += 1;
        self.name_binary(path);
    }

    fn name_binary(&mut self, path: String) {
        self.binary_files.insert(path);
        if self.binary_files.len() > NAMED {
            self.binary_files.pop_last();
        }
    }

    /// Counts a file that is too large.
    pub fn too_large(&mut self, path: String, why: String) {
        self.skipped.too_large += 1;
        self.remember(path, why);
    }

    fn remember(&mut self, path: String, why: String) {
        if self.problem.as_ref().is_none_or(|(first, _)| path < *first) {
            self.problem = Some((path, why));
        }
    }

    /// Adds the counts of another thread.
    pub fn add(&mut self, other: Self) {
        self.searched += other.searched;
        self.git_directories += other.git_directories;
        let (mine, theirs) = (&mut self.skipped, other.skipped);
        mine.ignored += theirs.ignored;
        mine.hidden += theirs.hidden;
        mine.denied += theirs.denied;
        mine.links += theirs.links;
        mine.special += theirs.special;
        mine.binary += theirs.binary;
        mine.too_large += theirs.too_large;
        mine.unreadable += theirs.unreadable;
        mine.ignore_files += theirs.ignore_files;
        other.binary_files.into_iter().for_each(|path| self.name_binary(path));
        if let Some((path, why)) = other.problem {
            self.remember(path, why);
        }
    }

    /// The counts as a result shows them; the note begins with `what`, the work done.
    pub fn coverage(&self, what: String, hints: Hints) -> SearchCoverage {
        let skipped = self.skipped;
        let mut note = what;
        let binary_files: Vec<String> = self.binary_files.iter().cloned().collect();
        let left_out = skipped.in_words(hints, &binary_files);
        if !left_out.is_empty() {
            note = format!("{note}{LEFT_OUT}{}", left_out.join(", "));
        }
        if let Some((_, why)) = &self.problem {
            note = format!("{note}{EXAMPLE}{why}");
        }
        let complete = skipped.unreadable == 0 && skipped.too_large == 0;
        SearchCoverage {
            searched: self.searched,
            skipped,
            git_directories: self.git_directories,
            binary_files,
            complete,
            note,
        }
    }
}

impl Skipped {
    fn in_words(self, hints: Hints, binary_files: &[String]) -> Vec<String> {
        let binary = named(binary_files, self.binary);
        let reasons = [
            (self.ignored, "ignored", " (ignored: true includes them)"),
            (self.hidden, "hidden", " (hidden: true includes them)"),
            (self.denied, "under permission rules or kept as secrets", ""),
            (self.links, "symbolic links, not followed", " (a link given as path is)"),
            (self.special, "special files", ""),
            (self.binary, binary.as_str(), ""),
            (self.too_large, "too large", ""),
            (self.unreadable, "unreadable", ""),
            (self.ignore_files, "ignore files not applied in full", ""),
        ];
        let named = reasons.into_iter().filter(|(count, ..)| *count > 0);
        named.map(|(count, reason, hint)| format!("{count} {reason}{}", hints.or_nothing(hint))).collect()
    }
}

/// "binary", and the names of such files.
fn named(files: &[String], count: u64) -> String {
    match (files, count > files.len() as u64) {
        ([], _) => "binary".to_owned(),
        (_, true) => format!("binary ({}, …)", files.join(", ")),
        (_, false) => format!("binary ({})", files.join(", ")),
    }
}

/// A number with a noun in singular or plural.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
