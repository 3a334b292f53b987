//! Opens directories by handle, one component at a time, never following links, so that no path leads outside.

use beamai_workspace::expect_at;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Maximum depth; every level holds a file descriptor.
const MAX_DEPTH: usize = 256;

/// Names in a directory, with their types.
pub(crate) type DirEntries = Vec<(Vec<u8>, FileType)>;

/// A directory, with handles of the path that was entered last.
#[derive(Debug)]
pub struct Dirs {
    top: OwnedFd,
    stack: Vec<(Vec<u8>, OwnedFd)>,
    /// Whether rules are asked about paths: then a file must be opened at exactly its path.
    is_judged: bool,
}

/// Splits a path into directory and name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// Appends a name to a path.
pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    match path {
        [] => name.to_vec(),
        path => [path, b"/", name].concat(),
    }
}

impl Dirs {
    /// Directories below `top`.
    pub fn new(top: OwnedFd) -> Self {
        Self { top, stack: Vec::new(), is_judged: false }
    }

    /// As [`Dirs::new`], for files whose paths rules are asked about.
    pub(crate) fn judged(top: OwnedFd) -> Self {
        Self { is_judged: true, ..Self::new(top) }
    }

    /// The handle of a directory; of the top for an empty path.
    ///
    /// # Errors
    /// `NOENT` if it is missing, `NOTDIR` or `LOOP` if a component is not a real directory.
    pub(crate) fn enter(&mut self, path: &[u8]) -> Result<BorrowedFd<'_>, Errno> {
        let parts: Vec<&[u8]> =
            if path.is_empty() { Vec::new() } else { path.split(|byte| *byte == b'/').collect() };
        if parts.len() > MAX_DEPTH {
            return Err(Errno::NAMETOOLONG);
        }
        parts.iter().try_for_each(|part| check(part))?;
        let same = self.stack.iter().zip(&parts).take_while(|((name, _), part)| name == *part).count();
        self.stack.truncate(same);
        for part in &parts[same..] {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let dir = rustix::fs::openat(self.here(), *part, flags, Mode::empty())?;
            self.stack.push((part.to_vec(), dir));
        }
        Ok(self.here())
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.top.as_fd(), |(_, dir)| dir.as_fd())
    }

    /// Metadata of a path, without following links.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn lstat(&mut self, path: &[u8]) -> Result<Stat, Errno> {
        let (dir, name) = split(path);
        check(name)?;
        rustix::fs::statat(self.enter(dir)?, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// `LOOP` for a link, `NXIO` for anything else that is not a regular file.
    pub fn open_file(&mut self, path: &[u8]) -> Result<(File, Stat), Errno> {
        let (dir, name) = split(path);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        check(name)?;
        let fd = rustix::fs::openat(self.enter(dir)?, name, flags, Mode::empty())?;
        if self.is_judged {
            expect_at(self.top.as_fd(), path, fd.as_fd())?;
        }
        let stat = rustix::fs::fstat(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((File::from(fd), stat)),
            _ => Err(Errno::NXIO),
        }
    }

    /// The target of a link.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn read_link(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let (dir, name) = split(path);
        check(name)?;
        Ok(rustix::fs::readlinkat(self.enter(dir)?, name, Vec::new())?.into_bytes())
    }

    /// The entries of a directory, unsorted.
    pub(crate) fn list(&mut self, path: &[u8]) -> Result<DirEntries, Errno> {
        let dir = self.enter(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(open)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                let kind = match entry.file_type() {
                    // Some file systems do not report types in listings.
                    FileType::Unknown => kind_of(dir, name),
                    known => known,
                };
                names.push((name.to_vec(), kind));
            }
        }
        Ok(names)
    }
}

/// Refuses `.`, `..` and the like: an index may contain any path.
fn check(name: &[u8]) -> Result<(), Errno> {
    match name {
        b"" | b"." | b".." => Err(Errno::NOENT),
        _ => Ok(()),
    }
}

fn kind_of(dir: BorrowedFd<'_>, name: &[u8]) -> FileType {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("real")).unwrap();
        std::fs::write(temp.path().join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", temp.path().join("link")).unwrap();
        let mut dirs = Dirs::new(std::fs::File::open(temp.path()).unwrap().into());
        assert!(dirs.open_file(b"real/f").is_ok());
        assert!(dirs.open_file(b"link/f").is_err());
        assert!(dirs.lstat(b"link/f").is_err());
        assert_eq!(dirs.read_link(b"link").unwrap(), b"real");
        assert!(dirs.lstat(b"real/../real").is_err());
        assert!(dirs.lstat(b"..").is_err());
        assert!(dirs.open_file(b"/etc/passwd").is_err());
        assert_eq!(dirs.list(b"real").unwrap(), [(b"f".to_vec(), FileType::RegularFile)]);
    }
}
