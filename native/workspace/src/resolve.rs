//! Opens paths beneath a directory handle, so that no path, link or race escapes.
//!
//! Where possible, the Linux kernel does it (`openat2` with `RESOLVE_BENEATH`). Where that is missing, or rejects an
//! absolute link that may still point inside, a component-wise walk does the same in user space: every step opens one
//! name without following it, and links are read and resolved by hand.

use super::{location, names};
use beamai_base::{is_local, listed_name};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of links followed; the Linux kernel's own limit.
const MAX_LINKS: usize = 40;
/// Attempts of openat2 while directories are being renamed.
const MAX_RACES: usize = 16;

/// A directory that paths are opened beneath.
#[derive(Debug)]
pub(super) struct BaseDir<'a> {
    pub(super) dir: BorrowedFd<'a>,
    /// Path of the directory; absolute links into it are resolved relative to it.
    pub(super) path: &'a Path,
    /// Another path of the directory that absolute links may use.
    pub(super) alias: &'a Path,
}

impl BaseDir<'_> {
    /// The part of an absolute path beneath the directory.
    fn strip<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(self.path).or_else(|_| path.strip_prefix(self.alias)).ok()
    }
}

/// The end of a path once all links are resolved.
#[derive(Debug)]
pub(super) struct ResolvedTarget {
    /// The parent of the last component, or its nearest existing ancestor; `None` for the anchor itself.
    parent: Option<OwnedFd>,
    /// The missing directories between that one and the last component.
    missing: VecDeque<OsString>,
    /// The last component; `.` for the anchor.
    pub(super) name: OsString,
    /// The path beneath the anchor, links resolved.
    pub(super) resolved: PathBuf,
    /// Directories that were created.
    pub(super) made: CreatedDirs,
}

impl ResolvedTarget {
    /// The handle of the parent of the last component, or of its nearest existing ancestor.
    pub(super) fn parent<'a>(&'a self, anchor: &'a BaseDir<'_>) -> BorrowedFd<'a> {
        self.parent.as_ref().map_or(anchor.dir, AsFd::as_fd)
    }

    /// The current path of the target beneath the anchor.
    pub(super) fn located(&self, anchor: &BaseDir<'_>) -> Result<PathBuf, Errno> {
        let directory = match location::of(anchor, self.parent(anchor)) {
            Err(Errno::NOTSUP) => return Ok(self.resolved.clone()),
            directory => directory?,
        };
        let names = self.missing.iter().chain([&self.name]);
        Ok(directory
            .components()
            .filter(|part| *part != Component::CurDir)
            .map(Component::as_os_str)
            .chain(names.map(OsString::as_os_str))
            .collect())
    }

    /// How many parent directories are missing.
    pub(super) fn missing(&self) -> usize {
        self.missing.len()
    }

    /// Creates the missing directories.
    pub(super) fn make_missing(&mut self, anchor: &BaseDir<'_>) -> Result<(), Errno> {
        while let Some(name) = self.missing.pop_front() {
            let here = self.parent(anchor);
            let holder = rustix::io::fcntl_dupfd_cloexec(here, 3)?;
            let is_new = match names::make_dir((here, &name)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(error) => return Err(error),
            };
            let entered = enter(here, &name);
            if is_new {
                self.made.0.push((holder, name));
            }
            self.parent = Some(entered?);
        }
        Ok(())
    }
}

