//! What the kernel tells of names that come and go.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// A bell that rings for every name that comes or goes in the directories that it is told of.
pub(super) struct InotifyWatch(OwnedFd);

/// A name that came or went, or both.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DirectoryEvent {
    /// In which directory.
    pub(super) watch: i32,
    pub(super) name: OsString,
    pub(super) is_directory: bool,
}

/// Too much has happened for each of it to be told.
#[derive(Debug)]
pub(super) struct EventOverflow;

impl InotifyWatch {
    pub(super) fn new() -> Result<Self, Errno> {
        inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map(Self)
    }

    /// Rings for a directory from now on.
    pub(super) fn add(&self, directory: &OwnedFd) -> Result<i32, Errno> {
        let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        inotify::add_watch(&self.0, path, names | WatchFlags::ONLYDIR)
    }

    pub(super) fn remove(&self, watch: i32) {
        // The kernel does so itself with a directory that is gone.
        _ = inotify::remove_watch(&self.0, watch);
    }

    /// What has happened since the last time.
    pub(super) fn news(&self, mut take: impl FnMut(DirectoryEvent)) -> Result<(), EventOverflow> {
        let mut room = [MaybeUninit::uninit(); 8 << 10];
        let mut reader = Reader::new(&self.0, &mut room);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(_) => return Err(EventOverflow),
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return Err(EventOverflow);
            }
            if let Some(name) = event.file_name() {
                take(DirectoryEvent {
                    watch: event.wd(),
                    name: OsStr::from_bytes(name.to_bytes()).to_owned(),
                    is_directory: event.events().contains(ReadFlags::ISDIR),
                });
            }
        }
    }
}
