//! Where a repository is: its work tree, its own directory, the directory it shares with other work trees.
//!
//! The work tree is the workspace, lies in it, or holds it. A `.git` file may name a repository anywhere, so it counts
//! only if what it names names this work tree back: whoever can write here cannot have made it say so.

use super::includes::setting;
use crate::{
    fail::{GitError, GitResult},
    tree::dirs::{Dirs, join, split},
};
use beamai_base::ToolError;
use beamai_port_tools::git::path::shown;
use beamai_workspace::{Workspace, WorkspacePath};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Longest `.git`, `gitdir` or `commondir` file that is read, in bytes.
const MAX_LINK: u64 = 4096;

/// A repository whose work tree is the workspace, lies in it, or holds it.
#[derive(Debug)]
pub(crate) struct RepoLocation {
    /// The work tree relative to the workspace; empty for the workspace itself and for one that holds it.
    below: Vec<u8>,
    /// The workspace relative to the work tree that holds it; empty otherwise.
    pub above: Vec<u8>,
    /// The work tree.
    pub root: WorkspacePath,
    /// The repository's own directory.
    pub git_dir: WorkspacePath,
    /// The directory with objects, branches and settings; most often the same.
    pub common_dir: WorkspacePath,
}

/// The directories of a repository.
struct GitDirs {
    own: WorkspacePath,
    common: WorkspacePath,
}

impl RepoLocation {
    /// A path of the workspace as a path of the work tree. What lies elsewhere stands for all of the work tree that is in
    /// the workspace.
    pub(crate) fn within(&self, path: &[u8]) -> Vec<u8> {
        let below = path.strip_prefix(self.below.as_slice()).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        match (self.above.as_slice(), below) {
            ([], below) => below.to_vec(),
            (above, []) => above.to_vec(),
            (above, below) => join(above, below),
        }
    }

    /// A path of the work tree as a path of the workspace; absolute where it is outside.
    pub(crate) fn outside(&self, path: &[u8]) -> Vec<u8> {
        if self.above.is_empty() {
            return join(&self.below, path);
        }
        match path.strip_prefix(self.above.as_slice()) {
            Some([]) => Vec::new(),
            Some([b'/', inside @ ..]) => inside.to_vec(),
            _ => join(self.root.absolute().as_os_str().as_bytes(), path),
        }
    }

    /// Whether a path of the work tree lies in the workspace.
    pub(crate) fn is_inside(&self, path: &[u8]) -> bool {
        crate::changes::is_below(path, &self.above)
    }
}

/// The repository that a path of the workspace belongs to: the nearest work tree above it, or, where there is
/// none, the one that the path itself is; at last one that holds the workspace. Without a path, the workspace's own.
pub(crate) fn locate(workspace: &Workspace, path: Option<&[u8]>) -> GitResult<RepoLocation> {
    let mut dirs = Dirs::new(workspace.top().open_dir()?);
    let path = path.unwrap_or_default();
    for below in above(path).chain([path]) {
        if let Some(kind) = mark(&mut dirs, below) {
            return located(workspace, below, Vec::new(), kind);
        }
    }
    if let Some(root) = holder(workspace.path()) {
        let outer = Workspace::open(root)?;
        let inside = workspace.path().strip_prefix(outer.path()).unwrap_or(Path::new(""));
        if let Some(kind) = mark(&mut Dirs::new(outer.top().open_dir()?), b"") {
            return located(&outer, b"", inside.as_os_str().as_bytes().to_vec(), kind);
        }
    }
    Err(GitError::Unavailable(match path {
        [] if is_bare(workspace) => {
            "the workspace is a bare repository, which has no files to compare".to_owned()
        }
        [] => "the workspace is not a git repository (no .git at its top or above it)".to_owned(),
        path => format!("neither {} nor a directory above it has a .git", shown(path)),
    }))
}

