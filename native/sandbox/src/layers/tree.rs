//! The file system as seen by a command: the machine's, read-only, without its devices, sockets and the user's secrets;
//! the workspace and a temporary directory are writable.

use super::devices::Devices;
use super::mount::{
    MountCopy, NO_EXEC, READ_ONLY, TAME, failed, kind, make_room, memory, point, set_everywhere,
    set_read_only,
};
use super::{Layer, LayerContext, nothing, trust};
use crate::{Confinement, SetupFailure};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(super) struct FileTree;

impl Layer for FileTree {
    fn name(&self) -> &'static str {
        "read_only_filesystem"
    }

    fn is_optional(&self) -> bool {
        false
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let confinement = stage.confinement;
        // Copy writable mounts before everything becomes read-only.
        let mut scenes = Vec::new();
        take_writable(confinement, &mut scenes)?;
        take_readable(confinement, &mut scenes)?;
        let is_closed = |mount: &TreeMount| confinement.without_links.iter().any(|path| *path == mount.path);
        scenes.iter().filter(|mount| is_closed(mount)).try_for_each(TreeMount::close_links)?;
        prepare(confinement)?;
        hide(confinement, &mut scenes);
        // Upper paths first, so that those below stay visible.
        scenes.sort_by_key(|mount| mount.path.components().count());
        let kept: HashSet<PathBuf> = scenes.iter().filter(|s| s.shows()).map(|s| s.path.clone()).collect();
        let hollow: Vec<PathBuf> =
            scenes.iter().filter(|s| s.is_hollow(&kept)).map(|s| s.path.clone()).collect();
        for mount in scenes {
            let path = mount.path.clone();
            mount.arrange(&kept, confinement).map_err(failed("mount", &path))?;
        }
        // Now that the mount points in them are made.
        hollow.iter().try_for_each(|path| set_read_only(path).map_err(failed("seal", path)))
    }
}

/// Makes everything read-only, and mounts a private `/dev`, with the authorities of the proxy's clients in it.
fn prepare(confinement: &Confinement) -> Result<(), SetupFailure> {
    let devices = Devices::take()?;
    set_everywhere(READ_ONLY | TAME)
        .map_err(|errno| SetupFailure::new("make the file system read-only", errno))?;
    let authorities = confinement.trusted.as_ref().map(trust::together);
    devices.arrange(confinement.bounds.memory, attributes(confinement))?;
    authorities.map_or(Ok(()), |all| trust::arrange(&all))?;
    nothing::arrange()
}

/// A mount at a path.
struct TreeMount {
    path: PathBuf,
    what: TreeMountKind,
}

enum TreeMountKind {
    /// A part of the machine's file system.
    Shown(MountCopy, FileType),
    /// An empty temporary directory.
    Temporary,
    /// An empty replacement for a directory or file.
    Hidden(FileType),
}

/// Attributes of writable mounts.
fn attributes(confinement: &Confinement) -> u64 {
    match confinement.exec_writable {
        true => TAME,
        false => TAME | NO_EXEC,
    }
}

fn take_writable(confinement: &Confinement, scenes: &mut Vec<TreeMount>) -> Result<(), SetupFailure> {
    let workspace = Path::new(&confinement.workspace);
    let fd = open(workspace)?;
    recognise(&fd, confinement)?;
    let attributes = attributes(confinement);
    scenes.push(TreeMount::shown(workspace, &fd, attributes)?);
    let has_own_tmp = confinement.has_own_tmp();
    match &confinement.temp {
        None if has_own_tmp => scenes.push(TreeMount { path: "/tmp".into(), what: TreeMountKind::Temporary }),
        None => {}
        Some(temp) => {
            let temp = Path::new(temp);
            let fd = open(temp)?;
            if has_own_tmp {
                scenes.push(TreeMount::shown(Path::new("/tmp"), &fd, attributes)?);
            }
            scenes.push(TreeMount::shown(temp, &fd, attributes)?);
        }
    }
    for path in &confinement.writable {
        scenes.push(TreeMount::shown(Path::new(path), &open_listed(Path::new(path))?, attributes)?);
    }
    Ok(())
}

/// Fails with `ESTALE` unless this handle is the workspace that the confinement means.
pub(super) fn recognise(fd: &OwnedFd, confinement: &Confinement) -> Result<(), SetupFailure> {
    let workspace = Path::new(&confinement.workspace);
    let stat = rustix::fs::fstat(fd).map_err(failed("look at", workspace))?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    match (stat.st_dev as u64, stat.st_ino as u64) == (confinement.device, confinement.inode) {
        true => Ok(()),
        false => Err(failed("recognise the workspace", workspace)(Errno::STALE)),
    }
}

