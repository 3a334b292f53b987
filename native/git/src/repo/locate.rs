//! Where a repository is: its work tree, its own directory, the directory it shares with other work trees.
//!
//! All three must lie in the workspace. A repository above the workspace, or one whose `.git` file leads out of
//! it, is not used.

use crate::{
    fail::{GitError, GitResult},
    tree::dirs::{Dirs, join, split},
};
use beamai_port_tools::git::path::shown;
use beamai_workspace::{Workspace, WorkspacePath, decode_path, encode_path};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Longest `.git` or `commondir` file that is read.
const MAX_LINK: u64 = 4096;

/// A repository that lies in the workspace.
#[derive(Debug)]
pub(crate) struct RepoLocation {
    /// The work tree's directory, relative to the workspace; empty for the workspace itself.
    pub below: Vec<u8>,
    /// The work tree.
    pub root: WorkspacePath,
    /// The repository's own directory.
    pub git_dir: WorkspacePath,
    /// The directory with objects, branches and settings; most often the same.
    pub common_dir: WorkspacePath,
}

impl RepoLocation {
    /// A path of the workspace as a path of the work tree; empty for whatever is not below it.
    pub(crate) fn within(&self, path: &[u8]) -> Vec<u8> {
        let below = path.strip_prefix(self.below.as_slice()).unwrap_or_default();
        below.strip_prefix(b"/").unwrap_or(below).to_vec()
    }

    /// A path of the work tree as a path of the workspace.
    pub(crate) fn outside(&self, path: &[u8]) -> Vec<u8> {
        join(&self.below, path)
    }
}

/// The repository that a path of the workspace belongs to: the nearest work tree above it, or, where there is
/// none, the one that the path itself is. Without a path, the workspace's own.
pub(super) fn locate(workspace: &Workspace, path: Option<&[u8]>) -> GitResult<RepoLocation> {
    let mut dirs = Dirs::new(workspace.top().open_dir()?);
    let path = path.unwrap_or_default();
    for below in above(path).chain([path]) {
        if let Some(kind) = mark(&mut dirs, below) {
            return located(workspace, below, kind);
        }
    }
    Err(GitError::Unavailable(match path {
        [] => "the workspace is not a git repository (no .git at its top)".to_owned(),
        path => format!("neither {} nor a directory above it in the workspace has a .git", shown(path)),
    }))
}

/// The directories above a path, nearest first, the workspace itself last.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors((!path.is_empty()).then(|| split(path).0), |dir| {
        (!dir.is_empty()).then(|| split(dir).0)
    })
}

fn mark(dirs: &mut Dirs, below: &[u8]) -> Option<FileType> {
    let stat = dirs.lstat(&join(below, b".git")).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

fn located(workspace: &Workspace, below: &[u8], kind: FileType) -> GitResult<RepoLocation> {
    let root = workspace.top().join(Path::new(OsStr::from_bytes(below)));
    let dot_git = root.join(Path::new(".git"));
    let git_dir = match kind {
        FileType::RegularFile => link(workspace, &root, &dot_git, b"gitdir:")?,
        _ => dot_git,
    };
    let git_dir = inside(workspace, &git_dir, "the repository's directory")?;
    let common = git_dir.join(Path::new("commondir"));
    let common_dir = match common.stat() {
        Ok(_) => {
            let common = link(workspace, &git_dir, &common, b"")?;
            inside(workspace, &common, "the directory that its work trees share")?
        }
        Err(_) => git_dir.clone(),
    };
    Ok(RepoLocation { below: below.to_vec(), root, git_dir, common_dir })
}

/// The place that a file with one path in it names.
fn link(
    workspace: &Workspace,
    from: &WorkspacePath,
    file: &WorkspacePath,
    key: &[u8],
) -> GitResult<WorkspacePath> {
    let mut bytes = Vec::new();
    let (open, _) = file.open_file()?;
    let unreadable = |error| GitError::Unavailable(format!("{} cannot be read: {error}", file.display()));
    open.take(MAX_LINK).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = bytes.trim_ascii();
    let path = text.strip_prefix(key).map(<[u8]>::trim_ascii_start).filter(|path| !path.is_empty());
    let Some(path) = path else {
        return Err(GitError::Unavailable(format!("{} names no directory", file.display())));
    };
    let path = Path::new(OsStr::from_bytes(path));
    match path.is_absolute() {
        true => workspace.place(&encode_path(path)).map_err(|error| outside(file, &error.message)),
        false => Ok(from.join(path)),
    }
}

fn outside(file: &WorkspacePath, why: &str) -> GitError {
    GitError::Unavailable(format!("{} leads out of the workspace ({why})", file.display()))
}

/// The place with every link followed.
fn inside(workspace: &Workspace, place: &WorkspacePath, what: &str) -> GitResult<WorkspacePath> {
    let fail = |error: beamai_base::ToolError| {
        GitError::Unavailable(format!("{what} cannot be used: {}", error.message))
    };
    place.open_dir().map_err(fail)?;
    let resolved = decode_path(&place.resolved().map_err(fail)?);
    let relative: PathBuf = resolved.strip_prefix(workspace.path()).unwrap_or(&resolved).to_owned();
    Ok(workspace.top().join(&relative))
}