fn enter(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

/// Directories created for a target; dropping removes them again if they are empty.
#[derive(Debug, Default)]
pub(super) struct CreatedDirs(Vec<(OwnedFd, OsString)>);

impl CreatedDirs {
    /// Keeps the directories.
    pub(super) fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedDirs {
    fn drop(&mut self) {
        while let Some((parent, name)) = self.0.pop() {
            // Only empty directories are removed: files that others created meanwhile stay, with all directories above.
            _ = names::remove_dir((parent.as_fd(), &name));
        }
    }
}

/// Opens `path` beneath the anchor, following links that stay beneath it.
pub(super) fn open(anchor: &BaseDir<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    match open_by_kernel(anchor, path, flags) {
        // Some container runtimes return EPERM for unknown system calls.
        Err(Errno::XDEV | Errno::NOSYS | Errno::AGAIN | Errno::PERM) => {
            Ok(open_by_walk(anchor, path, flags)?.0)
        }
        other => other,
    }
}

/// As [`open`], with the real path of the handle beneath the anchor.
pub(super) fn open_located(
    anchor: &BaseDir<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<(OwnedFd, PathBuf), Errno> {
    for _ in 0..MAX_RACES {
        let mut handle = open(anchor, path, flags)?;
        // Linux reports the spelling by which a file was opened.
        if !is_local(anchor.dir) || !is_local(&handle) {
            handle = open_by_walk(anchor, path, flags)?.0;
        }
        match location::of(anchor, handle.as_fd()) {
            Ok(real) => return Ok((handle, real)),
            // The file was replaced between open and lookup; try again.
            Err(Errno::STALE) => {}
            Err(Errno::NOTSUP) => return open_by_walk(anchor, path, flags),
            Err(error) => return Err(error),
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(target_os = "linux")]
fn open_by_kernel(anchor: &BaseDir<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    beamai_base::while_raced(|| rustix::fs::openat2(anchor.dir, path, flags, Mode::empty(), resolve))
}

#[cfg(not(target_os = "linux"))]
fn open_by_kernel(_: &BaseDir<'_>, _: &Path, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens step by step; also returns the resolved path.
fn open_by_walk(anchor: &BaseDir<'_>, path: &Path, flags: OFlags) -> Result<(OwnedFd, PathBuf), Errno> {
    for _ in 0..MAX_RACES {
        let target = walk(anchor, path, MissingDirs::Refuse)?;
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(target.parent(anchor), &target.name, flags, Mode::empty()) {
            // The last component has been replaced by a link since the walk.
            Err(Errno::LOOP) => {}
            Ok(fd) if flags.contains(OFlags::PATH) && is_link(&fd)? => {}
            opened => return Ok((opened?, target.resolved)),
        }
    }
    Err(Errno::AGAIN)
}

fn is_link(fd: &OwnedFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::Symlink)
}

/// Opens `path` beneath the directory; links in any component are rejected with `ELOOP` or `ENOTDIR`.
pub(super) fn open_unlinked(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    match unlinked_by_kernel(dir, path, flags | OFlags::CLOEXEC) {
        Err(Errno::NOSYS) => unlinked_by_steps(dir, path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW),
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn unlinked_by_kernel(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn unlinked_by_kernel(_: BorrowedFd<'_>, _: &Path, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn unlinked_by_steps(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here: Option<OwnedFd> = None;
    let mut steps = path.components().peekable();
    while let Some(step) = steps.next() {
        let name = match step {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            _ => return Err(Errno::XDEV),
        };
        let flags = if steps.peek().is_some() { through } else { flags };
        let parent = here.as_ref().map_or(dir, AsFd::as_fd);
        here = Some(rustix::fs::openat(parent, name, flags, Mode::empty())?);
    }
    here.ok_or(Errno::NOENT)
}

/// How a walk treats missing directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingDirs {
    /// The walk fails; only the last component may be missing.
    Refuse,
    /// The walk goes on as if they existed and were empty. [`ResolvedTarget::make_missing`] creates them.
    Imagine,
}

/// Follows `path` to its last component, which need not exist.
pub(super) fn walk(anchor: &BaseDir<'_>, path: &Path, missing: MissingDirs) -> Result<ResolvedTarget, Errno> {
    let mut walk =
        PathResolution { anchor, below: Vec::new(), names: Vec::new(), pending: VecDeque::new(), links: 0 };
    walk.push_front(path)?;
    walk.run(missing)
}

struct PathResolution<'a> {
    anchor: &'a BaseDir<'a>,
    /// Handles of the directories entered so far. Names beyond them do not exist.
    below: Vec<OwnedFd>,
    names: Vec<OsString>,
    pending: VecDeque<OsString>,
    links: usize,
}

impl PathResolution<'_> {
    fn run(mut self, missing: MissingDirs) -> Result<ResolvedTarget, Errno> {
        while let Some(name) = self.pending.pop_front() {
            if name == ".." {
                self.leave()?;
                continue;
            }
            let name = self.listed(name)?;
            if self.follow_link(&name)? {
                // The link's target is pending now.
            } else if self.pending.is_empty() {
                return Ok(self.end(name));
            } else {
                self.enter(name, missing)?;
            }
        }
        let Some(name) = self.names.last().cloned() else {
            return Ok(ResolvedTarget {
                parent: None,
                missing: VecDeque::new(),
                name: ".".into(),
                resolved: ".".into(),
                made: CreatedDirs::default(),
            });
        };
        self.leave()?;
        Ok(self.end(name))
    }

    /// The name as its directory spells it.
    fn listed(&self, name: OsString) -> Result<OsString, Errno> {
        match self.is_imagined() {
            true => Ok(name),
            false => listed_name(self.here(), &name),
        }
    }

    fn leave(&mut self) -> Result<(), Errno> {
        self.names.pop().ok_or(Errno::XDEV)?;
        self.below.truncate(self.names.len());
        Ok(())
    }

    fn is_imagined(&self) -> bool {
        self.names.len() > self.below.len()
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.below.last().map_or(self.anchor.dir, AsFd::as_fd)
    }

    fn end(mut self, name: OsString) -> ResolvedTarget {
        let resolved = self.names.iter().chain([&name]).collect();
        let missing = self.names.split_off(self.below.len()).into();
        ResolvedTarget { parent: self.below.pop(), missing, name, resolved, made: CreatedDirs::default() }
    }

    fn enter(&mut self, name: OsString, missing: MissingDirs) -> Result<(), Errno> {
        if !self.is_imagined() {
            match (enter(self.here(), &name), missing) {
                (Err(Errno::NOENT), MissingDirs::Imagine) => {}
                (opened, _) => self.below.push(opened?),
            }
        }
        self.names.push(name);
        Ok(())
    }

    /// If `name` is a link, prepends its target to the pending components and returns true.
    fn follow_link(&mut self, name: &OsStr) -> Result<bool, Errno> {
        if self.is_imagined() {
            return Ok(false);
        }
        let stat = match rustix::fs::statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(false),
            other => other?,
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return Ok(false);
        }
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        let link = rustix::fs::readlinkat(self.here(), name, Vec::new())?;
        let link = PathBuf::from(OsString::from_vec(link.into_bytes()));
        if link.is_absolute() {
            let inside = self.anchor.strip(&link).ok_or(Errno::XDEV)?;
            self.below.clear();
            self.names.clear();
            self.push_front(inside)?;
        } else {
            self.push_front(&link)?;
        }
        Ok(true)
    }

    fn push_front(&mut self, path: &Path) -> Result<(), Errno> {
        for component in path.components().rev() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => self.pending.push_front("..".into()),
                Component::Normal(name) => self.pending.push_front(name.to_owned()),
                Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_and_the_steps_open_the_same_and_refuse_the_same() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b")).unwrap();
        std::fs::write(home.path().join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink("a", home.path().join("link")).unwrap();
        let dir = std::fs::File::open(home.path()).unwrap();
        for (path, opens) in [
            ("a/b/file", true),
            ("a/./b", true),
            (".", true),
            ("link", false),
            ("link/b/file", false),
            ("a/../a", false),
            ("a/gone", false),
            ("/", false),
        ] {
            // O_PATH alone would open the link itself.
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let steps = unlinked_by_steps(dir.as_fd(), Path::new(path), flags | OFlags::NOFOLLOW);
            assert_eq!(steps.is_ok(), opens, "{path}: {steps:?}");
            if path != "a/../a" {
                let kernel = open_unlinked(dir.as_fd(), Path::new(path), flags);
                assert_eq!(kernel.is_ok(), opens, "{path}: {kernel:?}");
            }
        }
    }
}
