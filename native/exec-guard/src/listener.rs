//! The seccomp listener: receives start notifications and sends the answers.

use beamai_sandbox::layers::kernel_is_at_least;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use std::os::fd::{AsRawFd, OwnedFd};

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: each side sleeps right after waking the other, so both can share one CPU.
const SYNC_WAKE_UP: u64 = 1;
/// Buffer size for a notification. Later Linux kernels may add fields.
const ROOM: usize = 512;

/// Receives notifications and sends answers. Once it is closed, the Linux kernel fails starts with `ENOSYS`.
pub(super) struct NotificationListener {
    fd: OwnedFd,
    /// Whether a pending receive ends when no process is left beneath the filter (Linux 6.11 and newer). Saves one `poll`
    /// per notification.
    receiving_ends: bool,
}

/// A start that is waiting for its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notification {
    /// The id that the Linux kernel gave it.
    pub(super) id: u64,
    /// The thread's id in this process's pid namespace.
    pub(super) thread: i32,
    /// The system call number.
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
        // An optimisation; older Linux kernels lack it.
        _ = listener.ioctl(libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP as *mut libc::c_void);
        listener
    }

    /// Waits for a notification; `None` once the last process beneath the filter has ended.
    pub(super) fn next(&self) -> Result<Option<Notification>, Errno> {
        loop {
            // On an older Linux kernel the receive would block forever in that case.
            if !self.receiving_ends && !self.awaits(None)? {
                return Ok(None);
            }
            match self.take() {
                Err(Errno::INTR) => {}
                // The process was killed in the meantime, or none is left.
                Err(Errno::NOENT) if self.is_left()? => {}
                Err(Errno::NOENT) => return Ok(None),
                taken => return taken.map(Some),
            }
        }
    }

    /// Waits until there is something to receive; false if there never will be.
    fn awaits(&self, limit: Option<&Timespec>) -> Result<bool, Errno> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        retry_on_intr(|| poll(&mut fds, limit))?;
        Ok(fds[0].revents().contains(PollFlags::IN))
    }

    /// Whether any process is left beneath the filter.
    fn is_left(&self) -> Result<bool, Errno> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::empty())];
        retry_on_intr(|| poll(&mut fds, Some(&Timespec::default())))?;
        Ok(!fds[0].revents().contains(PollFlags::HUP))
    }

    fn take(&self) -> Result<Notification, Errno> {
        // SAFETY: plain integers, for which zero is valid; the Linux kernel requires a zeroed buffer.
        let mut room: NotificationBuffer = unsafe { std::mem::zeroed() };
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, (&raw mut room).cast())?;
        let libc::seccomp_notif { id, pid, data, .. } = room.report;
        Ok(Notification { id, thread: pid.cast_signed(), call: data.nr.into(), arguments: data.args })
    }

    /// Whether a start is still waiting. If so, everything read so far came from that very process.
    pub(super) fn waits(&self, mut id: u64) -> bool {
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, (&raw mut id).cast()).is_ok()
    }

    /// Lets a start continue. Errors are ignored: a process that has ended needs no answer.
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
