//! A `/proc` that shows the processes of the command and no others.

use super::{Layer, Outside};
use rustix::io::Errno;
use rustix::mount::MountFlags;

pub(super) struct Proc;

impl Layer for Proc {
    fn name(&self) -> &'static str {
        "private_proc"
    }

    /// A container that hides parts of its `/proc` refuses a new one; the pid namespace holds without it.
    fn is_optional(&self) -> bool {
        true
    }

    fn enter(&self, _: &Outside) -> Result<(), Errno> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        rustix::mount::mount("proc", "/proc", "proc", flags, None)
    }
}
