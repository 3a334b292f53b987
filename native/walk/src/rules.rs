//! Ignore files, with ripgrep's semantics.
//!
//! Precedence: `.rgignore`, `.ignore`, `.gitignore`, a repository's `.git/info/exclude`, git's global file; within a
//! kind, the file nearest to the name wins. Git's kinds apply only inside a repository, up to its top. Ignore files may
//! be hostile: a FIFO, a device or an endless line must not block the walk.

use crate::{Tally, globs};
use beamai_workspace::{ParentDir, Tree, open_entry};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Maximum size of an ignore file, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// The rules of a directory, nearest file first.
#[derive(Clone, Default)]
pub(super) struct IgnoreRules {
    rgignore: Vec<Arc<IgnoreFile>>,
    ignore: Vec<Arc<IgnoreFile>>,
    git: Vec<Arc<IgnoreFile>>,
    exclude: Option<Arc<IgnoreFile>>,
    global: Option<Arc<IgnoreFile>>,
    is_in_repository: bool,
}

struct IgnoreFile {
    matcher: Gitignore,
    /// Length of the prefix of absolute paths that the rules are relative to.
    skip: usize,
}

/// The match of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoreMatch {
    /// No rule matches.
    Silent,
    /// The name is excluded.
    Ignored,
    /// The name is included, even if it is hidden.
    Included,
}

/// Ignore files and repository markers of a directory.
#[derive(Clone, Copy, Default)]
pub(super) struct DirectoryMarkers {
    rgignore: bool,
    ignore: bool,
    gitignore: bool,
    git: Option<FileType>,
    jj: bool,
}

impl DirectoryMarkers {
    /// Records a name.
    pub(super) fn see(&mut self, name: &[u8], kind: FileType) {
        match name {
            b".rgignore" => self.rgignore = true,
            b".ignore" => self.ignore = true,
            b".gitignore" => self.gitignore = true,
            b".git" => self.git = Some(kind),
            b".jj" => self.jj = true,
            _ => {}
        }
    }

    fn are_none(self) -> bool {
        !(self.rgignore || self.ignore || self.gitignore || self.jj) && self.git.is_none()
    }
}

/// A directory with ignore files.
trait IgnoreFileDir {
    fn open(&self, name: &CStr) -> Result<(OwnedFd, Stat), Errno>;
}

struct SubdirectoryRules<'a> {
    tree: &'a Tree,
    dir: BorrowedFd<'a>,
    path: &'a [u8],
}

impl IgnoreFileDir for SubdirectoryRules<'_> {
    fn open(&self, name: &CStr) -> Result<(OwnedFd, Stat), Errno> {
        match open_entry(self.dir, name) {
            Err(Errno::LOOP) => self.tree.open_linked(&join(self.path, name.to_bytes())),
            other => other,
        }
    }
}

impl IgnoreFileDir for ParentDir {
    fn open(&self, name: &CStr) -> Result<(OwnedFd, Stat), Errno> {
        self.open_file(name)
    }
}

/// A path with a name behind it.
fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    match path {
        [] => name.to_vec(),
        path => [path, b"/", name].concat(),
    }
}

/// Reads ignore files for one tree.
pub(super) struct IgnoreRuleReader<'a> {
    tree: &'a Tree,
    /// Length of the tree's absolute path.
    stem: usize,
    global: OnceLock<Option<Arc<IgnoreFile>>>,
}

impl<'a> IgnoreRuleReader<'a> {
    pub(super) fn new(tree: &'a Tree, stem: usize) -> Self {
        Self { tree, stem, global: OnceLock::new() }
    }

    /// The rules from directories above the tree.
    pub(super) fn above(&self, tally: &mut Tally) -> Arc<IgnoreRules> {
        let mut rules = IgnoreRules::default();
        for above in self.tree.above().iter().rev() {
            // Probing costs as much as opening the file, so only git's marker is probed: it decides whether git's files
            // count.
            let git = above.has(c".git").then_some(FileType::Directory);
            let jj = git.is_none() && above.has(c".jj");
            let marks = DirectoryMarkers { rgignore: true, ignore: true, gitignore: true, git, jj };
            rules = self.extended(&rules, above, marks, above.path.as_os_str().len() + 1, tally);
        }
        Arc::new(rules)
    }

