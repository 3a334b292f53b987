//! Finds untracked files.

use super::content::{SUBMODULE, failed};
use super::dirs::{DirEntries, Dirs, join};
use super::ignore::IgnoreStack;
use crate::call::GitCall;
use crate::{
    fail::GitResult,
    repo::{Repo, Untracked},
};
use beamai_port_tools::git::path::shown;
use git2::IndexEntry;
use rustix::fs::FileType;
use rustix::io::Errno;

/// The state of a search for untracked files.
pub struct UntrackedFinder<'r> {
    cx: &'r GitCall,
    dirs: Dirs,
    entries: &'r [IndexEntry],
    ignores: IgnoreStack,
    mode: Untracked,
    /// Paths found; directories and nested repositories end with a slash.
    found: Vec<Vec<u8>>,
    notes: Vec<String>,
}

/// Untracked paths, and notes on what could not be read.
pub type UntrackedFiles = (Vec<Vec<u8>>, Vec<String>);

impl<'r> UntrackedFinder<'r> {
    /// A search of a repository's work tree.
    ///
    /// # Errors
    /// If files with ignore rules cannot be read.
    pub fn new(
        repo: &'r Repo,
        entries: &'r [IndexEntry],
        mode: Untracked,
        cx: &'r GitCall,
    ) -> GitResult<Self> {
        let (dirs, ignores) = (repo.dirs(cx)?, IgnoreStack::new(repo, cx)?);
        Ok(Self { cx, dirs, entries, ignores, mode, found: Vec::new(), notes: Vec::new() })
    }

    /// The untracked paths below a directory, sorted.
    ///
    /// # Errors
    /// If directories cannot be read, and `cancelled` and `timeout`.
    pub fn find(mut self, below: &[u8]) -> GitResult<UntrackedFiles> {
        if self.mode == Untracked::No {
            return Ok((self.found, self.notes));
        }
        if !below.is_empty() && self.ignores.is_beneath_ignored(&mut self.dirs, below)? {
            return Ok((self.found, self.notes));
        }
        if !below.is_empty() {
            self.ignores.enter(&mut self.dirs, b"")?;
        }
        for (at, _) in below.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.ignores.enter(&mut self.dirs, &below[..at])?;
        }
        let any = self.visit(below)?;
        if any && self.mode == Untracked::Normal && !self.has_tracked(below) {
            self.found = vec![[below, b"/"].concat()];
        }
        self.found.sort();
        Ok((self.found, self.notes))
    }

    /// Adds the untracked files in a directory. Returns whether there were any.
    fn visit(&mut self, dir: &[u8]) -> GitResult<bool> {
        self.cx.check()?;
        let Some(names) = self.list(dir)? else { return Ok(false) };
        match names.iter().any(|(name, _)| name == b".gitignore") {
            true => self.ignores.enter(&mut self.dirs, dir)?,
            false => self.ignores.enter_plain(),
        }
        let mut any = false;
        for (name, kind) in names.iter().filter(|(name, _)| name != b".git") {
            any |= self.entry(join(dir, name), *kind)?;
            if any && self.mode == Untracked::Normal && !self.has_tracked(dir) {
                break;
            }
        }
        self.ignores.leave();
        Ok(any)
    }

    fn list(&mut self, dir: &[u8]) -> GitResult<Option<DirEntries>> {
        match self.dirs.list(dir) {
            Ok(names) => Ok(Some(names)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error @ (Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG)) => {
                let why = if error == Errno::NAMETOOLONG { "too deep" } else { "not permitted" };
                self.notes.push(format!("{}: {why} to look into it", shown(dir)));
                Ok(None)
            }
            Err(error) => Err(failed("list directory", dir, error).into()),
        }
    }

    fn entry(&mut self, path: Vec<u8>, kind: FileType) -> GitResult<bool> {
        match kind {
            FileType::Directory => self.directory(path),
            FileType::RegularFile | FileType::Symlink => {
                let is_new = !self.is_tracked(&path) && !self.ignores.ignores(&path, false);
                if is_new {
                    self.found.push(path);
                }
                Ok(is_new)
            }
            _ => Ok(false),
        }
    }

    fn directory(&mut self, path: Vec<u8>) -> GitResult<bool> {
        if self.is_submodule(&path) {
            return Ok(false);
        }
        let has_tracked = self.has_tracked(&path);
        if self.ignores.ignores(&path, true) {
            return Ok(false);
        }
        if has_tracked {
            return self.visit(&path);
        }
        let before = self.found.len();
        let any = self.is_repository(&path) || self.visit(&path)?;
        let is_one = any && (self.mode == Untracked::Normal || self.found.len() == before);
        if is_one {
            self.found.truncate(before);
            // Like git, do not list a directory that replaces a tracked file.
            if !self.is_tracked(&path) || self.mode == Untracked::All {
                self.found.push([&path[..], b"/"].concat());
            }
        }
        Ok(any)
    }

    fn at(&self, path: &[u8]) -> usize {
        self.entries.partition_point(|entry| entry.path.as_slice() < path)
    }

    fn is_tracked(&self, path: &[u8]) -> bool {
        self.entries.get(self.at(path)).is_some_and(|entry| entry.path == path)
    }

    fn is_submodule(&self, path: &[u8]) -> bool {
        self.entries.get(self.at(path)).is_some_and(|entry| entry.path == path && entry.mode == SUBMODULE)
    }

    fn has_tracked(&self, dir: &[u8]) -> bool {
        let below = [dir, b"/"].concat();
        dir.is_empty()
            || self.entries.get(self.at(&below)).is_some_and(|entry| entry.path.starts_with(&below))
    }

    fn is_repository(&mut self, path: &[u8]) -> bool {
        let git = join(path, b".git");
        match self.dirs.lstat(&git).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Directory) => self.dirs.lstat(&join(&git, b"HEAD")).is_ok(),
            Ok(FileType::RegularFile) => true,
            _ => false,
        }
    }
}
