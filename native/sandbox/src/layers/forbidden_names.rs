//! Files that must not be created, for directories where no placeholder can be mounted: such a file is removed as soon
//! as it appears, a directory is renamed, and the command is ended.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{AtFlags, FileType, Mode, RenameFlags};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// Maximum number of names that are tried for a file that is set aside.
const MOST_TRIES: usize = 16;

/// Names that did not exist before the command.
#[derive(Default)]
pub struct ForbiddenNames {
    forbidden: Vec<ForbiddenName>,
    /// Notifies of new names in the directories.
    bell: Option<OwnedFd>,
}

/// What was there of them.
pub struct FoundIntruders {
    /// The path of one that was there, or could not be looked for.
    pub path: Option<String>,
    /// Whether none is there any more.
    pub are_gone: bool,
}

struct ForbiddenName {
    directory: OwnedFd,
    name: String,
    /// For people.
    path: PathBuf,
}

impl ForbiddenNames {
    pub(super) fn forbid(&mut self, directory: OwnedFd, name: &str, path: PathBuf) -> Result<(), Errno> {
        let bell = match self.bell.take() {
            Some(bell) => bell,
            None => inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
        };
        let watched = format!("/proc/self/fd/{}", directory.as_raw_fd());
        inotify::add_watch(&bell, watched, WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR)?;
        self.bell = Some(bell);
        self.forbidden.push(ForbiddenName { directory, name: name.to_owned(), path });
        Ok(())
    }

    /// Polls as readable if such a file may have been created.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    /// Removes forbidden files. One that cannot be removed keeps none of the others.
    pub fn remove(&self) -> FoundIntruders {
        self.silence();
        let mut found = FoundIntruders { path: None, are_gone: true };
        for forbidden in &self.forbidden {
            let removed = forbidden.remove();
            found.are_gone &= removed.is_ok();
            if removed != Ok(false) {
                found.path.get_or_insert_with(|| forbidden.path.display().to_string());
            }
        }
        found
    }

    /// Read the notifications before checking the files, so that none is missed.
    fn silence(&self) {
        let mut room = [MaybeUninit::<u8>::uninit(); 4 << 10];
        while self.bell.as_ref().is_some_and(|bell| rustix::io::read(bell, &mut room).is_ok()) {}
    }
}

impl ForbiddenName {
    /// Whether there was a file to remove.
    fn remove(&self) -> Result<bool, Errno> {
        let removed = match self.remove_from_directory() {
            // The command may have closed the directory after it created the file.
            Err(Errno::ACCESS) => self.with_access(|| self.remove_from_directory()),
            removed => removed,
        };
        match removed {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::STALE) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    fn remove_from_directory(&self) -> Result<(), Errno> {
        let stat = rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            match rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty()) {
                // It is a directory by now.
                Err(Errno::ISDIR | Errno::PERM) => {}
                done => return done,
            }
        }
        // What is in it could take any time to delete, or could not be deleted at all.
        self.set_aside()
    }

    fn set_aside(&self) -> Result<(), Errno> {
        let mut suffix = String::new();
        for _ in 0..MOST_TRIES {
            let aside = format!("{}.planted{suffix}", self.name);
            let (from, to) = (&self.directory, &self.directory);
            match rustix::fs::renameat_with(from, &self.name, to, &aside, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                done => return done,
            }
            let mut random = [0; 4];
            getrandom(&mut random, GetRandomFlags::empty())?;
            suffix = format!("-{:08x}", u32::from_ne_bytes(random));
        }
        Err(Errno::EXIST)
    }

    /// Does something while the owner may do everything in the directory.
    fn with_access<T>(&self, act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.directory)?.st_mode & 0o7777);
        rustix::fs::fchmod(&self.directory, mode | Mode::RWXU)?;
        let done = act();
        _ = rustix::fs::fchmod(&self.directory, mode);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::OFlags;
    use std::fs;

    fn forbidding(directory: &std::path::Path, names: &[&str]) -> ForbiddenNames {
        let mut forbidden = ForbiddenNames::default();
        for name in names {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = rustix::fs::open(directory, flags, Mode::empty()).unwrap();
            forbidden.forbid(fd, name, name.into()).unwrap();
        }
        forbidden
    }

    #[test]
    fn all_are_removed_though_one_cannot_be_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        let forbidden = forbidding(dir.path(), &["file/x", "a", "b"]);
        for name in ["file", "a", "b"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let found = forbidden.remove();
        assert_eq!((found.path.as_deref(), found.are_gone), (Some("file/x"), false));
        assert!(!dir.path().join("a").exists() && !dir.path().join("b").exists());
    }

    #[test]
    fn a_directory_is_renamed_with_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let forbidden = forbidding(dir.path(), &["a"]);
        let found = forbidden.remove();
        assert_eq!((found.path, found.are_gone), (None, true));
        for _ in 0..2 {
            fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
            let found = forbidden.remove();
            assert_eq!((found.path.as_deref(), found.are_gone), (Some("a"), true));
        }
        assert!(dir.path().join("a.planted/b/c").exists() && !dir.path().join("a").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
