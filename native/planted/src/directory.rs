//! A directory that commands can write to, opened so that no link escapes.

use super::budget::ChangeTime;
use super::{MOST, budget};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Contents by directory and by name in it, of contents by path.
pub(super) fn by_directory<T>(all: BTreeMap<PathBuf, T>) -> BTreeMap<PathBuf, Vec<(OsString, T)>> {
    let mut found: BTreeMap<PathBuf, Vec<_>> = BTreeMap::new();
    for (path, content) in all {
        let place = path.parent().unwrap_or(Path::new("")).to_owned();
        found.entry(place).or_default().push((path.file_name().unwrap_or_default().to_owned(), content));
    }
    found
}

/// Maximum number of directories that a walk looks into, as for the search of repositories, which tells of more.
const MOST_WALKED: usize = 30_000;

/// What changes with a file: identity, change time, size and number of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileStamp {
    own: [i128; 6],
    is_file: bool,
    /// Of what a link leads to.
    target: Option<[i128; 6]>,
}

/// An open directory. Operations stay in it even if it is moved.
pub(super) struct OpenDirectory(OwnedFd);

impl OpenDirectory {
    /// Opens a directory that the host has chosen; links are followed.
    pub(super) fn root(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, path, flags, Mode::empty()).map(Self)
    }

    /// Opens a directory beneath it, by a relative path without links.
    pub(super) fn beneath(&self, path: &Path) -> Result<Self, Errno> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve).map(Self)
    }

    /// The file type of a name in it; `None` if it does not exist.
    pub(super) fn kind(&self, name: impl AsRef<OsStr>) -> Option<FileType> {
        let stat = rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode))
    }

    /// The stamp of a file in or beneath it: what a link leads to counts, too. `None` if it does not exist.
    pub(super) fn stamp(&self, path: impl AsRef<Path>) -> Option<FileStamp> {
        let stat = |flags| rustix::fs::statat(&self.0, path.as_ref(), flags).ok();
        let own = stat(AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(own.st_mode);
        let target = if kind == FileType::Symlink { stat(AtFlags::empty()) } else { None };
        Some(FileStamp {
            own: numbers(&own),
            is_file: kind == FileType::RegularFile,
            target: target.as_ref().map(numbers),
        })
    }

    /// Opens the directory at a path, links followed.
    pub(super) fn within(&self, path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.0, path, flags, Mode::empty()).map(Self)
    }

    /// Whether a regular file has more than one name.
    pub(super) fn is_shared(&self, name: impl AsRef<OsStr>) -> bool {
        let stat = rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| {
            stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        })
    }

    /// Opens a regular file for reading.
    pub(super) fn open(&self, name: impl AsRef<OsStr>) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, name.as_ref(), flags, Mode::empty())?;
        match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::RegularFile => Ok(fd.into()),
            _ => Err(Errno::INVAL),
        }
    }

    /// Whether a regular file begins so.
    pub(super) fn has_start(&self, name: impl AsRef<OsStr>, start: &[u8]) -> Result<bool, Errno> {
        let mut text = vec![0; start.len()];
        let read = rustix::io::read(self.open(name)?, &mut text)?;
        Ok(text[..read] == *start)
    }

    /// The content of a regular file up to a size limit; an error for anything else.
    pub(super) fn read(&self, name: impl AsRef<OsStr>) -> Result<Vec<u8>, Errno> {
        self.read_up_to(name, MOST)
    }

    /// The same with another limit.
    pub(super) fn read_up_to(&self, name: impl AsRef<OsStr>, most: u64) -> Result<Vec<u8>, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, name.as_ref(), flags, Mode::empty())?;
        read_at_most(fd, most)
    }

    /// The same where links are followed.
    pub(super) fn read_through(&self, name: impl AsRef<OsStr>) -> Result<Vec<u8>, Errno> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        read_all(rustix::fs::openat(&self.0, name.as_ref(), flags, Mode::empty())?)
    }

    /// The target of a link.
    pub(super) fn link(&self, name: impl AsRef<OsStr>) -> Option<OsString> {
        use std::os::unix::ffi::OsStringExt;
        let target = rustix::fs::readlinkat(&self.0, name.as_ref(), Vec::new()).ok()?;
        Some(OsString::from_vec(target.into_bytes()))
    }

    /// The names in it that are links.
    pub(super) fn links(&self) -> Vec<OsString> {
        let links = self.entries().into_iter().filter(|(_, kind)| *kind == FileType::Symlink);
        links.map(|(name, _)| name).collect()
    }

    /// All names in it, with their file types.
    pub(super) fn entries(&self) -> Vec<(OsString, FileType)> {
        use std::os::unix::ffi::OsStrExt;
        let listing = rustix::fs::Dir::read_from(self.0.as_fd());
        let entries = listing.into_iter().flatten().flatten();
        let typed = entries.filter_map(|entry| {
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            // Some file systems do not report the type in a listing.
            let kind = Some(entry.file_type()).filter(|kind| *kind != FileType::Unknown);
            kind.or_else(|| self.kind(&name)).map(|kind| (name, kind))
        });
        typed.filter(|(name, _)| name != "." && name != "..").collect()
    }

    /// Calls `visit` with this directory and those beneath it: each open, with its path and its entries. `is_entered`
    /// chooses among the directories by the path that they are in, and their name. Git reaches none by a path that is
    /// too long.
    pub(super) fn walk(
        &self,
        is_entered: impl Fn(&Path, &OsStr) -> bool,
        mut visit: impl FnMut(&Self, &Path, Vec<(OsString, FileType)>),
    ) {
        let (mut rest, mut seen) = (vec![PathBuf::new()], 0);
        while let Some(path) = rest.pop().filter(|_| seen < MOST_WALKED) {
            let Ok(directory) = self.beneath(&path) else { continue };
            seen += 1;
            let entries = directory.entries();
            let directories = entries.iter().filter(|(_, kind)| *kind == FileType::Directory);
            let entered = directories.filter(|(name, _)| is_entered(&path, name));
            rest.extend(entered.map(|(name, _)| path.join(name)));
            visit(&directory, &path, entries);
        }
    }

    /// All names in it.
    pub(super) fn names(&self) -> Vec<OsString> {
        self.entries().into_iter().map(|(name, _)| name).collect()
    }
}

