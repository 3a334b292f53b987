//! Leaving behind whatever the launcher inherited.

use super::signals::{self, Signals};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::Signal;
use std::os::fd::OwnedFd;

/// Makes this process the launcher: a session of its own, default signals, nothing open but the socket that
/// came as standard input.
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
    // Fails only for a process that leads a session already.
    _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    _ = rustix::thread::set_name(c"beamai-launcher");
    leave_keyring();
    signals::reset();
    let signals = Signals::block()?;
    // Should the port die while this process is stopped, no end of input would wake it. A signal that kills would come
    // before the files that reapers have made are removed.
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
    // What a reaper leaves behind that is killed by force falls to the launcher.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok((socket, signals))
}

/// Takes a new session keyring, for the port's may hold the user's keys. A kernel without keyrings has nothing to
/// leave behind.
fn leave_keyring() {
    // SAFETY: without a name, the call takes no pointer that is read.
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
    // SAFETY: nothing in this process has opened a descriptor yet, so none that is closed has an owner.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } {
        0 => Ok(()),
        _ => Err(signals::last_error()),
    }
}
