//! A reaper that is no clone: this program, started again within namespaces that `bwrap` has made.

use super::bwrap::{CONTROL, PLAN, read_all};
use super::clean::{close_from, point_stdio_at_null};
use super::reaper::Reaper;
use super::signals::{self, Signals};
use crate::{
    frame,
    message::{Setup, from_bytes, to_bytes},
};
use beamai_sandbox::{
    SetupFailure,
    layers::{BY_BWRAP, ReaperPlan},
};
use rustix::io::{Errno, FdFlags};
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
    let reaper_plan: ReaperPlan = from_bytes(&read_all(plan)?)?;
    begin(control, &reaper_plan).inspect_err(|errno| tell(control, *errno)).map(|signals| {
        // SAFETY: open, and from here on nobody else's.
        let control = unsafe { OwnedFd::from_raw_fd(CONTROL) };
        let (confinement, outside) = (reaper_plan.confinement.clone(), reaper_plan.outside);
        Reaper { control, signals, profile: BY_BWRAP, confinement, outside, reaper_plan: Some(reaper_plan) }
    })
}

/// Makes this process a reaper: default signals, nothing open but the socket.
fn begin(control: BorrowedFd<'_>, reaper_plan: &ReaperPlan) -> Result<Signals, Errno> {
    close_from(PLAN.cast_unsigned())?;
    rustix::io::fcntl_setfd(control, FdFlags::CLOEXEC)?;
    point_stdio_at_null()?;
    _ = rustix::thread::set_name(c"beamai-reaper");
    reaper_plan.restore_limits()?;
    signals::reset();
    Signals::block()
}

fn tell(control: BorrowedFd<'_>, errno: Errno) {
    let failure = SetupFailure::new("begin within what was made", errno);
    _ = frame::send(control, &to_bytes(&Setup::Err(failure)), &[]);
}
