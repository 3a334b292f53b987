//! A `/proc` that shows the processes of the command and no others.

use super::{Layer, LayerContext};
use crate::SetupFailure;
use rustix::io::Errno;
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

    /// It shows this process by the number that it has here, as the first.
    fn verify(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let own = rustix::fs::readlink("/proc/self", Vec::new());
        match own.is_ok_and(|own| own.as_bytes() == b"1") && rustix::process::getpid().is_init() {
            true => Ok(()),
            false => Err(SetupFailure::new("find the /proc that bwrap should have mounted", Errno::NOENT)),
        }
    }
}
