//! A directory to walk: everything beneath it is opened by handle, without following links.
//!
//! Names come from listed handles, so a directory that is replaced by a link during the walk is rejected rather than
//! entered. Above the tree only ignore files are read, by climbing from the handle.

use super::{Access, PinnedRoot, WorkspacePath, location, path, resolve};
use beamai_base::{Reason, Result, ToolError};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A directory pinned for a walk.
#[derive(Debug)]
pub struct Tree {
    dir: OwnedFd,
    root: Arc<PinnedRoot>,
    /// The directory beneath the root, links resolved; empty for the root itself.
    base: PathBuf,
    is_temp: bool,
    /// The absolute path that rules were checked against, if there are rules: opened files must be beneath it.
    judged: Option<Vec<u8>>,
}

/// A directory above a tree.
#[derive(Debug)]
pub struct ParentDir {
    /// Its handle; usable for opens beneath it, not for listing.
    pub dir: OwnedFd,
    /// Its absolute path without a trailing slash; empty for the root of the file system.
    pub path: PathBuf,
}

impl WorkspacePath {
    /// Pins the directory for a walk.
    ///
    /// # Errors
    /// `no_such_file`, `not_a_directory`, `outside_workspace`, `access_denied` or `io`.
    pub fn tree(&self) -> Result<Tree> {
        let (dir, base) =
            resolve::open_located(&self.root.anchor(), &self.relative, READ | OFlags::DIRECTORY)
                .map_err(|error| self.no_tree(error))?;
        self.check_real(Access::List, &base)?;
        let base = if base == Path::new(".") { PathBuf::new() } else { base };
        let (root, is_temp) = (Arc::clone(&self.root), self.is_temp);
        let judged = match self.is_guarded() {
            true => {
                location::absolute(&self.root.anchor(), &base).map_err(|error| self.error("find", error))?
            }
            false => None,
        };
        Ok(Tree { dir, root, base, is_temp, judged })
    }

    fn no_tree(&self, error: Errno) -> ToolError {
        let shown = self.display();
        match (error, self.stat()) {
            (Errno::NOTDIR, Ok(stat)) => {
                let kind = super::kind_name(FileType::from_raw_mode(stat.st_mode));
                let message = format!("{shown} is a {kind}, not a directory; name the directory it is in");
                ToolError::new(Reason::NotADirectory, message).file(shown)
            }
            _ => self.error("open directory", error),
        }
    }
}

impl Tree {
    /// Absolute path of the directory, links resolved, without a trailing slash.
    pub fn path(&self) -> PathBuf {
        without_slash(&self.root.path.join(&self.base))
    }

    /// Absolute path of the workspace that the directory is in, without a trailing slash.
    pub fn workspace(&self) -> PathBuf {
        without_slash(&self.root.path)
    }

    /// A path beneath the directory, as results show it.
    pub fn display(&self, below: &[u8]) -> String {
        let base = if self.is_temp { &self.path() } else { &self.base };
        let base = base.as_os_str().as_bytes();
        path::encode_bytes(match (base, below) {
            (b"", b"") => b".".to_vec(),
            (b"", below) if !self.is_temp => below.to_vec(),
            (base, b"") => base.to_vec(),
            (base, below) => [base, b"/", below].concat(),
        })
    }

    /// The bytes of a path beneath the directory: relative to the workspace, absolute in the temporary directory.
    pub fn inside(&self, below: &[u8]) -> Vec<u8> {
        let base = if self.is_temp { self.path() } else { self.base.clone() };
        match base.as_os_str().as_bytes() {
            b"" => below.to_vec(),
            base => [base, b"/", below].concat(),
        }
    }

    /// Opens a directory beneath the tree for listing; the empty path is the tree itself.
    ///
    /// # Errors
    /// Those of the operating system: `ELOOP` or `ENOTDIR` if a component is a link.
    pub fn open_dir(&self, below: &[u8]) -> Result<OwnedFd, Errno> {
        let path = if below.is_empty() { b"." } else { below };
        let path = Path::new(OsStr::from_bytes(path));
        let dir = resolve::open_unlinked(self.dir.as_fd(), path, READ | OFlags::DIRECTORY)?;
        self.expect(dir, below)
    }

    /// Opens a directory that was listed in `dir` for listing, without following links; `below` is its path beneath the
    /// tree.
    ///
    /// # Errors
    /// Those of the operating system: `ELOOP` or `ENOTDIR` for a link, `ESTALE` if a guard is set and the directory has
    /// been moved.
    pub fn open_subdir(&self, dir: BorrowedFd<'_>, below: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = READ | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        self.expect(rustix::fs::openat(dir, last(below), flags, Mode::empty())?, below)
    }

    /// Opens a regular file that was listed in `dir`, without following links and without blocking; `below` is its path
    /// beneath the tree.
    ///
    /// # Errors
    /// As [`open_entry`], and `ESTALE` if a guard is set and the file has been moved.
    pub fn open_entry(
        &self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        below: &[u8],
    ) -> Result<(OwnedFd, Stat), Errno> {
        let (fd, stat) = open_entry(dir, name)?;
        Ok((self.expect(fd, below)?, stat))
    }

    /// Returns the handle if it is at the path where it was listed, which the rules were checked against.
    fn expect(&self, handle: OwnedFd, below: &[u8]) -> Result<OwnedFd, Errno> {
        match &self.judged {
            Some(top) if below.is_empty() => location::expect(top, handle.as_fd())?,
            Some(top) => location::expect(&[top, &b"/"[..], below].concat(), handle.as_fd())?,
            None => {}
        }
        Ok(handle)
    }

