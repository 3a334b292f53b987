//! Checks a repository's own directory before libgit2 uses it.
//!
//! libgit2 works with paths: it would follow a link in `.git` anywhere, to files that rules deny and also for writing,
//! and block on a FIFO. A repository with links, FIFOs or device files is therefore refused. So are objects borrowed
//! from another repository, and settings included from outside. Somebody can make a link after this check. In the
//! sandbox, the Linux kernel then keeps libgit2 from following it (with mounts), and from reading what rules deny.

use super::includes;
use super::locate::RepoLocation;
use crate::call::GitCall;
use crate::{
    fail::{GitError, GitResult},
    tree::{DirEntries, Dirs, join},
};
use beamai_workspace::WorkspacePath;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories in a repository that libgit2 uses. Hooks are never run, and the repositories of submodules and linked
/// work trees are checked separately.
const ENTERED: [&[u8]; 7] =
    [b"objects", b"refs", b"logs", b"info", b"rebase-merge", b"rebase-apply", b"sequencer"];

/// Names that often are links and that libgit2 never opens.
const NEVER_OPENED: [&[u8]; 3] = [b"hooks", b"lfs", b"annex"];

/// Fails if the repository's own directory is not safe to use, or lies where rules deny reading.
pub(super) fn check(located: &RepoLocation, cx: &GitCall) -> GitResult<()> {
    permitted(located, cx)?;
    directory(&located.git_dir, cx)?;
    if located.common_dir.display() != located.git_dir.display() {
        directory(&located.common_dir, cx)?;
    }
    let alternates = located.common_dir.join(Path::new("objects/info/alternates"));
    if alternates.stat().is_ok_and(|stat| stat.st_size > 0) {
        let why = "its objects lie in another repository (.git/objects/info/alternates)";
        return Err(GitError::Unavailable(why.to_owned()));
    }
    for (dir, name) in [(&located.common_dir, "config"), (&located.git_dir, "config.worktree")] {
        includes::check(&dir.join(Path::new(name)), located, &cx.workspace.without_temp())?;
    }
    Ok(())
}

/// Rules hold for a directory that the work tree names, by a link or a file. Its own `.git` is what the tools are about.
fn permitted(located: &RepoLocation, cx: &GitCall) -> GitResult<()> {
    let own = located.root.absolute().join(".git");
    let elsewhere: Vec<_> = [&located.git_dir, &located.common_dir]
        .into_iter()
        .map(WorkspacePath::absolute)
        .filter(|path| !path.starts_with(&own))
        .collect();
    let seen = |path: &PathBuf| {
        path.strip_prefix(cx.workspace.path()).unwrap_or(path).as_os_str().as_bytes().to_vec()
    };
    let denied = cx.denied.of(&elsewhere.iter().map(seen).collect::<Vec<_>>())?;
    match elsewhere.iter().zip(denied).find(|(_, denied)| *denied) {
        Some((path, _)) => {
            let why = format!(
                "its own directory is {}, which the permissions keep from being read",
                path.display()
            );
            Err(GitError::Unavailable(why))
        }
        None => Ok(()),
    }
}

fn directory(git_dir: &WorkspacePath, cx: &GitCall) -> GitResult<()> {
    let mut walk = GitDirCheck { git_dir, dirs: Dirs::new(git_dir.open_dir()?), cx };
    let top = walk.list(b"")?;
    for (name, kind) in &top {
        match kind {
            // By far the largest part of a repository, so most of it is not worth walking if the process is confined: links
            // cannot lead to what it must not read, and a process that blocks is killed.
            FileType::Directory if cx.is_confined && name == b"objects" => {
                walk.below(b"objects/info")?;
                walk.below(b"objects/pack")?;
            }
            FileType::Directory if !ENTERED.contains(&name.as_slice()) => {}
            FileType::Directory => walk.below(name)?,
            FileType::Symlink if NEVER_OPENED.contains(&name.as_slice()) => {}
            _ => walk.file(name, *kind)?,
        }
    }
    Ok(())
}

struct GitDirCheck<'a> {
    git_dir: &'a WorkspacePath,
    dirs: Dirs,
    cx: &'a GitCall,
}

impl GitDirCheck<'_> {
    fn list(&mut self, path: &[u8]) -> GitResult<DirEntries> {
        self.cx.check()?;
        match self.dirs.list(path) {
            // It was removed in the meantime.
            Err(Errno::NOENT) => Ok(Vec::new()),
            Err(error) => Err(self.git_dir.join(to_path(path)).error("list directory", error).into()),
            Ok(names) => Ok(names),
        }
    }

    fn below(&mut self, path: &[u8]) -> GitResult<()> {
        for (name, kind) in self.list(path)? {
            let path = join(path, &name);
            match kind {
                FileType::Directory => self.below(&path)?,
                _ => self.file(&path, kind)?,
            }
        }
        Ok(())
    }

    fn file(&self, path: &[u8], kind: FileType) -> GitResult<()> {
        let git_dir = self.git_dir.join(to_path(path));
        let refuse = |why: &str| Err(GitError::Unavailable(format!("{} {why}", git_dir.display())));
        match kind {
            FileType::Symlink => refuse("is a link, which only git itself follows"),
            FileType::Fifo | FileType::CharacterDevice | FileType::BlockDevice => refuse("is not a file"),
            _ => Ok(()),
        }
    }
}

fn to_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}
