//! Protected paths: read-only paths in writable directories.

use super::git;
use super::mount::{MountCopy, READ_ONLY, TAME, failed, kind, point};
use super::nothing;
use super::placeholders::is_placeholder;
use super::{Layer, LayerContext};
use crate::{Confinement, SetupFailure};
use beamai_base::ignores_case;
use beamai_isolation::{LayerOff, SandboxMode};
use beamai_protected::ProtectedPaths;
use beamai_workspace::decode_path;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(super) struct Protected;

impl Layer for Protected {
    fn name(&self) -> &'static str {
        "protected_paths"
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let confinement = stage.confinement;
        self.expect_single_names(stage)?;
        for found in &confinement.found {
            stage.partly.extend(told(found).map(|why| LayerOff::new(self.name(), why)));
            let root = decode_path(&found.root);
            let real = root.canonicalize().map_err(|_| failed("open", &root)(Errno::NOENT))?;
            let mut guard = MountPlanner::new(root.clone(), &real, stage).map_err(failed("open", &root))?;
            for (path, what) in in_order(found) {
                guard.protect(&path, what).map_err(failed("protect", &root.join(&path)))?;
            }
            let fixed = [&confinement.read_only, &confinement.git_sources, &confinement.hidden];
            for path in fixed.into_iter().flatten().map(Path::new) {
                if let Some(path) = beneath(path, [&root, &real]) {
                    guard.pin_the_way_there(path).map_err(failed("protect", path))?;
                }
            }
            for path in confinement.held.iter().map(Path::new) {
                if let Some(path) = beneath(path, [&root, &real]) {
                    guard.pin_what_is_there(path).map_err(failed("protect", path))?;
                }
            }
        }
        for path in confinement.read_only.iter().chain(&confinement.git_sources).map(PathBuf::from) {
            protect(&path, stage).map_err(failed("protect", &path))?;
        }
        Ok(())
    }
}

impl Protected {
    /// Checks that a mount over a name covers what lies there.
    fn expect_single_names(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let Some(path) = not_covered(stage.confinement) else { return Ok(()) };
        let (shown, mode) = (path.display(), stage.confinement.mode);
        if mode == SandboxMode::Required {
            let step = format!("cover {shown}, which is found in another case, too (tier landlock can)");
            return Err(SetupFailure::new(&step, Errno::OPNOTSUPP));
        }
        let why = format!("{shown} is found in another case, too, which no mount covers (tier landlock can)");
        stage.partly.push(LayerOff::new(self.name(), why));
        Ok(())
    }
}

/// A path that rules deny, or that keeps secrets, and that has other names than the one that a mount covers.
fn not_covered(confinement: &Confinement) -> Option<PathBuf> {
    let found = confinement.found.iter().flat_map(|found| {
        let root = decode_path(&found.root);
        found.hidden.iter().chain(&found.read_only).map(move |path| root.join(decode_path(path)))
    });
    let named = confinement.hidden.iter().chain(&confinement.read_only).map(PathBuf::from);
    found.chain(named).find(|path| ignores_case(path))
}

/// A path relative to a directory that has two names: the host may have named it through a link.
fn beneath<'p>(path: &'p Path, names: [&Path; 2]) -> Option<&'p Path> {
    names.into_iter().find_map(|name| path.strip_prefix(name).ok())
}

/// Protects a path that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProtectionKind {
    Repository,
    ReadOnly,
    Hidden,
}

/// The found paths, upper ones first, so that mounts below stay visible.
fn in_order(found: &ProtectedPaths) -> Vec<(PathBuf, ProtectionKind)> {
    let lists = [
        (&found.repositories, ProtectionKind::Repository),
        (&found.read_only, ProtectionKind::ReadOnly),
        (&found.hidden, ProtectionKind::Hidden),
    ];
    let all =
        lists.into_iter().flat_map(|(list, what)| list.iter().map(move |path| (decode_path(path), what)));
    let mut all: Vec<_> = all.collect();
    all.sort();
    all
}

fn told(found: &ProtectedPaths) -> Option<String> {
    let root = &found.root;
    let text = match (&found.cut, &found.unmatched, &found.cut_inside) {
        (Some(why), _, _) => format!(
            "not all of {root} was looked at, nearest directories first: {why}; git repositories further away, and what \
             deny rules match there, are not protected"
        ),
        (None, Some(why), _) => {
            format!("not all that deny rules match in {root} is protected, nearest directories first: {why}")
        }
        (None, None, Some(why)) => format!(
            "not all in hidden directories and in those of git repositories in {root} was looked at: {why}; \
             repositories further down in them are not protected"
        ),
        (None, None, None) => return None,
    };
    Some(text)
}