    /// Opens a regular file beneath the tree.
    ///
    /// # Errors
    /// As [`open_entry`].
    pub fn open_file(&self, below: &[u8]) -> Result<(OwnedFd, Stat), Errno> {
        let fd = resolve::open_unlinked(self.dir.as_fd(), Path::new(OsStr::from_bytes(below)), READ)?;
        regular(self.expect(fd, below)?)
    }

    /// Opens a regular file beneath the tree; links are followed if they stay in the workspace.
    ///
    /// # Errors
    /// As [`open_entry`], and `EXDEV` if a link leads out.
    pub fn open_linked(&self, below: &[u8]) -> Result<(OwnedFd, Stat), Errno> {
        let inside = self.base.join(OsStr::from_bytes(below));
        regular(resolve::open(&self.root.anchor(), &inside, READ)?)
    }

    /// Metadata of a path beneath the tree, links not followed.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn stat(&self, below: &[u8]) -> Result<Stat, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = Path::new(OsStr::from_bytes(below));
        rustix::fs::fstat(resolve::open_unlinked(self.dir.as_fd(), path, flags)?)
    }

    /// The directories above the tree, nearest first, as far as they can be opened.
    pub fn above(&self) -> Vec<ParentDir> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut found: Vec<ParentDir> = Vec::new();
        let path = self.path();
        for parent in path.ancestors().skip(1) {
            let here = found.last().map_or(self.dir.as_fd(), |above| above.dir.as_fd());
            let Ok(dir) = rustix::fs::openat(here, c"..", flags, Mode::empty()) else { break };
            found.push(ParentDir { dir, path: without_slash(parent) });
        }
        found
    }
}

impl ParentDir {
    /// Opens a regular file in the directory. Links are followed: the directory is the host's.
    ///
    /// # Errors
    /// As [`open_entry`].
    pub fn open_file(&self, name: &CStr) -> Result<(OwnedFd, Stat), Errno> {
        regular(rustix::fs::openat(&self.dir, name, READ, Mode::empty())?)
    }

    /// Whether the directory has an entry of that name.
    pub fn has(&self, name: &CStr) -> bool {
        rustix::fs::statat(&self.dir, name, rustix::fs::AtFlags::empty()).is_ok()
    }
}

/// Opens a regular file that was listed in `dir`, without following links and without blocking.
///
/// # Errors
/// Those of the operating system: `ELOOP` for a link, `EISDIR` or `EINVAL` for other files that are not regular.
pub fn open_entry(dir: BorrowedFd<'_>, name: &CStr) -> Result<(OwnedFd, Stat), Errno> {
    regular(rustix::fs::openat(dir, name, READ | OFlags::NOFOLLOW, Mode::empty())?)
}

/// The last name of a path.
fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

fn regular(fd: OwnedFd) -> Result<(OwnedFd, Stat), Errno> {
    let stat = rustix::fs::fstat(&fd)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((fd, stat)),
        FileType::Directory => Err(Errno::ISDIR),
        _ => Err(Errno::INVAL),
    }
}

fn without_slash(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    PathBuf::from(OsStr::from_bytes(bytes.strip_suffix(b"/").unwrap_or(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workspace;

    fn tree(dir: &Path, path: &str) -> Result<Tree> {
        Workspace::open(dir)?.parse_path(path)?.tree()
    }

    #[test]
    fn a_directory_that_became_a_link_is_not_entered() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("ws/real")).unwrap();
        std::os::unix::fs::symlink("real", home.path().join("ws/inside")).unwrap();
        std::os::unix::fs::symlink(home.path(), home.path().join("ws/outside")).unwrap();
        let tree = tree(&home.path().join("ws"), ".").unwrap();
        assert!(tree.open_dir(b"real").is_ok());
        assert_eq!(tree.open_dir(b"inside").unwrap_err(), Errno::LOOP);
        assert_eq!(tree.open_dir(b"outside").unwrap_err(), Errno::LOOP);
        assert!(tree.open_dir(b"../ws").is_err());
    }

    #[test]
    fn paths_are_shown_relative_to_the_workspace_with_links_resolved() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("real/deep")).unwrap();
        std::os::unix::fs::symlink("real/deep", home.path().join("link")).unwrap();
        assert_eq!(tree(home.path(), ".").unwrap().display(b"x"), "x");
        assert_eq!(tree(home.path(), ".").unwrap().display(b""), ".");
        assert_eq!(tree(home.path(), "link").unwrap().display(b""), "real/deep");
        assert_eq!(tree(home.path(), "link").unwrap().display(b"x"), "real/deep/x");
        assert_eq!(tree(home.path(), "link").unwrap().path(), home.path().join("real/deep"));
    }

    #[test]
    fn a_file_is_no_tree() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a.txt"), "").unwrap();
        let error = tree(home.path(), "a.txt").unwrap_err();
        assert_eq!(error.reason, Reason::NotADirectory);
        assert_eq!(error.message, "a.txt is a file, not a directory; name the directory it is in");
        assert_eq!(tree(home.path(), "gone").unwrap_err().reason, Reason::NoSuchFile);
    }

    #[test]
    fn what_lies_above_is_found_by_climbing() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b")).unwrap();
        std::fs::write(home.path().join("a/mark"), "").unwrap();
        let above = tree(home.path(), "a/b").unwrap().above();
        assert_eq!(above[0].path, home.path().join("a"));
        assert!(above[0].has(c"mark") && !above[1].has(c"mark"));
        assert_eq!(above.last().unwrap().path, Path::new(""));
    }
}
