//! From an order to a running program.

use super::clone::run_borrowing_memory;
use super::shortcut::ShortcutExec;
use super::signals;
use crate::message::Order;
use beamai_sandbox::{SetupFailure, layers::SignalScope};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use std::ffi::{CStr, c_char};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;

/// Standard output, error and input of a program.
pub(super) struct ProgramStreams {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// Without it, the program has the reaper's own input, which is at its end.
    pub(super) stdin: Option<OwnedFd>,
}

/// Starts the program in this process's working directory: a session of its own, default signals, nothing open
/// but its streams. With `bound` it dies with this process, and with `scope` its signals do not reach this process; a pid
/// namespace ensures both by itself.
pub(super) fn start(
    order: &Order<'_>,
    streams: &ProgramStreams,
    bound: bool,
    scope: Option<&SignalScope>,
) -> Result<Pid, SetupFailure> {
    let arguments = pointers(&order.arguments);
    let environment = pointers(&order.environment);
    let mut shortcut = ShortcutExec::of(order);
    let mut failure = None;
    let pid = run_borrowing_memory(|| {
        failure = prepare(streams, bound, scope).err().or_else(|| {
            shortcut.as_mut().map(ShortcutExec::take);
            // SAFETY: both lists end with a null pointer and point to strings that `order` borrows.
            unsafe { execute(order.program, &arguments, &environment, order.token, 0) };
            Some(("start the program", signals::last_error()))
        });
    })
    .map_err(|errno| SetupFailure::new("make a process", errno))?;
    match failure {
        None => Ok(pid),
        Some((step, errno)) => {
            _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
            Err(SetupFailure::new(step, errno))
        }
    }
}

/// The last steps, in the process that is about to become the program.
fn prepare(
    streams: &ProgramStreams,
    bound: bool,
    scope: Option<&SignalScope>,
) -> Result<(), (&'static str, Errno)> {
    let step = |name| move |errno| (name, errno);
    rustix::process::setsid().map_err(step("make a session"))?;
    if bound {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(step("bind the program to its reaper"))?;
    }
    if let Some(scope) = scope {
        scope.enter().map_err(step("keep the program's signals from its reaper"))?;
    }
    if let Some(stdin) = &streams.stdin {
        rustix::stdio::dup2_stdin(stdin).map_err(step("connect the input"))?;
    }
    rustix::stdio::dup2_stdout(&streams.stdout).map_err(step("connect the output"))?;
    rustix::stdio::dup2_stderr(&streams.stderr).map_err(step("connect the errors"))?;
    signals::release().map_err(step("reset the signals"))
}

/// Becomes a program, or returns. The exec guard reads the last two numbers, which the kernel does not: they say that it is
/// the reaper that starts this, and which of what the order names it is.
///
/// # Safety
/// Both lists end with a null pointer, and what they point to is there.
pub(super) unsafe fn execute(
    program: &CStr,
    arguments: &[*const c_char],
    environment: &[*const c_char],
    token: u64,
    number: u64,
) {
    let (program, arguments, environment) = (program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
    // SAFETY: as the caller has it.
    unsafe { libc::syscall(libc::SYS_execve, program, arguments, environment, number, 0_u64, token) };
}

pub(super) fn pointers(texts: &[&CStr]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Makes `directory` the working directory. In a mount namespace of its own, a descriptor from outside would lead
/// to the mounts outside, so the directory is opened again by `path` and has to be the same one.
pub(super) fn enter_directory(
    directory: &OwnedFd,
    path: &CStr,
    own_mounts: bool,
) -> Result<(), SetupFailure> {
    let entered = match own_mounts {
        false => rustix::process::fchdir(directory),
        true => same_directory(directory, path).and_then(rustix::process::fchdir),
    };
    entered.map_err(|errno| SetupFailure::new("enter the working directory", errno))
}

fn same_directory(directory: &OwnedFd, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let again = rustix::fs::open(path, flags, Mode::empty())?;
    let wanted = rustix::fs::fstat(directory.as_fd())?;
    let found = rustix::fs::fstat(&again)?;
    match (wanted.st_dev, wanted.st_ino) == (found.st_dev, found.st_ino) {
        true => Ok(again),
        false => Err(Errno::STALE),
    }
}
