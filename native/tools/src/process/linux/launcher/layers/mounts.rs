//! A mount namespace: what is mounted for the command is mounted for nobody else.

use super::{Layer, Outside};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountPropagationFlags;
use std::os::fd::OwnedFd;

pub(super) struct Mounts;

impl Layer for Mounts {
    fn name(&self) -> &'static str {
        "mount_namespace"
    }

    fn namespaces(&self) -> libc::c_int {
        libc::CLONE_NEWNS
    }

    /// The list of mounts: the kernel tells a poll of it about every change.
    fn witness(&self) -> Result<Option<OwnedFd>, Errno> {
        rustix::fs::open("/proc/self/mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(Some)
    }

    fn enter(&self, _: &Outside) -> Result<(), Errno> {
        // Mounts of the machine go on arriving, for the reaper may have been made long before its command.
        rustix::mount::mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
    }
}
