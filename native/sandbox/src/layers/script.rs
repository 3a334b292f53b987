//! The plan of mounts as it is told to `bwrap`, and as it is compared afterwards with what `bwrap` has made of it.

use super::mount::{kind, point};
use super::mount_backend::VisiblePath;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::{Path, PathBuf};

/// What is mounted where. What lies above comes first, so that what is mounted beneath it stays in sight.
#[derive(Default)]
pub struct MountScript(BTreeMap<PathBuf, PlannedMount>);

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlannedMount {
    pub(super) what: MountKind,
    /// Whether it protects something in what can be written.
    pub(super) protects: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum MountKind {
    /// A part of the machine's file system.
    Shown { source: HostPath, read_only: bool },
    /// An empty temporary directory.
    Temporary,
    /// A directory with nothing in it but what is shown.
    Bare,
    /// Nothing, in place of a directory or a file.
    Hidden { is_directory: bool },
}

/// A file or directory of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HostPath {
    pub(super) path: OsString,
    pub(super) device: u64,
    pub(super) inode: u64,
    is_read_only: bool,
}

impl HostPath {
    pub(super) fn of(fd: BorrowedFd<'_>, is_read_only: bool) -> Result<Self, Errno> {
        let (device, inode) = identity(fd)?;
        Ok(Self { path: real(fd)?.into(), device, inode, is_read_only })
    }
}

/// Device and inode number of what `fd` names.
pub(super) fn identity(fd: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::statat(fd, c"", AtFlags::EMPTY_PATH)?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok((stat.st_dev as u64, stat.st_ino as u64))
}

/// Where `fd` lies on the machine, without links.
pub(super) fn real(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::os::unix::ffi::OsStringExt;
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new())?;
    Ok(OsString::from_vec(path.into_bytes()).into())
}

