//! Files that must not come to be, where nothing can be put in their place: they are removed when the command has ended.

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};

/// Names that were absent before the command.
#[derive(Default)]
pub(in crate::process::linux) struct Intruders {
    /// Each in a directory.
    forbidden: Vec<(OwnedFd, &'static str)>,
}

impl Intruders {
    pub(super) fn forbid(&mut self, directory: OwnedFd, name: &'static str) {
        self.forbidden.push((directory, name));
    }

    /// Removes what must not have come to be; false when it could not be removed.
    pub(in crate::process::linux) fn remove(&self) -> bool {
        self.forbidden.iter().all(|(directory, name)| remove(directory, name).is_ok())
    }
}

fn remove(directory: &OwnedFd, name: &str) -> Result<(), Errno> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            let path = format!("/proc/self/fd/{}/{name}", directory.as_raw_fd());
            std::fs::remove_dir_all(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        }
        Ok(_) => rustix::fs::unlinkat(directory, name, AtFlags::empty()),
    }
}
