//! Signals as a pollable descriptor, and their dispositions for a command.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// SIGCHLD, and SIGTERM, which the Linux kernel sends when the launcher dies.
const READ: [libc::c_int; 2] = [libc::SIGCHLD, libc::SIGTERM];

/// The signals that launcher and reapers read from a descriptor.
pub(super) struct Signals(OwnedFd);

impl Signals {
    /// Blocks all signals, so that none but SIGKILL ends the process, and opens a descriptor that reports some. Every
    /// process, including clones, reads its own signals from it.
    pub(super) fn block() -> Result<Self, Errno> {
        let (set, mut all) = (set_of(&READ), set_of(&[]));
        // SAFETY: the sets are initialized and outlive the calls; the descriptor that signalfd returns is new.
        unsafe {
            libc::sigfillset(&raw mut all);
            if libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut()) != 0 {
                return Err(last_error());
            }
            match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(last_error()),
                fd => Ok(Self(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    pub(super) fn try_clone(&self) -> Result<Self, Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.0, 3).map(Self)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Waits briefly for the exit of a child. The timeout covers exits that are not signalled to any parent.
    pub(super) fn wait_briefly(&self) {
        let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
        _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
        self.take();
    }

    /// Reads pending signals; true if SIGTERM was among them.
    pub(super) fn take(&self) -> bool {
        let mut ordered = false;
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        while let Ok(length) = rustix::io::read(&self.0, &mut record) {
            let Some(number) = record[..length].first_chunk() else { break };
            ordered |= u32::from_ne_bytes(*number) == libc::SIGTERM.unsigned_abs();
        }
        ordered
    }
}

/// Ignored, because writes report the same as an error: that nobody reads any more, and that a file would be larger
/// than the limit (setrlimit(2)).
const IGNORED: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Resets all signals to their default, also those that the parent ignored, and then ignores [`IGNORED`].
pub(super) fn reset() {
    // The Linux kernel's structure, at its largest size on any architecture: no handler, no flags, empty mask.
    let default = [0_u64; 8];
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: the structure outlives the call. libc's wrapper would skip the two signals that it reserves for
        // threads; this process has only one. SIGKILL and SIGSTOP are refused, as expected.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, number, default.as_ptr(), 0_usize, 8_usize) };
    }
    ignore_signals_of_writes();
}

/// Ignores the signals that a write can cause, so that it fails instead of ending this process.
pub fn ignore_signals_of_writes() {
    for number in IGNORED {
        // SAFETY: a standard disposition.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
}

/// Unblocks all signals and resets those that are ignored, for a program that is about to be executed in this process.
pub(super) fn release() -> Result<(), Errno> {
    let none = set_of(&[]);
    // SAFETY: the set is initialized and outlives the call; the signals get a standard disposition.
    unsafe {
        for number in IGNORED {
            libc::signal(number, libc::SIG_DFL);
        }
        match libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }
}

fn set_of(numbers: &[libc::c_int]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: sigemptyset initializes the set; the numbers are valid, so sigaddset cannot fail.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for number in numbers {
            libc::sigaddset(set.as_mut_ptr(), *number);
        }
        set.assume_init()
    }
}

/// The error of the libc call that has just failed.
pub(super) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
