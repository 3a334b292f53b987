//! Locates a repository: its work tree, its git directory, and the common directory shared with other work trees.
//!
//! The work tree is the workspace, is inside of it, or contains it. A `.git` file may name a repository anywhere, so it
//! is accepted only if that repository refers back to this work tree; a process that can only write to the workspace
//! cannot forge that.

use super::includes::setting;
use crate::{
    fail::{GitError, GitResult},
    tree::{Dirs, join, split},
};
use beamai_base::ToolError;
use beamai_port_tools::git::path::shown;
use beamai_workspace::{Workspace, WorkspacePath};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic references behind each other, as in git.
pub const MOST_SYMBOLIC: usize = 5;
/// Maximum size of a `.git`, `gitdir` or `commondir` file, in bytes.
const MAX_LINK: u64 = 4096;

/// A repository whose work tree is the workspace, is inside of it, or contains it.
#[derive(Debug)]
pub struct RepoLocation {
    /// The work tree relative to the workspace; empty if it is the workspace or contains it.
    below: Vec<u8>,
    /// The workspace relative to the work tree that contains it; empty otherwise.
    pub above: Vec<u8>,
    /// The work tree.
    pub root: WorkspacePath,
    /// The git directory.
    pub git_dir: WorkspacePath,
    /// The directory with objects, branches and settings; usually the same.
    pub common_dir: WorkspacePath,
}

/// The directories of a repository.
struct GitDirs {
    own: WorkspacePath,
    common: WorkspacePath,
}

impl RepoLocation {
    /// Converts a path relative to the workspace to one relative to the work tree. Paths outside the work tree become
    /// the part of it that is in the workspace.
    pub fn within(&self, path: &[u8]) -> Vec<u8> {
        let below = path.strip_prefix(self.below.as_slice()).unwrap_or_default();
        let below = below.strip_prefix(b"/").unwrap_or(below);
        match (self.above.as_slice(), below) {
            ([], below) => below.to_vec(),
            (above, []) => above.to_vec(),
            (above, below) => join(above, below),
        }
    }

    /// Converts a path relative to the work tree to one relative to the workspace; absolute if it is outside.
    pub fn outside(&self, path: &[u8]) -> Vec<u8> {
        if self.above.is_empty() {
            return join(&self.below, path);
        }
        match path.strip_prefix(self.above.as_slice()) {
            Some([]) => Vec::new(),
            Some([b'/', inside @ ..]) => inside.to_vec(),
            _ => join(self.root.absolute().as_os_str().as_bytes(), path),
        }
    }

    /// The reference that `HEAD` names, such as `refs/heads/main`, or that other symbolic references name in turn;
    /// `None` if it names a commit, or cannot be read.
    pub fn branch(&self) -> Option<PathBuf> {
        let mut file = self.git_dir.join(Path::new("HEAD"));
        let mut branch: Option<PathBuf> = None;
        for _ in 0..MOST_SYMBOLIC {
            let Ok(name) = text(&file, b"ref:") else { break };
            let name = Path::new(OsStr::from_bytes(&name));
            branch = Some(name.to_owned());
            if !name.components().all(|part| matches!(part, Component::Normal(_))) {
                break;
            }
            file = self.common_dir.join(name);
        }
        branch
    }

    /// Whether `HEAD` names a branch, which is no symbolic reference itself.
    pub(super) fn is_on_branch(&self) -> bool {
        let head = text(&self.git_dir.join(Path::new("HEAD")), b"ref:").ok();
        let branch = self.branch();
        head.is_some_and(|name| {
            name.starts_with(b"refs/heads/") && branch.is_some_and(|end| end.as_os_str().as_bytes() == name)
        })
    }

    /// Fails if `HEAD` is not as git writes it: git and libgit2 do not skip the same white space.
    pub(super) fn expect_plain_head(&self) -> GitResult<()> {
        let file = self.git_dir.join(Path::new("HEAD"));
        let mut bytes = Vec::new();
        // libgit2 says what is wrong if there is none.
        let Ok((open, _)) = file.open_file() else { return Ok(()) };
        open.take(MAX_LINK)
            .read_to_end(&mut bytes)
            .map_err(|error| ToolError::io("read", file.display(), error))?;
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let is_plain = match line.strip_prefix(b"ref: ") {
            // With the format reftable, HEAD is elsewhere. libgit2 names the format.
            Some(b"refs/heads/.invalid") => true,
            Some(name) => {
                std::str::from_utf8(name).map_or(!name.contains(&b' '), git2::Reference::is_valid_name)
            }
            None => matches!(line.len(), 40 | 64) && line.iter().all(u8::is_ascii_hexdigit),
        };
        match is_plain {
            true => Ok(()),
            false => Err(refuse(&file.display(), "is not as git writes it, so it may be read in two ways")),
        }
    }

    /// Whether a path of the work tree is in the workspace.
    pub fn is_inside(&self, path: &[u8]) -> bool {
        crate::changes::is_below(path, &self.above)
    }
}