/// The nested repository that a path of the workspace lies in; `None` where it lies in the only one that there is.
///
/// # Errors
/// When the workspace cannot be opened.
pub(crate) fn nested(workspace: &Workspace, path: &[u8]) -> Result<Option<Vec<u8>>, ToolError> {
    let mut dirs = Dirs::new(workspace.top().open_dir()?);
    let found: Vec<&[u8]> = above(path).filter(|below| mark(&mut dirs, below).is_some()).collect();
    Ok(match found.as_slice() {
        [nearest, _, ..] => Some(nearest.to_vec()),
        [nearest] if !nearest.is_empty() && holder(workspace.path()).is_some() => Some(nearest.to_vec()),
        _ => None,
    })
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

/// The nearest directory above one, on the same file system, that has a `.git`. git looks no further either.
fn holder(workspace: &Path) -> Option<&Path> {
    let device = |path: &Path| path.symlink_metadata().ok().map(|found| found.dev());
    let own = device(workspace);
    let near = workspace.ancestors().skip(1).take_while(|dir| device(dir) == own);
    near.into_iter().find(|dir| dir.join(".git").symlink_metadata().is_ok())
}

fn is_bare(workspace: &Workspace) -> bool {
    let top = workspace.top();
    ["HEAD", "objects", "refs"].iter().all(|name| top.join(Path::new(name)).stat().is_ok())
}

fn located(tree: &Workspace, below: &[u8], above: Vec<u8>, kind: FileType) -> GitResult<RepoLocation> {
    let root = tree.top().join(Path::new(OsStr::from_bytes(below)));
    let dot_git = root.join(Path::new(".git"));
    let dirs = match kind {
        FileType::RegularFile => named(tree, &root, &dot_git)?,
        _ => own(tree, &dot_git)?,
    };
    Ok(RepoLocation { below: below.to_vec(), above, root, git_dir: dirs.own, common_dir: dirs.common })
}

/// A repository that is a directory of the work tree, or a link to one that is not outside.
fn own(tree: &Workspace, dot_git: &WorkspacePath) -> GitResult<GitDirs> {
    let what = "the repository's directory cannot be used";
    dot_git.open_dir().map_err(|error| refuse(what, &error.message))?;
    let resolved = dot_git.resolved().map_err(|error| refuse(what, &error.message))?;
    let own = tree.parse_path(&resolved)?;
    match own.join(Path::new("commondir")).stat() {
        Ok(_) => Err(refuse(&own.display(), "is a directory that names another one (commondir)")),
        Err(_) => Ok(GitDirs { common: own.clone(), own }),
    }
}

/// The repository that a `.git` file names, if that names the work tree back: a linked work tree by its `gitdir`, a
/// submodule by its setting `core.worktree`.
fn named(tree: &Workspace, root: &WorkspacePath, file: &WorkspacePath) -> GitResult<GitDirs> {
    let dir = real(&root.absolute(), &text(file, b"gitdir:")?, file)?;
    let own = Workspace::open(&dir).map_err(|error| refuse(&file.display(), &error.message))?;
    let common_file = own.top().join(Path::new("commondir"));
    let is_linked = common_file.stat().is_ok();
    let (common, back) = match is_linked {
        true => {
            let common = real(own.path(), &text(&common_file, b"")?, &common_file)?;
            let back = text(&own.top().join(Path::new("gitdir")), b"")?;
            (shared(&common, &own, file)?, back)
        }
        false => (own.clone(), setting(&own.top(), "config", b"core", b"worktree")?.unwrap_or_default()),
    };
    let expected = if is_linked { root.absolute().join(".git") } else { root.absolute() };
    let back = own.path().join(OsStr::from_bytes(&back)).canonicalize().ok();
    if back.is_none() || back != expected.canonicalize().ok() {
        let why = format!(
            "names {}, which does not name this work tree back; a person can say that they belong together with `git \
             worktree repair`, or for a repository that was moved apart with `git config core.worktree`",
            dir.display()
        );
        return Err(refuse(&file.display(), &why));
    }
    Ok(GitDirs { own: in_tree(tree, &common, own.path()), common: in_tree(tree, &common, common.path()) })
}

/// The directory that a linked work tree shares, if it keeps that work tree's own one.
fn shared(common: &Path, own: &Workspace, file: &WorkspacePath) -> GitResult<Workspace> {
    let common = Workspace::open(common).map_err(|error| refuse(&file.display(), &error.message))?;
    let name = own.path().strip_prefix(common.path().join("worktrees")).ok();
    let name = name.filter(|name| name.components().count() == 1);
    let kept = name.and_then(|name| common.top().join(&Path::new("worktrees").join(name)).stat().ok());
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    match kept.map(|kept| (kept.st_dev as u64, kept.st_ino as u64)) {
        Some(kept) if kept == (own.id().device, own.id().inode) => Ok(common),
        _ => Err(refuse(
            &file.display(),
            "names a directory that is not among the worktrees of its repository",
        )),
    }
}

/// A directory of a repository as a place: of the work tree where it lies in that, so that messages are short.
fn in_tree(tree: &Workspace, common: &Workspace, path: &Path) -> WorkspacePath {
    match path.strip_prefix(tree.path()) {
        Ok(inside) => tree.top().join(inside),
        Err(_) => common.top().join(path.strip_prefix(common.path()).unwrap_or(Path::new(""))),
    }
}

/// The path that a file with one path in it has.
fn text(file: &WorkspacePath, key: &[u8]) -> GitResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let unreadable = |why: &str| refuse(&file.display(), &format!("cannot be read: {why}"));
    let (open, _) = file.open_file().map_err(|error| unreadable(&error.message))?;
    open.take(MAX_LINK).read_to_end(&mut bytes).map_err(|error| unreadable(&error.to_string()))?;
    let text = bytes.trim_ascii();
    let path = text.strip_prefix(key).map(<[u8]>::trim_ascii_start).filter(|path| !path.is_empty());
    path.map(<[u8]>::to_vec).ok_or_else(|| refuse(&file.display(), "names no directory"))
}

/// A directory that a file names, every link followed.
fn real(from: &Path, path: &[u8], file: &WorkspacePath) -> GitResult<PathBuf> {
    let path = from.join(OsStr::from_bytes(path));
    let missing = |error| refuse(&file.display(), &format!("names {}: {error}", path.display()));
    path.canonicalize().map_err(missing)
}

fn refuse(what: &str, why: &str) -> GitError {
    GitError::Unavailable(format!("{what} {why}"))
}
