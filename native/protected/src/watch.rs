//! An inotify watch for created and removed names, and for directories whose mode changes.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// An inotify instance.
pub(super) struct InotifyWatch(OwnedFd);

/// A name that was created or removed, or both, or a directory whose mode has changed.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DirectoryEvent {
    /// The watch of its directory.
    pub(super) watch: i32,
    pub(super) name: OsString,
    pub(super) is_directory: bool,
    /// Whether the name is still there, with another mode, owner or time.
    pub(super) is_of_mode: bool,
}

/// The event queue has overflowed.
#[derive(Debug)]
pub(super) struct EventOverflow;

impl InotifyWatch {
    pub(super) fn new() -> Result<Self, Errno> {
        inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map(Self)
    }

    /// Watches a directory.
    pub(super) fn add(&self, directory: &OwnedFd) -> Result<i32, Errno> {
        let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        let modes = WatchFlags::ATTRIB;
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        inotify::add_watch(&self.0, path, names | modes | WatchFlags::ONLYDIR)
    }

    pub(super) fn remove(&self, watch: i32) {
        // The Linux kernel has removed the watch of a deleted directory already.
        _ = inotify::remove_watch(&self.0, watch);
    }

    /// All events since the last call.
    pub(super) fn read_events(&self, mut take: impl FnMut(DirectoryEvent)) -> Result<(), EventOverflow> {
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
            let is_directory = event.events().contains(ReadFlags::ISDIR);
            let is_of_mode = event.events().contains(ReadFlags::ATTRIB);
            if let Some(name) = event.file_name().filter(|_| is_directory || !is_of_mode) {
                let name = OsStr::from_bytes(name.to_bytes()).to_owned();
                take(DirectoryEvent { watch: event.wd(), name, is_directory, is_of_mode });
            }
        }
    }
}
