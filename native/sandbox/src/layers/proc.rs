//! A private `/proc`, which shows only the command's processes.

use super::{Layer, LayerContext};
use crate::SetupFailure;
use rustix::mount::MountFlags;

pub(super) struct Proc;

impl Layer for Proc {
    fn name(&self) -> &'static str {
        "private_proc"
    }

    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        rustix::mount::mount("proc", "/proc", "proc", flags, None)
            .map_err(|errno| SetupFailure::new("mount a /proc", errno))
    }
}