/// Makes a path read-only, or keeps it from being created.
fn protect(path: &Path, stage: &mut LayerContext<'_>) -> Result<(), Errno> {
    if stage.confinement.is_writable(path) {
        return Ok(());
    }
    let opened = match path.parent() {
        Some(parent) => directory(parent).and_then(|parent| stage.placeholders.hold(parent.as_fd(), path)),
        None => Ok(()),
    };
    match opened.and_then(|()| point(path)) {
        Ok(fd) => {
            let lifted = stage.confinement.writable_beneath(path);
            make_read_only(fd.as_fd(), lifted, |lifted| point(&path.join(lifted)))
        }
        Err(Errno::NOENT) => keep_absent(path, stage),
        // A component of the path is not a directory, so there is nothing to protect.
        Err(Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes `fd` read-only, but for the paths in it that the host makes writable. `open` opens one of these.
fn make_read_only(
    fd: BorrowedFd<'_>,
    lifted: impl Iterator<Item = PathBuf>,
    open: impl Fn(&Path) -> Result<OwnedFd, Errno>,
) -> Result<(), Errno> {
    let copied = |path: PathBuf| Ok((MountCopy::of(open(&path)?.as_fd())?.with(TAME)?, path));
    let lifted = lifted.map(copied).collect::<Result<Vec<_>, Errno>>()?;
    fix(fd, READ_ONLY)?;
    lifted.into_iter().try_for_each(|(copy, path)| copy.attach(open(&path)?.as_fd()))
}

/// Bind-mounts `fd` over itself with further attributes.
fn fix(fd: BorrowedFd<'_>, attributes: u64) -> Result<(), Errno> {
    MountCopy::of(fd)?.with(attributes | TAME)?.attach(fd)
}

/// Mounts an empty read-only file where a file could be created. If its directory does not exist either, an empty read-only
/// directory takes its place, which git does not see.
fn keep_absent(file: &Path, stage: &mut LayerContext<'_>) -> Result<(), Errno> {
    let mut path = file;
    while let Some(parent) = path.parent().filter(|parent| !parent.exists() || is_placeholder(parent)) {
        path = parent;
    }
    let kind = if path == file { FileType::RegularFile } else { FileType::Directory };
    let made = path.parent().ok_or(Errno::NOTDIR).and_then(directory);
    match made.and_then(|parent| stage.placeholders.make(parent.as_fd(), path, kind)) {
        Ok(()) => nothing::cover(path, kind),
        // If it cannot be created here, the command cannot create it either.
        Err(Errno::ROFS | Errno::ACCESS | Errno::PERM | Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn directory(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Arranges mounts below one directory, without following links.
pub(super) struct MountPlanner<'s, 'a> {
    root: PathBuf,
    fd: OwnedFd,
    stage: &'s mut LayerContext<'a>,
    /// Paths that are already pinned.
    pinned: HashSet<PathBuf>,
    /// The last path that was hidden. What lies in it cannot be reached.
    hidden: Option<PathBuf>,
}

impl<'s, 'a> MountPlanner<'s, 'a> {
    /// `real` is the root without links.
    fn new(root: PathBuf, real: &Path, stage: &'s mut LayerContext<'a>) -> Result<Self, Errno> {
        let fd = point(real)?;
        Ok(Self { root, fd, stage, pinned: HashSet::new(), hidden: None })
    }

    /// Protects a path that was found, after those above it. If it has disappeared since, it needs no protection.
    fn protect(&mut self, path: &Path, what: ProtectionKind) -> Result<(), Errno> {
        if self.hidden.as_ref().is_some_and(|hidden| path.starts_with(hidden)) {
            return Ok(());
        }
        let done = match what {
            ProtectionKind::Repository => git::protect(self, path),
            ProtectionKind::ReadOnly => self.seal(path),
            ProtectionKind::Hidden => self.hide(path),
        };
        if_there(done)
    }

    /// Pins every directory above the path, so that none can be moved with the protected file and replaced.
    pub(super) fn pin_the_way(&mut self, path: &Path) -> Result<(), Errno> {
        let above: Vec<&Path> =
            path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        above.into_iter().rev().try_for_each(|path| self.pin(path))
    }

    /// As [`MountPlanner::pin_the_way`], for the part of the path that exists.
    fn pin_the_way_there(&mut self, path: &Path) -> Result<(), Errno> {
        if_there(self.pin_the_way(path))
    }

    /// Pins a path, which may be a link, and every directory above it, if they exist.
    fn pin_what_is_there(&mut self, path: &Path) -> Result<(), Errno> {
        if_there(self.pin_the_way(path).and_then(|()| self.pin(path)))
    }

    /// Hides a path.
    fn hide(&mut self, path: &Path) -> Result<(), Errno> {
        if self.stage.confinement.shows_beneath(&self.root.join(path)) {
            return Ok(());
        }
        self.pin_the_way(path)?;
        let fd = self.point(path)?;
        nothing::denied(kind(fd.as_fd())?)?.attach(fd.as_fd())?;
        self.hidden = Some(path.to_owned());
        Ok(())
    }

    /// Opens a path below the root, as seen through the mounts so far.
    pub(super) fn point(&self, relative: &Path) -> Result<OwnedFd, Errno> {
        self.open(relative, OFlags::PATH | OFlags::NOFOLLOW)
    }

    pub(super) fn open(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        rustix::fs::openat2(&self.fd, relative, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    }

    /// The file type at a path; `None` if it does not exist.
    pub(super) fn kind(&self, relative: &Path) -> Option<FileType> {
        let Some(parent) = relative.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
            return kind_at(self.fd.as_fd(), relative);
        };
        kind_at(self.point(parent).ok()?.as_fd(), Path::new(relative.file_name()?))
    }

    /// Pins a path: a mount point can neither be removed nor renamed.
    pub(super) fn pin(&mut self, relative: &Path) -> Result<(), Errno> {
        // The root is a mount point anyway.
        if relative.as_os_str().is_empty() || self.pinned.contains(relative) {
            return Ok(());
        }
        let fd = self.point(relative)?;
        fix(fd.as_fd(), TAME)?;
        self.pinned.insert(relative.to_owned());
        Ok(())
    }

    /// Makes a path read-only, which also pins it.
    pub(super) fn seal(&mut self, relative: &Path) -> Result<(), Errno> {
        let path = self.root.join(relative);
        if self.stage.confinement.is_writable(&path) {
            return Ok(());
        }
        self.pin_the_way(relative)?;
        let parent = self.point(relative.parent().unwrap_or(Path::new("")))?;
        self.stage.placeholders.hold(parent.as_fd(), &path)?;
        let fd = self.point(relative)?;
        let kind = kind(fd.as_fd())?;
        if kind == FileType::Fifo {
            // A read-only mount does not keep anybody from writing to it.
            return nothing::denied(kind)?.attach(fd.as_fd());
        }
        let lifted = self.stage.confinement.writable_beneath(&path);
        make_read_only(fd.as_fd(), lifted, |lifted| self.point(&relative.join(lifted)))
    }

    /// Creates an empty file or directory and makes it read-only.
    pub(super) fn seal_absent(&mut self, relative: &Path, kind: FileType) -> Result<(), Errno> {
        let path = self.root.join(relative);
        if self.stage.confinement.is_writable(&path) {
            return Ok(());
        }
        let parent = self.point(relative.parent().unwrap_or(Path::new("")))?;
        match self.stage.placeholders.make(parent.as_fd(), &path, kind) {
            Ok(()) => fix(self.point(relative)?.as_fd(), READ_ONLY),
            // If it cannot be created here, the command cannot create it either.
            Err(Errno::ROFS | Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Registers a file as forbidden: if a command creates it, the file is removed and the command is ended.
    pub(super) fn keep_absent(&mut self, directory: &Path, name: &str) -> Result<(), Errno> {
        let fd = self.open(directory, OFlags::RDONLY | OFlags::DIRECTORY)?;
        self.stage.forbidden_names.forbid(fd, name, self.root.join(directory).join(name))
    }
}

/// What does not exist needs no protection.
fn if_there(done: Result<(), Errno>) -> Result<(), Errno> {
    match done {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        done => done,
    }
}

fn kind_at(directory: BorrowedFd<'_>, name: &Path) -> Option<FileType> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}
