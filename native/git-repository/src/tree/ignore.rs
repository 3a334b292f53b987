//! Ignore rules: `.gitignore` files, `.git/info/exclude`, the ignore file that settings name.

use super::dirs::{Dirs, join};
use super::pattern::GlobPattern;
use crate::call::GitCall;
use crate::fail::GitError;
use crate::repo::{LetterCase, PatternFile, Repo, open_host_file};
use beamai_base::{Reason, Result, ToolError};
use beamai_port_tools::git::path::shown;
use beamai_workspace::encode_path;
use rustix::io::Errno;
use std::io::Read;
use std::path::Path;

/// Maximum size of a pattern file.
pub(super) const MAX_BYTES: u64 = 4 << 20;

#[derive(Debug)]
struct IgnoreRule {
    glob: GlobPattern,
    /// The rule re-includes paths (`!pattern`).
    is_exception: bool,
    /// The rule applies to directories only.
    is_for_dirs: bool,
    /// The rule is matched against the last component only.
    is_for_names: bool,
}

/// The rules of one file, which apply below its directory.
#[derive(Debug, Default)]
pub(super) struct IgnoreLines {
    skip: usize,
    rules: Vec<IgnoreRule>,
}

/// The rules that apply in a directory.
#[derive(Debug)]
pub struct IgnoreStack {
    /// The rules of each directory, from the top to the current one.
    stack: Vec<IgnoreLines>,
    exclude: IgnoreLines,
    named: IgnoreLines,
    case: LetterCase,
}

impl IgnoreStack {
    /// The rules that apply to the whole repository.
    ///
    /// # Errors
    /// If the repository's settings name a file that cannot be read.
    pub fn new(repo: &Repo, cx: &GitCall) -> Result<Self> {
        let exclude = repo.shared("info/exclude")?;
        let named = repo.settings.excludes.as_ref().map_or(Ok(None), |file| named_file(repo, file, cx))?;
        let case = repo.settings.case;
        Ok(Self { stack: Vec::new(), exclude: rules(0, exclude, case), named: rules(0, named, case), case })
    }

    /// Enters a subdirectory and adds its rules.
    ///
    /// # Errors
    /// `too_large` for a file of more than 4 MiB.
    pub(super) fn enter(&mut self, dirs: &mut Dirs, dir: &[u8]) -> Result<()> {
        let skip = if dir.is_empty() { 0 } else { dir.len() + 1 };
        self.stack.push(rules(skip, file_in_tree(dirs, &join(dir, b".gitignore"))?, self.case));
        Ok(())
    }

    /// Enters a directory that has no rules.
    pub(super) fn enter_plain(&mut self) {
        self.stack.push(IgnoreLines::default());
    }

    /// Undoes the last [`IgnoreStack::enter`].
    pub(super) fn leave(&mut self) {
        self.stack.pop();
    }

    /// Whether a path in the current directory is ignored.
    pub(super) fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        let all = self.stack.iter().rev().chain([&self.exclude, &self.named]);
        all.filter_map(|rules| rules.verdict(path, is_dir)).next().unwrap_or(false)
    }

    /// Whether a directory or one of its parents is ignored. Leaves the current rules unchanged.
    pub(super) fn is_beneath_ignored(&mut self, dirs: &mut Dirs, path: &[u8]) -> Result<bool> {
        let stack = std::mem::take(&mut self.stack);
        let ignored = self.ignores_all(dirs, path, true);
        self.stack = stack;
        ignored
    }

    /// Whether a path or one of its parents is ignored.
    ///
    /// # Errors
    /// If files with ignore rules cannot be read.
    pub fn ignores_below(mut self, dirs: &mut Dirs, path: &[u8], is_dir: bool) -> Result<bool> {
        self.ignores_all(dirs, path, is_dir)
    }

    fn ignores_all(&mut self, dirs: &mut Dirs, path: &[u8], is_dir: bool) -> Result<bool> {
        self.enter(dirs, b"")?;
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            if self.ignores(&path[..at], true) {
                return Ok(true);
            }
            self.enter(dirs, &path[..at])?;
        }
        Ok(self.ignores(path, is_dir))
    }
}

impl IgnoreLines {
    pub(super) fn verdict(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let below = path.get(self.skip..)?;
        let name = super::dirs::split(below).1;
        let fits = |rule: &&IgnoreRule| {
            (is_dir || !rule.is_for_dirs) && rule.glob.matches(if rule.is_for_names { name } else { below })
        };
        self.rules.iter().rev().find(fits).map(|rule| !rule.is_exception)
    }
}

pub(super) fn rules(skip: usize, bytes: Option<Vec<u8>>, case: LetterCase) -> IgnoreLines {
    let bytes = bytes.unwrap_or_default();
    IgnoreLines { skip, rules: lines(&bytes).filter_map(|line| rule(line, case)).collect() }
}

