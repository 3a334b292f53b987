//! Signals as something that can be polled, and as a command expects to find them.

use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// The end of a child, and the order to end everything (which the kernel sends when the launcher dies).
const READ: [libc::c_int; 2] = [libc::SIGCHLD, libc::SIGTERM];

/// The signals that launcher and reapers read instead of being interrupted by them.
pub(super) struct Signals(OwnedFd);

impl Signals {
    /// Blocks the signals, and only them, and opens a descriptor that shows them. Each process reads its own
    /// signals from it, a clone too.
    pub(super) fn block() -> Result<Self, Errno> {
        let set = set_of(&READ);
        // SAFETY: the set is initialised and outlives both calls; the descriptor that signalfd returns is new.
        unsafe {
            if libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) != 0 {
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

    /// Takes the signals that have come; true when one of them was the order to end.
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

/// Every signal to its default, whatever the parent ignored; a broken pipe is ignored, for it shows as an error.
pub(super) fn reset() {
    // The kernel's structure, larger on no architecture: no handler, no flags, nothing masked.
    let default = [0_u64; 8];
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: the structure outlives the call. libc's own call would leave out the two signals that it keeps
        // for threads, and this process has but one. SIGKILL and SIGSTOP are refused, as they should be.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, number, default.as_ptr(), 0_usize, 8_usize) };
    }
    // SAFETY: a standard disposition.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Nothing blocked and nothing ignored, for a program that is about to start in this process.
pub(super) fn release() -> Result<(), Errno> {
    let none = set_of(&[]);
    // SAFETY: the set is initialised and outlives the call; SIGPIPE gets a standard disposition.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        match libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }
}

fn set_of(numbers: &[libc::c_int]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set; the numbers are valid, so sigaddset cannot fail.
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
