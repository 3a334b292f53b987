//! System calls that have led out of sandboxes. Each is made so that it works, or fails for a reason of its own, where
//! nothing forbids it.

use super::checked;
use std::io;
use std::ptr;

/// Makes the call. A refusal is `EPERM`, or `ENOSYS` for those that programs ask for first; any other error comes from
/// beyond the filter and counts as success.
pub(super) fn call(name: &str) -> io::Result<()> {
    let made = match CALLS.iter().find(|(known, _)| *known == name) {
        // SAFETY: each call gets null pointers, which the kernel refuses to follow, or numbers that mean nothing.
        Some((_, call)) => checked(unsafe { call() }),
        None => return Err(io::Error::other(format!("there is no call {name:?}"))),
    };
    match made {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => Err(error),
        _ => Ok(()),
    }
}

type Call = unsafe fn() -> libc::c_long;

const NULL: *const u8 = ptr::null();

const CALLS: &[(&str, Call)] = &[
    ("ptrace", || unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_TRACEME, 0, 0, 0) }),
    ("process_vm_readv", || unsafe {
        libc::syscall(libc::SYS_process_vm_readv, libc::getpid(), NULL, 0, NULL, 0, 0)
    }),
    ("unshare", || unsafe { libc::syscall(libc::SYS_unshare, libc::CLONE_NEWUSER) }),
    ("clone3", || unsafe { libc::syscall(libc::SYS_clone3, NULL, 0) }),
    ("mount", || unsafe { libc::syscall(libc::SYS_mount, NULL, NULL, NULL, 0, NULL) }),
    ("fsopen", || unsafe { libc::syscall(libc::SYS_fsopen, NULL, 0) }),
    ("open_tree", || unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, c"/".as_ptr(), 0) }),
    ("keyctl", || unsafe { libc::syscall(libc::SYS_keyctl, libc::KEYCTL_GET_KEYRING_ID, -3, 0) }),
    ("bpf", || unsafe { libc::syscall(libc::SYS_bpf, 0, NULL, 0) }),
    ("perf_event_open", || unsafe { libc::syscall(libc::SYS_perf_event_open, NULL, 0, -1, -1, 0) }),
    ("io_uring_setup", || unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, NULL) }),
    ("userfaultfd", || unsafe { libc::syscall(libc::SYS_userfaultfd, 1) }),
    ("open_by_handle_at", || unsafe { libc::syscall(libc::SYS_open_by_handle_at, libc::AT_FDCWD, NULL, 0) }),
    ("packet_socket", || unsafe { libc::syscall(libc::SYS_socket, libc::AF_PACKET, libc::SOCK_RAW, 0) }),
    ("vsock_socket", || unsafe { libc::syscall(libc::SYS_socket, libc::AF_VSOCK, libc::SOCK_STREAM, 0) }),
    ("unix_socket", || unsafe { libc::syscall(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_STREAM, 0) }),
    ("uevent_socket", || unsafe {
        libc::syscall(libc::SYS_socket, libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT)
    }),
];
