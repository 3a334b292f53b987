//! A filter that passes every program start to the port for a decision (see `guard`).

use super::{Layer, LayerContext};
use crate::{Confinement, SetupFailure};
use libc::sock_filter;
use rustix::io::Errno;
use std::os::fd::{FromRawFd, OwnedFd};

/// Offsets of the call's number, architecture and first argument in the filter's data.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = if cfg!(target_endian = "little") { 16 } else { 20 };
/// First number of x32 calls.
const OTHER_NUMBERS: u32 = 0x4000_0000;
/// The Linux kernel's constant for this architecture.
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const NATIVE: u32 = 0xc000_00f3;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const NATIVE: u32 = 0;

pub(super) struct ExecGuard;

impl Layer for ExecGuard {
    fn name(&self) -> &'static str {
        "exec_guard"
    }

    /// Without rules about program starts there is nothing to decide.
    fn has_work(&self, confinement: &Confinement) -> bool {
        confinement.exec_guard
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let failure = |errno| SetupFailure::new("have starts decided outside", errno);
        if NATIVE == 0 || !may_be_looked_into(stage) {
            return Err(failure(Errno::OPNOTSUPP));
        }
        stage.listener = Some(install(&filter()).map_err(failure)?);
        Ok(())
    }
}

/// Whether the port may inspect the processes. If a security module requires a privilege for that, the port has it over
/// a user namespace that it created.
fn may_be_looked_into(stage: &LayerContext<'_>) -> bool {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "3" => false,
        "2" => stage.outside.uid == 0 || stage.profile.has_users(),
        _ => true,
    }
}

/// Reports both exec calls. Also prevents processes from disguising a program start: no test or build changes the
/// memory layout that the Linux kernel reports for a process.
fn filter() -> Vec<sock_filter> {
    let statement = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let answer = |action| statement(libc::BPF_RET | libc::BPF_K, action);
    let jump = |code: u32, k: u32, jt: u8, jf: u8| sock_filter {
        code: (libc::BPF_JMP | code | libc::BPF_K) as u16,
        jt,
        jf,
        k,
    };
    let equal = |number: libc::c_long, jt| jump(libc::BPF_JEQ, number as u32, jt, 0);
    vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, NATIVE, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
        jump(libc::BPF_JGE, OTHER_NUMBERS, 5, 0),
        equal(libc::SYS_execve, 6),
        equal(libc::SYS_execveat, 5),
        equal(libc::SYS_prctl, 1),
        answer(libc::SECCOMP_RET_ALLOW),
        load(FIRST_ARGUMENT),
        jump(libc::BPF_JEQ, libc::PR_SET_MM.cast_unsigned(), 0, 2),
        answer(libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()),
        answer(libc::SECCOMP_RET_USER_NOTIF),
        answer(libc::SECCOMP_RET_ALLOW),
    ]
}

/// Installs the filter. A waiting call can only be interrupted by a fatal signal.
fn install(filter: &[sock_filter]) -> Result<OwnedFd, Errno> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the filter outlives the call, which only reads it; the returned descriptor is new and close-on-exec.
    unsafe {
        match libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            fd => Ok(OwnedFd::from_raw_fd(i32::try_from(fd).map_err(|_| Errno::BADF)?)),
        }
    }
}
