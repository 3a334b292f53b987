//! A mount namespace: mounts for the command are visible to nobody else.

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

    /// The list of mounts: polling it reports every change. A mount also disappears if the machine replaces the file
    /// that it covers.
    fn witness(&self) -> Result<Option<OwnedFd>, Errno> {
        rustix::fs::open("/proc/self/mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(Some)
    }

    /// Mounts are not propagated in either direction.
    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .map_err(|errno| SetupFailure::new("make the mounts private", errno))
    }
}
