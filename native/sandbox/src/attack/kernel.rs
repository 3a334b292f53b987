//! Attempts to gain privileges, and to circumvent the system call filter.

use super::{checked, number};
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

fn refused(why: &str) -> io::Result<()> {
    Err(io::Error::other(why.to_owned()))
}

/// Whether other users exist in the user namespace.
pub(super) fn users() -> io::Result<()> {
    let map = std::fs::read_to_string("/proc/self/uid_map")?;
    let mut counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    match counts.any(|count| count > 1) || map.lines().count() > 1 {
        true => Ok(()),
        false => refused("there is one user"),
    }
}

/// Whether this process has capabilities. It was executed as the command's user, so it has all that an exec can give;
/// the rest of the bounding set is unreachable.
pub(super) fn capability() -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let names = ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"];
    let sets = status
        .lines()
        .filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name))?.split_whitespace().next());
    let is_any = sets.map(|set| u64::from_str_radix(set, 16).unwrap_or(u64::MAX)).any(|set| set != 0);
    if is_any { Ok(()) } else { refused("there is none") }
}

/// Whether a program can gain more privileges than its caller.
pub(super) fn privileges() -> io::Result<()> {
    // SAFETY: takes numbers only.
    match unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } {
        0 => Ok(()),
        _ => refused("no new privileges"),
    }
}

/// Sets a limit of another process to its current value.
pub(super) fn limit(pid: &str) -> io::Result<()> {
    let (pid, mut limit) = (number(pid)?, libc::rlimit64 { rlim_cur: 0, rlim_max: 0 });
    // SAFETY: the structure outlives both calls.
    unsafe {
        checked(libc::prlimit64(pid, libc::RLIMIT_NOFILE, ptr::null(), &raw mut limit).into())?;
        checked(libc::prlimit64(pid, libc::RLIMIT_NOFILE, &raw const limit, ptr::null_mut()).into()).map(drop)
    }
}

/// Sets another process to idle scheduling.
pub(super) fn priority(pid: &str) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the structure outlives the call.
    checked(unsafe { libc::sched_setscheduler(number(pid)?, libc::SCHED_IDLE, &raw const parameters) }.into())
        .map(drop)
}

/// Makes a system call of the 32-bit architecture: its number for getpid is another call's here.
#[cfg(target_arch = "x86_64")]
pub(super) fn foreign() -> io::Result<()> {
    let pid: i32;
    // SAFETY: asks for the process's number; the kernel keeps all registers but those that are named.
    unsafe {
        std::arch::asm!("int 0x80", inout("eax") 20 => pid, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    if pid > 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-pid)) }
}

/// Only x86-64 has an instruction for system calls of another architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn foreign() -> io::Result<()> {
    refused("there is no other architecture")
}

/// Makes a system call by its x32 number.
pub(super) fn other_numbers() -> io::Result<()> {
    // SAFETY: asks for the process's number.
    checked(unsafe { libc::syscall(0x4000_0000 | libc::SYS_getpid) }).map(drop)
}

/// Pushes input into its own terminal. The process must lead a session without a terminal.
pub(super) fn terminal() -> io::Result<()> {
    // Closing the terminal sends SIGHUP to its session.
    // SAFETY: a standard disposition.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    let master = std::fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx")?;
    let (mut number, unlocked) = (0_i32, 0_i32);
    // SAFETY: both requests take a pointer to a number, which outlives them.
    unsafe {
        checked(libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked).into())?;
        checked(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTN, &raw mut number).into())?;
    }
    let slave = std::fs::OpenOptions::new().read(true).write(true).open(format!("/dev/pts/{number}"))?;
    // SAFETY: takes a pointer to a byte, which outlives the call.
    checked(unsafe { libc::ioctl(slave.as_raw_fd(), libc::TIOCSTI, b"x".as_ptr()) }.into()).map(drop)
}
