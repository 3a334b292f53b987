//! Confines signals to the command's processes: with Landlock if there is no pid namespace.
//!
//! Each reaper enters its own Landlock domain, and its command enters another domain nested in it. A process can signal
//! only processes in its own domain and in nested ones. So a command cannot kill its reaper, which would lose the
//! result, and the reaper can end all processes of the command in one step.

use super::{Layer, LayerContext, landlock};
use crate::SetupFailure;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The first Landlock version with signal scoping (Linux 6.12).
const VERSION: u32 = 6;

pub(super) struct SignalScoping;

impl Layer for SignalScoping {
    fn name(&self) -> &'static str {
        "signal_scope"
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let failure = |errno| SetupFailure::new("keep signals among the command's processes", errno);
        match landlock::version() {
            Ok(version) if version >= VERSION => {}
            Ok(_) => return Err(failure(Errno::OPNOTSUPP)),
            Err(errno) => return Err(failure(errno)),
        }
        stage.signal_scope = Some(SignalScope::new().map_err(failure)?);
        Ok(())
    }
}

/// A Landlock domain that a process enters before it executes a command: its signals stay within the domain.
pub struct SignalScope(OwnedFd);

/// From the Linux kernel's `landlock.h`: handled accesses to files and network, and scopes.
#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scoped: u64,
}

/// From the Linux kernel's `landlock.h`.
const SCOPE_SIGNAL: u64 = 2;
/// From the Linux kernel's `landlock.h`: linking and renaming files across directories.
const REFER: u64 = 1 << 13;

/// From the Linux kernel's `landlock.h`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

impl SignalScope {
    fn new() -> Result<Self, Errno> {
        // Every domain forbids this unless a rule permits it.
        let attributes = RulesetAttributes { files: REFER, network: 0, scoped: SCOPE_SIGNAL };
        // SAFETY: the structure outlives the call, and its size is given; the returned descriptor is new and
        // close-on-exec.
        let scope = unsafe {
            match libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attributes,
                size_of::<RulesetAttributes>(),
                0,
            ) {
                -1 => return Err(last_error()),
                fd => Self(OwnedFd::from_raw_fd(i32::try_from(fd).map_err(|_| Errno::BADF)?)),
            }
        };
        const PATH_BENEATH: libc::c_int = 1;
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let everywhere = PathBeneath { allowed: REFER, parent: root.as_raw_fd() };
        // SAFETY: the structure and both descriptors outlive the call.
        match unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                scope.0.as_raw_fd(),
                PATH_BENEATH,
                &raw const everywhere,
                0,
            )
        } {
            0 => Ok(scope),
            _ => Err(last_error()),
        }
    }

    /// Restricts the reaper, and makes sure that its signals do not reach its parent.
    ///
    /// # Errors
    /// Those of the operating system; `NOTRECOVERABLE` if the parent can be signalled.
    pub fn enter_as_reaper(&self) -> Result<(), Errno> {
        self.enter()?;
        let parent = rustix::process::getppid().ok_or(Errno::SRCH)?;
        match rustix::process::test_kill_process(parent) {
            Err(Errno::PERM) => Ok(()),
            Ok(()) => Err(Errno::NOTRECOVERABLE),
            Err(errno) => Err(errno),
        }
    }

    /// Restricts this thread and the programs that it executes. Allocates no memory.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn enter(&self) -> Result<(), Errno> {
        // SAFETY: takes numbers only.
        match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0) } {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
