//! Drops all capabilities permanently, also for root.

use super::{Layer, LayerContext};
use crate::SetupFailure;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

pub(super) struct Capabilities;

impl Layer for Capabilities {
    fn name(&self) -> &'static str {
        "no_capabilities"
    }

    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        drop_all().map_err(|errno| SetupFailure::new("drop the capabilities", errno))
    }
}

fn drop_all() -> Result<(), Errno> {
    rustix::thread::clear_ambient_capability_set()?;
    drop_bounding_set()?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )
}

/// Capabilities outside of the bounding set cannot be regained by exec. A process that may not empty it does not need
/// to: it is not root, and gets no new privileges.
fn drop_bounding_set() -> Result<(), Errno> {
    // SAFETY: takes numbers only. Numbers that the Linux kernel does not know are an error.
    let has = |number: libc::c_int| unsafe { libc::prctl(libc::PR_CAPBSET_READ, number, 0, 0, 0) } == 1;
    // SAFETY: takes numbers only.
    let drop = |number: libc::c_int| unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) } == 0;
    for number in (0..64).filter(|number| has(*number)) {
        if !drop(number) {
            let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
            return if rustix::process::geteuid().is_root() { Err(errno) } else { Ok(()) };
        }
    }
    Ok(())
}
