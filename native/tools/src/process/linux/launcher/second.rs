//! A reaper that is no clone: this program, started again within namespaces that `bwrap` has made.

use super::bwrap::{CONTROL, PLAN, read_all};
use super::clean::{close_from, point_stdio_at_null};
use super::reaper::Reaper;
use super::signals::{self, Signals};
use crate::process::linux::message::from_bytes;
use crate::process::linux::sandbox::{BY_BWRAP, Made};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

/// Takes what the launcher has left for it, and nothing else.
pub(super) fn reaper() -> Result<Reaper, Errno> {
    // SAFETY: looked at only; nothing in this process has opened or closed a descriptor yet.
    let (control, plan) = unsafe { (BorrowedFd::borrow_raw(CONTROL), BorrowedFd::borrow_raw(PLAN)) };
    if sockopt::socket_type(control)? != SocketType::STREAM
        || sockopt::socket_domain(control)? != AddressFamily::UNIX
    {
        return Err(Errno::NOTSOCK);
    }
    let made: Made = from_bytes(&read_all(plan)?)?;
    close_from(PLAN.cast_unsigned())?;
    rustix::io::fcntl_setfd(control, rustix::io::FdFlags::CLOEXEC)?;
    // SAFETY: open, and from here on nobody else's.
    let control = unsafe { OwnedFd::from_raw_fd(CONTROL) };
    point_stdio_at_null()?;
    _ = rustix::thread::set_name(c"beamai-reaper");
    made.restore_limits()?;
    signals::reset();
    let signals = Signals::block()?;
    let (confinement, outside) = (made.confinement.clone(), made.outside);
    Ok(Reaper { control, signals, way: BY_BWRAP, confinement, outside, made: Some(made) })
}
