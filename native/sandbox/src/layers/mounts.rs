//! A mount namespace: what is mounted for the command is mounted for nobody else.

use super::{Layer, LayerContext};
use crate::SetupFailure;
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

    fn is_optional(&self) -> bool {
        false
    }

    /// The list of mounts: the kernel tells a poll of it about every change. A mount also goes when the machine
    /// replaces the file that it covers.
    fn witness(&self) -> Result<Option<OwnedFd>, Errno> {
        rustix::fs::open("/proc/self/mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(Some)
    }

    /// Nothing is mounted from here to there, nor, once it is read-only, from there to here.
    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .map_err(|errno| SetupFailure::new("make the mounts private", errno))
    }
}
