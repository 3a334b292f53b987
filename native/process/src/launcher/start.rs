//! Starts the program of an order.

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

/// The standard streams of a program.
pub(super) struct ProgramStreams {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// If `None`, the program inherits the reaper's input, which is at its end.
    pub(super) stdin: Option<OwnedFd>,
}

/// Starts the program in the current working directory, with its own session, default signals, and no open descriptors
/// except its streams. With `bound` it dies with this process, and with `scope` its signals cannot reach this process;
/// a pid namespace ensures both by itself.
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

/// The last steps before exec, in the new process.
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

/// Executes a program; returns on failure. The exec guard reads the last two arguments, which the Linux kernel ignores:
/// they identify the start as the reaper's, and the candidate of the order that is started.
///
/// # Safety
/// Both lists end with a null pointer, and all pointers in them are valid.
pub(super) unsafe fn execute(
    program: &CStr,
    arguments: &[*const c_char],
    environment: &[*const c_char],
    token: u64,
    number: u64,
) {
    let (program, arguments, environment) = (program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
    // SAFETY: guaranteed by the caller.
    unsafe { libc::syscall(libc::SYS_execve, program, arguments, environment, number, 0_u64, token) };
}

pub(super) fn pointers(texts: &[&CStr]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Changes the working directory to `directory`. In a separate mount namespace, a descriptor from outside would refer
/// to the outside mounts, so the directory is opened again by `path` and must be the same one.
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
