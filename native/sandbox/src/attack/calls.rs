//! System calls that have been used to escape from sandboxes. Without a filter, each succeeds or fails for a reason of
//! its own.

use super::checked;
use libc::{
    AF_NETLINK, AF_PACKET, AF_UNIX, AF_VSOCK, AT_FDCWD, CLONE_NEWUSER, NETLINK_KOBJECT_UEVENT,
    PTRACE_TRACEME, SOCK_RAW, SOCK_STREAM, c_int, c_long,
};
use std::io;

/// A system call: name, number, and arguments. All pointers are null.
struct Syscall(&'static str, c_long, [c_int; 5]);

const CALLS: &[Syscall] = &[
    Syscall("ptrace", libc::SYS_ptrace, [PTRACE_TRACEME.cast_signed(), 0, 0, 0, 0]),
    Syscall("process_vm_readv", libc::SYS_process_vm_readv, [1, 0, 0, 0, 0]),
    Syscall("kcmp", libc::SYS_kcmp, [0; 5]),
    Syscall("unshare", libc::SYS_unshare, [CLONE_NEWUSER, 0, 0, 0, 0]),
    Syscall("clone3", libc::SYS_clone3, [0; 5]),
    Syscall("mount", libc::SYS_mount, [0; 5]),
    Syscall("fsopen", libc::SYS_fsopen, [0; 5]),
    Syscall("open_tree", libc::SYS_open_tree, [AT_FDCWD, 0, 0, 0, 0]),
    Syscall("keyctl", libc::SYS_keyctl, [libc::KEYCTL_GET_KEYRING_ID.cast_signed(), -3, 0, 0, 0]),
    Syscall("bpf", libc::SYS_bpf, [0; 5]),
    Syscall("perf_event_open", libc::SYS_perf_event_open, [0, 0, -1, -1, 0]),
    Syscall("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
    Syscall("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0, 0, 0]),
    Syscall("memfd_create", libc::SYS_memfd_create, [0; 5]),
    Syscall("open_by_handle_at", libc::SYS_open_by_handle_at, [AT_FDCWD, 0, 0, 0, 0]),
    Syscall("packet_socket", libc::SYS_socket, [AF_PACKET, SOCK_RAW, 0, 0, 0]),
    Syscall("vsock_socket", libc::SYS_socket, [AF_VSOCK, SOCK_STREAM, 0, 0, 0]),
    Syscall("unix_socket", libc::SYS_socket, [AF_UNIX, SOCK_STREAM, 0, 0, 0]),
    Syscall("uevent_socket", libc::SYS_socket, [AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT, 0, 0]),
];

/// Makes the call. `EPERM`, or `ENOSYS` for calls with older alternatives, means that the filter refused it; any other
/// result means that the filter let it through.
pub(super) fn call(name: &str) -> io::Result<()> {
    let Some(Syscall(_, number, args)) = CALLS.iter().find(|call| call.0 == name) else {
        return Err(io::Error::other(format!("there is no call {name:?}")));
    };
    let [a, b, c, d, e] = args.map(c_long::from);
    // SAFETY: pointers are null, which the Linux kernel refuses to follow, and the other arguments have no effect.
    match checked(unsafe { libc::syscall(*number, a, b, c, d, e, 0_usize) }) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => Err(error),
        _ => Ok(()),
    }
}