fn take_readable(confinement: &Confinement, scenes: &mut Vec<TreeMount>) -> Result<(), SetupFailure> {
    for path in &confinement.readable {
        scenes.push(TreeMount::shown(Path::new(path), &open_listed(Path::new(path))?, READ_ONLY | TAME)?);
    }
    // Name resolution needs files that are often in hidden runtime directories.
    let resolver = Path::new("/etc/resolv.conf");
    if let (true, Ok(file)) = (confinement.network, resolver.canonicalize())
        && file != resolver
    {
        scenes.push(TreeMount::shown(&file, &open(&file)?, READ_ONLY | TAME)?);
    }
    Ok(())
}

/// Opens a path that the host lists, which has no links: one that is there now was put there by a command.
fn open_listed(path: &Path) -> Result<OwnedFd, SetupFailure> {
    if path.parent().is_none() {
        return Err(failed("isolate the directory", path)(Errno::INVAL));
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    opened.map_err(failed("open", path))
}

/// Opens a path to be shown; resolves all its links before anything is covered.
fn open(path: &Path) -> Result<OwnedFd, SetupFailure> {
    if path.parent().is_none() {
        return Err(failed("isolate the directory", path)(Errno::INVAL));
    }
    let real = path.canonicalize();
    let real = real.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    real.and_then(|real| point(&real)).map_err(failed("open", path))
}

fn hide(confinement: &Confinement, scenes: &mut Vec<TreeMount>) {
    let shown: HashSet<PathBuf> = scenes.iter().map(|mount| mount.path.clone()).collect();
    for path in confinement.hidden.iter().map(PathBuf::from).filter(|path| !shown.contains(path)) {
        // A missing path needs no hiding, and the target of a link is hidden or shown itself.
        if let Ok(kind) = point(&path).and_then(|fd| kind(fd.as_fd()))
            && kind != FileType::Symlink
        {
            scenes.push(TreeMount { path, what: TreeMountKind::Hidden(kind) });
        }
    }
}

impl TreeMount {
    fn shown(path: &Path, fd: &OwnedFd, attributes: u64) -> Result<Self, SetupFailure> {
        let kind = kind(fd.as_fd()).map_err(failed("look at", path))?;
        let taken =
            MountCopy::of(fd.as_fd()).and_then(|copy| copy.with(attributes)).map_err(failed("take", path))?;
        // For a path with links, its target is the mount point; the links stay.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, what: TreeMountKind::Shown(taken, kind) })
    }

    fn close_links(&self) -> Result<(), SetupFailure> {
        let TreeMountKind::Shown(taken, _) = &self.what else { return Ok(()) };
        taken.close_links().map_err(failed("close the links in", &self.path))
    }

    fn shows(&self) -> bool {
        matches!(self.what, TreeMountKind::Shown(..))
    }

    /// Whether it is an empty directory that contains visible paths.
    fn is_hollow(&self, kept: &HashSet<PathBuf>) -> bool {
        matches!(self.what, TreeMountKind::Hidden(_)) && kept.iter().any(|path| path.starts_with(&self.path))
    }

    fn arrange(self, kept: &HashSet<PathBuf>, confinement: &Confinement) -> Result<(), Errno> {
        let bytes = confinement.bounds.memory;
        let is_hollow = self.is_hollow(kept);
        match self.what {
            TreeMountKind::Shown(taken, kind) => {
                make_room(&self.path, kind)?;
                taken.attach(point(&self.path)?.as_fd())
            }
            TreeMountKind::Temporary => memory(&self.path, "1777", Some(bytes), attributes(confinement)),
            TreeMountKind::Hidden(_) if is_hollow => {
                // If a directory above was covered before, this one is missing.
                make_room(&self.path, FileType::Directory)?;
                memory(&self.path, "0755", None, TAME)
            }
            TreeMountKind::Hidden(kind)
                if confinement.denies_hidden || is_writable_beneath(confinement, &self.path) =>
            {
                nothing::deny(&self.path, kind)
            }
            TreeMountKind::Hidden(kind) => nothing::cover(&self.path, kind),
        }
    }
}

/// Whether a path without links lies in a directory that commands may write to. The host may have named that through a link.
fn is_writable_beneath(confinement: &Confinement, path: &Path) -> bool {
    let mut roots = writable(confinement).map(PathBuf::from);
    roots.any(|root| path.starts_with(root.canonicalize().unwrap_or(root)))
}

/// Directories that commands may write to, as they see them.
pub fn writable(confinement: &Confinement) -> impl Iterator<Item = OsString> + '_ {
    let fixed = ["/tmp", "/dev/shm", "/dev/pts"].map(OsString::from);
    let own = [&confinement.workspace].into_iter().chain(&confinement.temp).chain(&confinement.writable);
    fixed.into_iter().chain(own.cloned())
}
