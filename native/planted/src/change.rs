//! Changes in a directory that commands can write to.

use super::directory::OpenDirectory;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Maximum number of names that are tried for a file that is set aside, or written.
const MOST_TRIES: usize = 16;
/// Number of bytes of a file's name in one that has a random part.
const SHORT: usize = 64;
/// Prefix of the names of files that are moved to another directory.
pub(super) const MOVED: &str = "planted-";
/// The mode of a new file.
const NEW: Mode = Mode::from_raw_mode(0o644);

impl OpenDirectory {
    /// Opens a directory beneath it that may not be listed or searched; git could write in it all the same.
    pub(super) fn made_readable(&self, path: &Path) -> Result<Self, Errno> {
        let searched =
            |directory: Self| rustix::fs::statat(directory.as_fd(), ".", AtFlags::empty()).map(|_| directory);
        self.beneath(path).and_then(searched).or_else(|errno| {
            if errno != Errno::ACCESS {
                return Err(errno);
            }
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let found = rustix::fs::openat2(self.as_fd(), path, flags, Mode::empty(), resolve)?;
            let mode = Mode::from_raw_mode(rustix::fs::fstat(&found)?.st_mode & 0o777);
            let at = format!("/proc/self/fd/{}", found.as_raw_fd());
            rustix::fs::chmod(at, mode | Mode::RWXU)?;
            self.beneath(path)
        })
    }

    /// Removes a name that is not a directory's.
    pub(super) fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), Errno> {
        self.while_writable(|| rustix::fs::unlinkat(self.as_fd(), name.as_ref(), AtFlags::empty()))
    }

    /// Makes a link.
    pub(super) fn make_link(&self, name: impl AsRef<OsStr>, target: &OsStr) -> Result<(), Errno> {
        self.while_writable(|| rustix::fs::symlinkat(target, self.as_fd(), name.as_ref()))
    }

    /// Replaces a file by a copy, which has one name.
    pub(super) fn copy_in_place(&self, name: &OsStr) -> Result<(), Errno> {
        self.replace(name, &self.read(name)?)
    }

    /// Atomically replaces a file by one with this content, and the permissions that it had.
    pub(super) fn replace(&self, name: impl AsRef<OsStr>, text: &[u8]) -> Result<(), Errno> {
        let name = name.as_ref();
        let stat = rustix::fs::statat(self.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
        let before = stat.ok().filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        let mode = before.map_or(NEW, |stat| Mode::from_raw_mode(stat.st_mode & 0o777) | Mode::RUSR);
        self.while_writable(|| {
            let (draft, fd) = self.make_draft()?;
            let written = write(&fd, text)
                // By its descriptor: another file may have its name by now.
                .and_then(|()| rustix::fs::fchmod(&fd, mode))
                .and_then(|()| rustix::fs::renameat(self.as_fd(), &draft, self.as_fd(), name));
            if written.is_err() {
                _ = rustix::fs::unlinkat(self.as_fd(), &draft, AtFlags::empty());
            }
            written
        })
    }

    fn make_draft(&self) -> Result<(OsString, OwnedFd), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            let draft = OsString::from(format!("beamai-tmp-{}", random()));
            tries += 1;
            match rustix::fs::openat(self.as_fd(), &draft, flags, Mode::from_raw_mode(0o600)) {
                Err(Errno::EXIST) if tries < MOST_TRIES => {}
                made => return made.map(|fd| (draft, fd)),
            }
        }
    }

    /// Renames a file to an unused name, and returns that name.
    pub(super) fn set_aside(&self, name: impl AsRef<OsStr>) -> Result<OsString, Errno> {
        let name = name.as_ref();
        let mut aside = name.to_owned();
        aside.push(".planted");
        let mut tries = 0;
        loop {
            tries += 1;
            let renamed = self.while_writable(|| {
                rustix::fs::renameat_with(self.as_fd(), name, self.as_fd(), &aside, RenameFlags::NOREPLACE)
            });
            match renamed {
                Err(Errno::EXIST | Errno::NAMETOOLONG) if tries < MOST_TRIES => {
                    let start = &name.as_bytes()[..name.len().min(SHORT)];
                    aside = OsString::from_vec(start.to_vec());
                    aside.push(format!(".planted-{}", random()));
                }
                renamed => return renamed.map(|()| aside),
            }
        }
    }

    /// Moves a file to an unused name in another directory, where git looks for no such name, and returns that name.
    pub(super) fn move_to(&self, name: impl AsRef<OsStr>, other: &Self) -> Result<OsString, Errno> {
        let mut tries = 0;
        loop {
            tries += 1;
            let aside = OsString::from(format!("{MOVED}{}", random()));
            let renamed = self.while_writable(|| {
                other.while_writable(|| {
                    let flags = RenameFlags::NOREPLACE;
                    rustix::fs::renameat_with(self.as_fd(), name.as_ref(), other.as_fd(), &aside, flags)
                })
            });
            match renamed {
                Err(Errno::EXIST) if tries < MOST_TRIES => {}
                renamed => return renamed.map(|()| aside),
            }
        }
    }

    /// Does something again while the owner may write in it, if that is what has kept it from being done.
    fn while_writable<T>(&self, mut change: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
        change().or_else(|errno| {
            if errno != Errno::ACCESS {
                return Err(errno);
            }
            let mode = Mode::from_raw_mode(rustix::fs::fstat(self.as_fd())?.st_mode & 0o7777);
            rustix::fs::fchmod(self.as_fd(), mode | Mode::WUSR | Mode::XUSR)?;
            let done = change();
            _ = rustix::fs::fchmod(self.as_fd(), mode);
            done
        })
    }
}

fn write(fd: &OwnedFd, text: &[u8]) -> Result<(), Errno> {
    let mut rest = text;
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(fd, rest)?..];
    }
    Ok(())
}

/// Part of a name that nobody can have taken in advance.
fn random() -> String {
    // Its keys are random.
    format!("{:016x}", RandomState::new().hash_one(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn names(directory: &Path) -> Vec<String> {
        OpenDirectory::root(directory)
            .unwrap()
            .names()
            .into_iter()
            .map(|name| name.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_file_is_set_aside_whatever_names_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let directory = OpenDirectory::root(dir.path()).unwrap();
        let long = "e".repeat(255);
        for name in ["a", "a.planted", &long] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        for name in ["a", &long] {
            let aside = directory.set_aside(name).unwrap();
            assert!(!dir.path().join(name).exists());
            assert_eq!(fs::read_to_string(dir.path().join(aside)).unwrap(), name);
        }
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_no_draft_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let directory = OpenDirectory::root(dir.path()).unwrap();
        let file = dir.path().join("config");
        fs::write(&file, "a").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(dir.path().join("config.beamai-tmp")).unwrap();
        directory.replace("config", b"b").unwrap();
        directory.replace("new", b"c").unwrap();
        let mode = |name: &str| dir.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("config"), mode("new")), (0o600, 0o644));
        assert_eq!(fs::read_to_string(&file).unwrap(), "b");
        assert_eq!(names(dir.path()).len(), 3);
    }

    #[test]
    fn a_copy_in_place_of_a_link_changes_no_mode_outside() {
        let dir = tempfile::tempdir().unwrap();
        let directory = OpenDirectory::root(dir.path()).unwrap();
        let outside = dir.path().join("outside");
        fs::write(&outside, "x").unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&outside, dir.path().join("config")).unwrap();
        assert!(directory.copy_in_place("config".as_ref()).is_err());
        directory.replace("config", b"y").unwrap();
        assert_eq!(outside.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "x");
    }
}
