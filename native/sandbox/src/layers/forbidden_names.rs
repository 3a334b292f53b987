//! Files that must not come to be, where nothing can be put in their place: they are removed as soon as they are there,
//! and the command with them.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// Names that were absent before the command.
#[derive(Default)]
pub struct ForbiddenNames {
    forbidden: Vec<ForbiddenName>,
    /// Rings when names come to be in the directories.
    bell: Option<OwnedFd>,
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

    /// Polls as readable when something may have come to be.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    /// Removes what must not have come to be, and gives the path of one such file.
    ///
    /// # Errors
    /// It could not be removed.
    pub fn remove(&self) -> Result<Option<String>, Errno> {
        self.silence();
        let mut found = None;
        for ForbiddenName { directory, name, path } in &self.forbidden {
            if remove(directory, name)? {
                found.get_or_insert_with(|| path.display().to_string());
            }
        }
        Ok(found)
    }

    /// What rang is looked at after this, so that nothing is missed.
    fn silence(&self) {
        let mut room = [MaybeUninit::<u8>::uninit(); 4 << 10];
        while self.bell.as_ref().is_some_and(|bell| rustix::io::read(bell, &mut room).is_ok()) {}
    }
}

/// Whether there was something to be removed.
fn remove(directory: &OwnedFd, name: &str) -> Result<bool, Errno> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            let path = format!("/proc/self/fd/{}/{name}", directory.as_raw_fd());
            let removed = std::fs::remove_dir_all(path);
            removed.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)).map(|()| true)
        }
        Ok(_) => rustix::fs::unlinkat(directory, name, AtFlags::empty()).map(|()| true),
    }
}