/// Finds the repository of a path: the nearest work tree above it, or else the path itself, or else a work tree that
/// contains the workspace. Without a path, the workspace's repository.
///
/// # Errors
/// [`GitError::Unavailable`] if there is no repository that may be used.
pub fn locate(workspace: &Workspace, path: Option<&[u8]>) -> GitResult<RepoLocation> {
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

/// The nested repository that contains a path; `None` if the path belongs to the workspace's repository.
///
/// # Errors
/// If the workspace cannot be opened.
pub fn nested(workspace: &Workspace, path: &[u8]) -> Result<Option<Vec<u8>>, ToolError> {
    let mut dirs = Dirs::new(workspace.top().open_dir()?);
    let found: Vec<&[u8]> = above(path).filter(|below| mark(&mut dirs, below).is_some()).collect();
    Ok(match found.as_slice() {
        [nearest, _, ..] => Some(nearest.to_vec()),
        [nearest] if !nearest.is_empty() && holder(workspace.path()).is_some() => Some(nearest.to_vec()),
        _ => None,
    })
}

/// The directories above a path, nearest first, ending with the workspace.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors((!path.is_empty()).then(|| split(path).0), |dir| {
        (!dir.is_empty()).then(|| split(dir).0)
    })
}

fn mark(dirs: &mut Dirs, below: &[u8]) -> Option<FileType> {
    let stat = dirs.lstat(&join(below, b".git")).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// The nearest directory above the workspace, on the same file system, that has a `.git`. git stops at file system
/// boundaries too.
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

/// A repository in a `.git` directory of the work tree.
fn own(tree: &Workspace, dot_git: &WorkspacePath) -> GitResult<GitDirs> {
    let what = "the repository's directory cannot be used";
    dot_git.open_dir().map_err(|error| refuse(what, &error.message))?;
    let resolved = dot_git.resolved().map_err(|error| refuse(what, &error.message))?;
    let own = tree.parse_path(&resolved)?;
    if own.absolute() != dot_git.absolute() {
        return Err(refuse(&dot_git.display(), "is a link, which only git itself follows"));
    }
    match own.join(Path::new("commondir")).stat() {
        Ok(_) => Err(refuse(&own.display(), "is a directory that names another one (commondir)")),
        Err(_) => Ok(GitDirs { common: own.clone(), own }),
    }
}

/// The repository that a `.git` file names, if it refers back to the work tree: by `gitdir` for a linked work tree, by
/// `core.worktree` for a submodule.
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
        false => (
            own.clone(),
            setting(&own.top().join(Path::new("config")), "core", "worktree")?.unwrap_or_default(),
        ),
    };
    let expected = if is_linked { root.absolute().join(".git") } else { root.absolute() };
    let back = own.path().join(OsStr::from_bytes(&back)).canonicalize().ok();
    if back.is_none() || back != expected.canonicalize().ok() {
        let why = format!(
            "names {}, which does not refer back to this work tree; a person can connect them with `git \
             worktree repair`, or with `git config core.worktree` if the repository was moved",
            dir.display()
        );
        return Err(refuse(&file.display(), &why));
    }
    Ok(GitDirs { own: in_tree(tree, &common, own.path()), common: in_tree(tree, &common, common.path()) })
}

/// The common directory of a linked work tree, if it lists that work tree.
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

/// A directory of a repository, expressed relative to the work tree if it is inside, so that messages are short.
fn in_tree(tree: &Workspace, common: &Workspace, path: &Path) -> WorkspacePath {
    match path.strip_prefix(tree.path()) {
        Ok(inside) => tree.top().join(inside),
        Err(_) => common.top().join(path.strip_prefix(common.path()).unwrap_or(Path::new(""))),
    }
}

/// The path in a file that contains nothing but a path.
fn text(file: &WorkspacePath, key: &[u8]) -> GitResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let unreadable = |why: &str| refuse(&file.display(), &format!("cannot be read: {why}"));
    let (open, _) = file.open_file().map_err(|error| unreadable(&error.message))?;
    open.take(MAX_LINK).read_to_end(&mut bytes).map_err(|error| unreadable(&error.to_string()))?;
    let text = bytes.trim_ascii();
    let path = text.strip_prefix(key).map(<[u8]>::trim_ascii_start).filter(|path| !path.is_empty());
    path.map(<[u8]>::to_vec).ok_or_else(|| refuse(&file.display(), "names no directory"))
}

/// The directory that a file names, with all links resolved.
fn real(from: &Path, path: &[u8], file: &WorkspacePath) -> GitResult<PathBuf> {
    let path = from.join(OsStr::from_bytes(path));
    let missing = |error| refuse(&file.display(), &format!("names {}: {error}", path.display()));
    path.canonicalize().map_err(missing)
}

fn refuse(what: &str, why: &str) -> GitError {
    GitError::Unavailable(format!("{what} {why}"))
}