/// The lines of a pattern file.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn rule(line: &[u8], case: LetterCase) -> Option<IgnoreRule> {
    let line = without_trailing_spaces(line);
    if line.first() == Some(&b'#') {
        return None;
    }
    let (is_exception, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
    let (is_for_dirs, line) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
    if line.is_empty() {
        return None;
    }
    let (is_for_names, glob) = anchored(line, case);
    Some(IgnoreRule { glob, is_exception, is_for_dirs, is_for_names })
}

/// Whether a pattern is matched against names only, and the compiled pattern.
pub(super) fn anchored(pattern: &[u8], case: LetterCase) -> (bool, GlobPattern) {
    let is_for_names = !pattern.contains(&b'/');
    (is_for_names, GlobPattern::new(pattern.strip_prefix(b"/").unwrap_or(pattern), case))
}

/// Strips trailing spaces that are not escaped by a backslash.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        at += if line[at] == b'\\' { 2 } else { 1 };
        if line[(at - 1).min(line.len() - 1)] != b' ' || (at >= 2 && line[at - 2] == b'\\') {
            end = at.min(line.len());
        }
    }
    &line[..end]
}

/// A pattern file in the work tree. Like git, ignores links and special files.
pub(super) fn file_in_tree(dirs: &mut Dirs, path: &[u8]) -> Result<Option<Vec<u8>>> {
    match dirs.open_file(path) {
        Ok((file, stat)) if u64::try_from(stat.st_size).unwrap_or(0) <= MAX_BYTES => Ok(all_of(file)),
        Ok(_) => {
            let message = format!("{} is larger than 4 MiB; make it smaller", shown(path));
            Err(ToolError::new(Reason::TooLarge, message).file(shown(path)))
        }
        Err(Errno::ACCESS | Errno::PERM) => Err(GitError::unreadable(shown(path))),
        Err(_) => Ok(None),
    }
}

/// The pattern file that a setting names; `None` if it does not exist.
///
/// # Errors
/// `access_denied`, and `needs_shell` if the repository's settings name one that cannot be read: without it, other
/// files would be staged than git stages, or other content.
pub(super) fn named_file(repo: &Repo, file: &PatternFile, cx: &GitCall) -> Result<Option<Vec<u8>>> {
    let root = repo.located.root.absolute();
    if file.is_hosts {
        return host_file(&root.join(&file.path), cx);
    }
    let inside = match file.path.strip_prefix(&root) {
        Ok(inside) => Ok(repo.located.root.join(inside)),
        Err(_) if file.path.is_relative() => Ok(repo.located.root.join(&file.path)),
        Err(_) => cx.workspace.parse_path(&encode_path(&file.path)),
    };
    let is_missing = |error: &ToolError| matches!(error.reason, Reason::NoSuchFile | Reason::NotADirectory);
    let read = match inside.and_then(|inside| inside.open_file()) {
        Ok((file, _)) => all_of(file),
        Err(error) if is_missing(&error) => return Ok(None),
        // The sandbox decides what is readable; without it, the repository's settings could name any file.
        Err(_) if cx.is_confined => {
            open_host_file(&root.join(&file.path)).ok().and_then(|(file, _)| all_of(file))
        }
        Err(_) => None,
    };
    read.map(Some).ok_or_else(|| {
        GitError::needs_shell(format!(
            "the repository's setting {} names {}, which this tool cannot read; use the shell tool for git",
            file.setting,
            file.path.display()
        ))
    })
}

/// A pattern file of the host; `None` if it does not exist.
///
/// # Errors
/// `access_denied`.
pub(super) fn host_file(path: &Path, cx: &GitCall) -> Result<Option<Vec<u8>>> {
    match open_host_file(path) {
        Ok((file, _)) => Ok(all_of(file)),
        Err(failure) if cx.host.is_absent(path, failure) => Ok(None),
        Err(_) => Err(GitError::unreadable(path.display())),
    }
}

/// The content of a file, up to the limit.
pub(super) fn all_of(file: std::fs::File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_at_the_end_count_only_behind_a_backslash() {
        assert_eq!(without_trailing_spaces(b"a  "), b"a");
        assert_eq!(without_trailing_spaces(b"a\\  "), b"a\\ ");
        assert_eq!(without_trailing_spaces(b"a b"), b"a b");
        assert_eq!(without_trailing_spaces(b"  "), b"");
        assert_eq!(without_trailing_spaces(b"a\\"), b"a\\");
    }

    #[test]
    fn the_last_rule_that_fits_decides() {
        let text = b"*.o\n!keep.o\n/top\ndir/\n# no\n\\#yes".to_vec();
        let rules = rules(0, Some(text), LetterCase::Counts);
        assert_eq!(rules.verdict(b"a/x.o", false), Some(true));
        assert_eq!(rules.verdict(b"a/keep.o", false), Some(false));
        assert_eq!(rules.verdict(b"top", false), Some(true));
        assert_eq!(rules.verdict(b"a/top", false), None);
        assert_eq!(rules.verdict(b"a/dir", true), Some(true));
        assert_eq!(rules.verdict(b"a/dir", false), None);
        assert_eq!(rules.verdict(b"#yes", false), Some(true));
    }
}