impl AsFd for OpenDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl FileStamp {
    pub(super) fn size(&self) -> i128 {
        self.own[4]
    }

    /// Whether a regular file has more than one name.
    pub(super) fn is_shared(&self) -> bool {
        self.is_file && self.own[5] > 1
    }
}

#[allow(clippy::useless_conversion, reason = "types differ between architectures")]
fn numbers(stat: &rustix::fs::Stat) -> [i128; 6] {
    [
        i128::from(stat.st_dev),
        i128::from(stat.st_ino),
        i128::from(stat.st_ctime),
        i128::from(stat.st_ctime_nsec),
        i128::from(stat.st_size),
        i128::from(stat.st_nlink),
    ]
}

/// The content of a regular file up to a size limit.
pub(super) fn read_all(fd: OwnedFd) -> Result<Vec<u8>, Errno> {
    read_at_most(fd, MOST)
}

fn read_at_most(fd: OwnedFd, most: u64) -> Result<Vec<u8>, Errno> {
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    if size > most {
        return Err(Errno::FBIG);
    }
    budget::reading(size, ChangeTime::of(&stat), || {
        let (mut text, mut file) = (Vec::new(), std::io::Read::take(File::from(fd), most + 1));
        match std::io::Read::read_to_end(&mut file, &mut text) {
            Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            Ok(_) if text.len() as u64 > most => Err(Errno::FBIG),
            Ok(_) => Ok(text),
        }
    })
}
