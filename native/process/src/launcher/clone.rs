//! Cloning this process.

use super::signals::last_error;
use rustix::io::Errno;
use rustix::process::Pid;

/// A copy of this process in the namespaces that `flags` name: `None` in the copy, its pid in the original.
pub(super) fn fork(flags: libc::c_int) -> Result<Option<Pid>, Errno> {
    debug_assert_eq!(flags & (libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_THREAD), 0);
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM the copy has its own memory and its own stack, as after fork. This process has one
    // thread, so no lock can be held by a thread that the copy lacks. No pointer is passed.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) } {
        -1 => Err(last_error()),
        pid => Ok(Pid::from_raw(i32::try_from(pid).unwrap_or(0))),
    }
}

/// Bytes of stack for [`run_borrowing_memory`].
const STACK: usize = 64 << 10;

/// Runs `work` in a new process that borrows this one's memory until it has become another program or has
/// ended; this process waits until then, so copying page tables is saved. `work` returns only when it failed,
/// and the new process ends with it.
pub(super) fn run_borrowing_memory<W: FnMut()>(mut work: W) -> Result<Pid, Errno> {
    extern "C" fn enter<W: FnMut()>(work: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer is the closure below, which outlives this process's use of it.
        let work = unsafe { &mut *work.cast::<W>() };
        // Aborts at a panic: unwinding must not leave this frame.
        work();
        127
    }
    let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: CLONE_VFORK suspends this process while the other one uses its memory, so `work` and `stack` outlive
    // that use and nothing races; the stack grows down from an end that is aligned to 16 bytes. The new process
    // ends by exec or by returning from `enter`, upon which libc ends it without running exit handlers.
    let pid = unsafe {
        let top = stack.spare_capacity_mut().as_mut_ptr_range().end.cast();
        libc::clone(enter::<W>, top, flags, (&raw mut work).cast())
    };
    match pid {
        -1 => Err(last_error()),
        pid => Pid::from_raw(pid).ok_or(Errno::CHILD),
    }
}
