//! Clones this process.

use super::signals::last_error;
use rustix::io::Errno;
use rustix::process::Pid;

/// Forks this process with the namespaces in `flags`: returns `None` in the child, its pid in the parent.
pub(super) fn fork(flags: libc::c_int) -> Result<Option<Pid>, Errno> {
    debug_assert_eq!(flags & (libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_THREAD), 0);
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM the child has its own memory and stack, as after fork. This process has one thread, so
    // no lock can be held by a thread that the child lacks. No pointer is passed.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) } {
        -1 => Err(last_error()),
        pid => Ok(Pid::from_raw(i32::try_from(pid).unwrap_or(0))),
    }
}

/// Stack size for [`run_borrowing_memory`].
const STACK: usize = 64 << 10;

/// Runs `work` in a new process that shares this process's memory until it executes a program or exits; this process is
/// suspended until then. This saves copying page tables. `work` returns only on failure, and the new process then
/// exits.
pub(super) fn run_borrowing_memory<W: FnMut()>(mut work: W) -> Result<Pid, Errno> {
    extern "C" fn enter<W: FnMut()>(work: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer is the closure below, which outlives this use of it.
        let work = unsafe { &mut *work.cast::<W>() };
        // Aborts on a panic: unwinding must not leave this frame.
        work();
        127
    }
    let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: CLONE_VFORK suspends this process while the other one uses its memory, so `work` and `stack` outlive that
    // use and nothing races. The stack grows down from an end that is aligned to 16 bytes. The new process ends by exec
    // or by returning from `enter`, after which libc ends it without running exit handlers.
    let pid = unsafe {
        let top = stack.spare_capacity_mut().as_mut_ptr_range().end.cast();
        libc::clone(enter::<W>, top, flags, (&raw mut work).cast())
    };
    match pid {
        -1 => Err(last_error()),
        pid => Pid::from_raw(pid).ok_or(Errno::CHILD),
    }
}