/// A path without links above its end.
fn straight(path: &Path) -> PathBuf {
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

impl MountScript {
    pub(super) fn show(&mut self, source: HostPath, path: &Path) {
        let read_only = source.is_read_only;
        self.put(straight(path), MountKind::Shown { source, read_only }, false);
    }

    pub(super) fn temporary(&mut self, path: &Path) {
        self.put(straight(path), MountKind::Temporary, false);
    }

    pub(super) fn bare(&mut self, path: &Path) {
        self.put(straight(path), MountKind::Bare, false);
    }

    /// Hides a path, if anything is seen there.
    pub(super) fn cover(&mut self, path: &Path, kind_here: FileType) {
        let path = straight(path);
        let kind = match self.seen(&path) {
            VisiblePath::At(real) if real == path => kind_here,
            VisiblePath::At(real) => match point(&real).and_then(|fd| kind(fd.as_fd())) {
                Ok(kind) => kind,
                Err(_) => return,
            },
            VisiblePath::Memory | VisiblePath::Nothing => return,
        };
        self.put(path, MountKind::Hidden { is_directory: kind == FileType::Directory }, false);
    }

    /// Puts nothing at a path.
    pub(super) fn hide(&mut self, path: &Path, kind: FileType) {
        self.put(straight(path), MountKind::Hidden { is_directory: kind == FileType::Directory }, true);
    }

    /// Shows something once more where it is seen, so that it stays there; what is read-only above it is so beneath.
    pub(super) fn fix(&mut self, fd: BorrowedFd<'_>, path: &Path, read_only: bool) -> Result<(), Errno> {
        let path = straight(path);
        let above = match self.nearest(&path) {
            None => true,
            Some((_, MountKind::Shown { read_only, .. })) => *read_only,
            Some((at, _)) if at == path => return Ok(()),
            Some(_) => return Err(Errno::NOENT),
        };
        let read_only = read_only || above;
        let source = HostPath::of(fd, read_only)?;
        if read_only {
            self.seal_beneath(&path);
        }
        self.put(path, MountKind::Shown { source, read_only }, true);
        Ok(())
    }

    fn seal_beneath(&mut self, above: &Path) {
        for (_, part) in self.0.iter_mut().filter(|(path, _)| path.starts_with(above)) {
            if let MountKind::Shown { read_only, .. } = &mut part.what {
                *read_only = true;
            }
        }
    }

    pub(super) fn seen(&self, path: &Path) -> VisiblePath {
        let path = straight(path);
        match self.nearest(&path) {
            None => VisiblePath::At(path),
            Some((at, MountKind::Shown { source, .. })) => match path.strip_prefix(at) {
                Ok(rest) if !rest.as_os_str().is_empty() => {
                    VisiblePath::At(Path::new(&source.path).join(rest))
                }
                _ => VisiblePath::At(PathBuf::from(&source.path)),
            },
            Some((_, MountKind::Temporary)) => VisiblePath::Memory,
            Some((_, MountKind::Bare | MountKind::Hidden { .. })) => VisiblePath::Nothing,
        }
    }

    pub(super) fn shows(&self, path: &Path) -> bool {
        match self.nearest(path) {
            None | Some((_, MountKind::Shown { .. })) => true,
            Some((at, _)) => at == path,
        }
    }

    /// What is mounted at a path or nearest above it.
    fn nearest(&self, path: &Path) -> Option<(&Path, &MountKind)> {
        let (at, part) = path.ancestors().find_map(|above| self.0.get_key_value(above))?;
        Some((at, &part.what))
    }

    fn put(&mut self, path: PathBuf, what: MountKind, protects: bool) {
        self.0.insert(path, PlannedMount { what, protects });
    }

    /// The arguments that have it mounted. `nothing` gives a descriptor from which nothing is read, each for one use.
    pub fn arguments(
        &self,
        mut nothing: impl FnMut() -> Result<RawFd, Errno>,
    ) -> Result<Vec<OsString>, Errno> {
        let mut all = Vec::new();
        let mut add = |words: &[&OsStr]| all.extend(words.iter().map(OsString::from));
        let [perms, tmpfs, remount] = ["--perms", "--tmpfs", "--remount-ro"].map(OsStr::new);
        for (path, part) in &self.0 {
            let path = path.as_os_str();
            match &part.what {
                MountKind::Shown { source, read_only } => {
                    // What is to be protected and is gone meanwhile needs no protection.
                    let bind = match (read_only, part.protects) {
                        (true, true) => "--ro-bind-try",
                        (true, false) => "--ro-bind",
                        (false, true) => "--bind-try",
                        (false, false) => "--bind",
                    };
                    add(&[bind.as_ref(), &source.path, path]);
                }
                MountKind::Temporary => add(&[perms, "1777".as_ref(), tmpfs, path]),
                MountKind::Bare => add(&[tmpfs, path]),
                MountKind::Hidden { is_directory: true } => add(&[tmpfs, path, remount, path]),
                MountKind::Hidden { is_directory: false } => {
                    add(&["--ro-bind-data".as_ref(), nothing()?.to_string().as_ref(), path]);
                }
            }
        }
        // Once everything in them has its place.
        let bare = self.0.iter().filter(|(_, part)| part.what == MountKind::Bare);
        bare.for_each(|(path, _)| add(&[remount, path.as_os_str()]));
        Ok(all)
    }

    /// What there has to be when it has been mounted.
    pub(super) fn parts(&self) -> Vec<(OsString, PlannedMount)> {
        self.0.iter().map(|(path, part)| (path.into(), part.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(script: &MountScript) -> Vec<String> {
        let words = script.arguments(|| Ok(7)).unwrap();
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    /// Directories in a new one, and descriptors of them.
    fn scene() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("a/b/file"), "").unwrap();
        let top = dir.path().canonicalize().unwrap();
        (dir, move |path| if path.is_empty() { top.clone() } else { top.join(path) })
    }

    fn shown(script: &mut MountScript, path: &Path, at: &Path, is_read_only: bool) {
        let source = HostPath::of(point(path).unwrap().as_fd(), is_read_only).unwrap();
        script.show(source, at);
    }

    fn fixed(script: &mut MountScript, path: &Path, read_only: bool) -> Result<(), Errno> {
        script.fix(point(path).unwrap().as_fd(), path, read_only)
    }

    #[test]
    fn what_lies_above_is_mounted_first_whenever_it_was_planned() {
        let (_dir, path) = scene();
        let mut script = MountScript::default();
        shown(&mut script, &path(""), &path(""), false);
        script.cover(&path("a/b/file"), FileType::RegularFile);
        script.cover(&path("d"), FileType::Directory);
        fixed(&mut script, &path("a"), false).unwrap();
        let [top, a, d, file] = ["", "a", "d", "a/b/file"].map(|one| path(one).display().to_string());
        let all = ["--bind", &top, &top, "--bind-try", &a, &a, "--ro-bind-data", "7", &file];
        assert_eq!(told(&script), [&all[..], &["--tmpfs", &d, "--remount-ro", &d]].concat());
    }

    #[test]
    fn what_is_fixed_is_no_more_writable_than_what_is_above_it() {
        let (_dir, path) = scene();
        let mut script = MountScript::default();
        let is_read_only = |script: &MountScript, at: &str| match &script.0[&path(at)].what {
            MountKind::Shown { read_only, .. } => *read_only,
            what => panic!("{what:?}"),
        };
        // Nothing of the machine is writable that is not given.
        fixed(&mut script, &path("d"), false).unwrap();
        assert!(is_read_only(&script, "d"));
        shown(&mut script, &path("a"), &path("a"), false);
        fixed(&mut script, &path("a/b/c"), false).unwrap();
        assert!(!is_read_only(&script, "a/b/c"));
        fixed(&mut script, &path("a/b"), true).unwrap();
        assert!(
            is_read_only(&script, "a/b/c") && is_read_only(&script, "a/b") && !is_read_only(&script, "a")
        );
        fixed(&mut script, &path("a/b/file"), false).unwrap();
        assert!(is_read_only(&script, "a/b/file"));
    }

    #[test]
    fn beneath_what_is_hidden_nothing_is_seen() {
        let (_dir, path) = scene();
        let mut script = MountScript::default();
        shown(&mut script, &path(""), &path(""), false);
        script.hide(&path("a"), FileType::Directory);
        assert!(script.shows(&path("a")) && !script.shows(&path("a/b")) && script.shows(&path("d")));
        assert_eq!(fixed(&mut script, &path("a/b"), true), Err(Errno::NOENT));
        // It stays hidden, and as it is.
        fixed(&mut script, &path("a"), true).unwrap();
        script.cover(&path("a/b/file"), FileType::RegularFile);
        assert!(matches!(script.seen(&path("a/b")), VisiblePath::Nothing));
        assert_eq!(script.parts().len(), 2);
    }

    #[test]
    fn what_is_shown_elsewhere_is_found_where_it_lies() {
        let (_dir, path) = scene();
        let mut script = MountScript::default();
        shown(&mut script, &path("a"), &path("d"), false);
        assert!(matches!(script.seen(&path("d/b/file")), VisiblePath::At(real) if real == path("a/b/file")));
        assert!(matches!(script.seen(&path("d")), VisiblePath::At(real) if real == path("a")));
        // Only what is there is hidden.
        script.cover(&path("d/b"), FileType::Directory);
        script.cover(&path("d/nothing"), FileType::Directory);
        assert_eq!(script.parts().len(), 2);
        script.temporary(&path("d"));
        assert!(matches!(script.seen(&path("d/x")), VisiblePath::Memory));
    }
}
