//! Drops everything that the launcher inherited.

use super::signals::{self, Signals};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::Signal;
use std::os::fd::OwnedFd;

/// Prepares this process to be the launcher: its own session, default signals, no open descriptors except the socket
/// that was passed as standard input.
pub(super) fn clean_up() -> Result<(OwnedFd, Signals), Errno> {
    let socket = rustix::stdio::stdin();
    if sockopt::socket_type(socket)? != SocketType::STREAM
        || sockopt::socket_domain(socket)? != AddressFamily::UNIX
    {
        return Err(Errno::NOTSOCK);
    }
    close_from(3)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(socket, 3)?;
    point_stdio_at_null()?;
    // Fails only for a process that already leads a session.
    _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    _ = rustix::thread::set_name(c"beamai-launcher");
    leave_keyring();
    signals::reset();
    let signals = Signals::block()?;
    // If the port dies while this process is stopped, the end of input alone would not wake it. SIGCONT, because a
    // signal that kills would prevent the removal of files that reapers have created.
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
    // Processes of a reaper that is killed become children of the launcher.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok((socket, signals))
}

/// Creates a new session keyring, because the port's may contain the user's keys. Linux kernels without keyrings need
/// nothing.
fn leave_keyring() {
    // SAFETY: without a name, the call reads no pointer.
    unsafe {
        libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>())
    };
}

pub(super) fn point_stdio_at_null() -> Result<(), Errno> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)
}

pub(super) fn close_from(first: u32) -> Result<(), Errno> {
    // SAFETY: nothing in this process has opened a descriptor yet, so no closed descriptor has an owner.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } {
        0 => Ok(()),
        _ => Err(signals::last_error()),
    }
}
