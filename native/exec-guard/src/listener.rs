//! The listener: the kernel's end of the filter that reports starts.

use beamai_sandbox::layers::kernel_is_at_least;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use std::os::fd::{AsRawFd, OwnedFd};

/// As in the kernel's `seccomp.h`: whoever answers is about to sleep, so the asker may take its processor.
const SYNC_WAKE_UP: u64 = 1;
/// Room for a report of a later kernel, which tells more.
const ROOM: usize = 512;

/// Reports starts and takes the answers. The kernel fails starts with `ENOSYS` once it is closed.
pub(super) struct NotificationListener {
    fd: OwnedFd,
    /// Whether the Linux kernel ends a wait for reports when there can be none any more: from 6.11 on. Saves a call for
    /// each report.
    receiving_ends: bool,
}

/// A start that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notification {
    /// The kernel's number of it.
    pub(super) id: u64,
    /// The thread, as this process sees it.
    pub(super) thread: i32,
    /// Number of the system call.
    pub(super) call: i64,
    /// Its arguments.
    pub(super) arguments: [u64; 6],
}

#[repr(C, align(8))]
struct NotificationBuffer {
    report: libc::seccomp_notif,
    _more: [u8; ROOM],
}

impl NotificationListener {
    pub(super) fn new(fd: OwnedFd) -> Self {
        let listener = Self { fd, receiving_ends: kernel_is_at_least(6, 11) };
        // Saves time only; older kernels do not have it.
        _ = listener.ioctl(libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP as *mut libc::c_void);
        listener
    }

    /// Waits for a report; `None` when the last process beneath the filter is gone.
    pub(super) fn next(&self) -> Result<Option<Notification>, Errno> {
        loop {
            // An older kernel would have whoever receives wait for ever then.
            if !self.receiving_ends && !self.awaits(None)? {
                return Ok(None);
            }
            match self.take() {
                Err(Errno::INTR) => {}
                // It was killed meanwhile, or there is nobody left.
                Err(Errno::NOENT) if self.is_left()? => {}
                Err(Errno::NOENT) => return Ok(None),
                taken => return taken.map(Some),
            }
        }
    }

    /// Waits until there is something to receive. False where there never will be.
    fn awaits(&self, limit: Option<&Timespec>) -> Result<bool, Errno> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        retry_on_intr(|| poll(&mut fds, limit))?;
        Ok(fds[0].revents().contains(PollFlags::IN))
    }

    /// Whether there is a process beneath the filter.
    fn is_left(&self) -> Result<bool, Errno> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::empty())];
        retry_on_intr(|| poll(&mut fds, Some(&Timespec::default())))?;
        Ok(!fds[0].revents().contains(PollFlags::HUP))
    }

    fn take(&self) -> Result<Notification, Errno> {
        // SAFETY: numbers only, for which zero is a value; the kernel wants it so.
        let mut room: NotificationBuffer = unsafe { std::mem::zeroed() };
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, (&raw mut room).cast())?;
        let libc::seccomp_notif { id, pid, data, .. } = room.report;
        Ok(Notification { id, thread: pid.cast_signed(), call: data.nr.into(), arguments: data.args })
    }

    /// Whether a start still waits: then what was read of its process in between was that process's.
    pub(super) fn waits(&self, mut id: u64) -> bool {
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, (&raw mut id).cast()).is_ok()
    }

    /// Lets a start go on. One whose process is gone needs no answer.
    pub(super) fn go_on(&self, id: u64) {
        self.answer(id, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32);
    }

    /// Fails a start.
    pub(super) fn fail(&self, id: u64, errno: Errno) {
        self.answer(id, -errno.raw_os_error(), 0);
    }

    fn answer(&self, id: u64, error: i32, flags: u32) {
        let mut answer = libc::seccomp_notif_resp { id, val: 0, error, flags };
        _ = self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, (&raw mut answer).cast());
    }

    fn ioctl(&self, request: libc::Ioctl, argument: *mut libc::c_void) -> Result<(), Errno> {
        // SAFETY: each caller passes what the request takes, and it outlives the call.
        match unsafe { libc::ioctl(self.fd.as_raw_fd(), request, argument) } {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            _ => Ok(()),
        }
    }
}
