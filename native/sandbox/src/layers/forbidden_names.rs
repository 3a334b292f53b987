//! Files that must not be created, for directories where no placeholder can be mounted: such a file is removed as soon
//! as it appears, and the command is ended.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// Names that did not exist before the command.
#[derive(Default)]
pub struct ForbiddenNames {
    forbidden: Vec<ForbiddenName>,
    /// Notifies of new names in the directories.
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

    /// Polls as readable if such a file may have been created.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    /// Removes forbidden files, and returns the path of one of them.
    ///
    /// # Errors
    /// If it could not be removed.
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

    /// Read the notifications before checking the files, so that none is missed.
    fn silence(&self) {
        let mut room = [MaybeUninit::<u8>::uninit(); 4 << 10];
        while self.bell.as_ref().is_some_and(|bell| rustix::io::read(bell, &mut room).is_ok()) {}
    }
}

/// Whether there was a file to remove.
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
