//! A filter that passes every program start, and files that shells open to write, to the port for a decision (see the crate
//! `beamai-exec-guard`).

use super::{Layer, LayerContext};
use crate::{Confinement, SetupFailure};
use libc::sock_filter;
use rustix::io::Errno;
use std::os::fd::{FromRawFd, OwnedFd};

/// Offsets of the call's number and architecture in the filter's data.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
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

/// The failed step if the port cannot see the processes of commands.
const HIDDEN: &str = "have starts decided outside, because /proc hides processes of others (mount it with hidepid=0, or with \
                      gid=GROUP for a group of this user)";

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
        if !stage.outside.sees_processes {
            return Err(SetupFailure::new(HIDDEN, Errno::OPNOTSUPP));
        }
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

/// The offset of the lower half of an argument.
const fn argument(nth: u32) -> u32 {
    16 + 8 * nth + if cfg!(target_endian = "little") { 0 } else { 4 }
}

/// `open`, where it exists; elsewhere a number that no call has.
#[cfg(target_arch = "x86_64")]
const OPEN: u32 = libc::SYS_open as u32;
#[cfg(not(target_arch = "x86_64"))]
const OPEN: u32 = OTHER_NUMBERS;

/// Positions in the filter that jumps lead to.
const NEXT: usize = 0;
const NATIVE_CALL: usize = 3;
const PRCTL: usize = 11;
const OPENAT_CALL: usize = 14;
const OPEN_CALL: usize = 18;
const FLAGS: usize = 21;
const REPORT: usize = 26;
const ALLOW: usize = 27;

/// A filter as it is written.
struct FilterProgram(Vec<sock_filter>);

impl FilterProgram {
    fn push(&mut self, code: u32, k: u32) -> &mut Self {
        self.0.push(sock_filter { code: code as u16, jt: 0, jf: 0, k });
        self
    }

    fn load(&mut self, offset: u32) -> &mut Self {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
    }

    fn answer(&mut self, action: u32) -> &mut Self {
        self.push(libc::BPF_RET | libc::BPF_K, action)
    }

    /// Jumps forward if a comparison with `k` holds, and if it does not.
    fn jump(&mut self, comparison: u32, k: u32, then: usize, otherwise: usize) -> &mut Self {
        let own = self.0.len();
        let distance = |to: usize| to.checked_sub(own + 1).and_then(|by| u8::try_from(by).ok()).unwrap_or(0);
        let code = (libc::BPF_JMP | comparison | libc::BPF_K) as u16;
        self.0.push(sock_filter { code, jt: distance(then), jf: distance(otherwise), k });
        self
    }
}

/// Reports both exec calls, and each call that opens a file as a redirection of a shell does: one that is made if it is
/// not there, with a descriptor that programs inherit. Files that only their maker can read (`O_EXCL`, mode 0600) are
/// temporary ones of shells. Also prevents processes from disguising a program start: no test or build changes the
/// memory layout that the Linux kernel reports for a process.
fn filter() -> Vec<sock_filter> {
    let (equal, has) = (libc::BPF_JEQ, libc::BPF_JSET);
    let mut filter = FilterProgram(Vec::with_capacity(ALLOW + 1));
    filter
        .load(ARCHITECTURE)
        .jump(equal, NATIVE, NATIVE_CALL, NEXT)
        .answer(libc::SECCOMP_RET_KILL_PROCESS)
        .load(NUMBER)
        .jump(libc::BPF_JGE, OTHER_NUMBERS, ALLOW, NEXT)
        .jump(equal, libc::SYS_execve as u32, REPORT, NEXT)
        .jump(equal, libc::SYS_execveat as u32, REPORT, NEXT)
        .jump(equal, libc::SYS_prctl as u32, PRCTL, NEXT)
        .jump(equal, libc::SYS_openat as u32, OPENAT_CALL, NEXT)
        .jump(equal, OPEN, OPEN_CALL, NEXT)
        .answer(libc::SECCOMP_RET_ALLOW)
        // PRCTL
        .load(argument(0))
        .jump(equal, libc::PR_SET_MM.cast_unsigned(), NEXT, ALLOW)
        .answer(libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned())
        // OPENAT_CALL: the mode is kept, then the flags are looked at.
        .load(argument(3))
        .push(libc::BPF_ST, 0)
        .load(argument(2))
        .push(libc::BPF_JMP | libc::BPF_JA, (FLAGS - OPEN_CALL) as u32)
        // OPEN_CALL
        .load(argument(2))
        .push(libc::BPF_ST, 0)
        .load(argument(1))
        // FLAGS
        .jump(has, libc::O_CLOEXEC.cast_unsigned(), ALLOW, NEXT)
        .jump(has, libc::O_CREAT.cast_unsigned(), NEXT, ALLOW)
        .jump(has, libc::O_EXCL.cast_unsigned(), NEXT, REPORT)
        .push(libc::BPF_LD | libc::BPF_MEM, 0)
        .jump(equal, 0o600, ALLOW, REPORT)
        // REPORT
        .answer(libc::SECCOMP_RET_USER_NOTIF)
        // ALLOW
        .answer(libc::SECCOMP_RET_ALLOW);
    filter.0
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