    /// The rules of a directory in the tree, given its parent's.
    pub(super) fn enter(
        &self,
        rules: &Arc<IgnoreRules>,
        dir: BorrowedFd<'_>,
        path: &[u8],
        marks: DirectoryMarkers,
        tally: &mut Tally,
    ) -> Arc<IgnoreRules> {
        if marks.are_none() {
            return Arc::clone(rules);
        }
        let below = if path.is_empty() { 0 } else { path.len() + 1 };
        let dir_of_rules = SubdirectoryRules { tree: self.tree, dir, path };
        Arc::new(self.extended(rules, &dir_of_rules, marks, self.stem + 1 + below, tally))
    }

    fn extended(
        &self,
        rules: &IgnoreRules,
        dir_of_rules: &impl IgnoreFileDir,
        marks: DirectoryMarkers,
        skip: usize,
        tally: &mut Tally,
    ) -> IgnoreRules {
        let mut rules = rules.clone();
        if marks.git.is_some() || marks.jj {
            rules.is_in_repository = true;
            rules.git.clear();
            rules.exclude = None;
            rules.global = self.global();
        }
        let mut read = |name: &CStr| {
            let matcher = read(dir_of_rules, name, tally)?;
            Some(Arc::new(IgnoreFile { matcher, skip }))
        };
        let mut add = |has: bool, name: &CStr, files: &mut Vec<_>| {
            if let Some(file) = has.then(|| read(name)).flatten() {
                files.insert(0, file);
            }
        };
        add(marks.rgignore, c".rgignore", &mut rules.rgignore);
        add(marks.ignore, c".ignore", &mut rules.ignore);
        add(marks.gitignore && rules.is_in_repository, c".gitignore", &mut rules.git);
        if marks.git == Some(FileType::Directory) {
            rules.exclude = read(c".git/info/exclude");
        }
        rules
    }

    /// Git's global ignore file, from the host's git configuration.
    fn global(&self) -> Option<Arc<IgnoreFile>> {
        let find = || {
            let (matcher, _) = GitignoreBuilder::new("").build_global();
            let skip = self.tree.workspace().as_os_str().len() + 1;
            (!matcher.is_empty()).then(|| Arc::new(IgnoreFile { matcher, skip }))
        };
        self.global.get_or_init(find).clone()
    }
}

/// The rules in an ignore file; `None` if it is missing or empty.
fn read(dir_of_rules: &impl IgnoreFileDir, name: &CStr, tally: &mut Tally) -> Option<Gitignore> {
    let (fd, stat) = match dir_of_rules.open(name) {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR) => return None,
        Err(_) => {
            tally.skipped.ignore_files += 1;
            return None;
        }
    };
    let mut bytes = Vec::new();
    let read = File::from(fd).take(MAX_BYTES).read_to_end(&mut bytes);
    if read.is_err() || u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_BYTES) {
        tally.skipped.ignore_files += 1;
        return None;
    }
    let (matcher, is_whole) = parse(&bytes);
    tally.skipped.ignore_files += u64::from(!is_whole);
    (!matcher.is_empty()).then_some(matcher)
}

/// The rules in an ignore file's content, and whether every line could be parsed.
fn parse(bytes: &[u8]) -> (Gitignore, bool) {
    let mut builder = GitignoreBuilder::new("");
    let mut is_whole = true;
    for line in bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).split(|byte| *byte == b'\n') {
        let added = match std::str::from_utf8(line) {
            Ok(line) => globs::is_simple(line) && builder.add_line(None, line).is_ok(),
            Err(_) => false,
        };
        is_whole &= added;
    }
    match builder.build() {
        Ok(matcher) => (matcher, is_whole),
        Err(_) => (Gitignore::empty(), false),
    }
}

impl IgnoreRules {
    /// The match of an absolute path.
    pub(super) fn verdict(&self, path: &[u8], is_dir: bool) -> IgnoreMatch {
        let one = |file: &Arc<IgnoreFile>| {
            let below = Path::new(OsStr::from_bytes(path.get(file.skip..)?));
            match file.matcher.matched(below, is_dir) {
                Match::None => None,
                Match::Ignore(_) => Some(IgnoreMatch::Ignored),
                Match::Whitelist(_) => Some(IgnoreMatch::Included),
            }
        };
        let first = |files: &[Arc<IgnoreFile>]| files.iter().find_map(one);
        first(&self.rgignore)
            .or_else(|| first(&self.ignore))
            .or_else(|| first(&self.git))
            .or_else(|| self.exclude.as_ref().and_then(one))
            .or_else(|| self.global.as_ref().and_then(one))
            .unwrap_or(IgnoreMatch::Silent)
    }
}
