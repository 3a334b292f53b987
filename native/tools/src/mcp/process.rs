//! The process of a server, under a reaper that ends it with the port.

use super::plan::Plan;
use crate::error::{Reason, Result, ToolError};
use crate::process::{Child, Excess, Exit, Failure, Launcher, Report, Spec, Stdin, environment, signal_name};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The longest that a server may take to end by itself.
const FAREWELL: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A server's process. It ends when this is dropped.
pub(super) struct Process(Child);

/// The streams of a server's process. They do not block.
pub(super) struct Streams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Starts a server.
///
/// # Errors
/// `isolation_unavailable` where the sandbox is required, `busy` and `io`; those of the directory. That the program
/// cannot be executed shows in its [ending](Process::ending).
pub(super) fn start(plan: &Plan) -> Result<(Process, Streams)> {
    let settings = &plan.identity.settings;
    let own = settings.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let spec = Spec {
        program: plan.program.clone(),
        by_path: true,
        arguments: settings.args.iter().map(OsString::from).collect(),
        environment: environment(None, &plan.identity.sandbox, own),
        directory: directory(plan)?,
        stdin: Stdin::Pipe,
        lingers: false,
        confinement: Arc::clone(&plan.confinement),
    };
    let mut child = Launcher::shared().spawn(&spec).map_err(|failure| not_started(plan, &failure))?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
        return Err(ToolError::new(Reason::Io, format!("{} has no streams", plan.title())));
    };
    Ok((Process(child), Streams { stdin, stdout, stderr }))
}

fn directory(plan: &Plan) -> Result<OwnedFd> {
    match &plan.identity.settings.cwd {
        None => plan.workspace.top().open_dir(),
        Some(path) => plan.workspace.place(path)?.open_dir(),
    }
}

impl Process {
    /// Ends the server and everything that it started, after a moment to end by itself, and tells how it ended. Waits
    /// for that.
    pub(super) fn ending(self) -> String {
        let mut report = [PollFd::from_borrowed_fd(self.0.control(), PollFlags::IN)];
        // A signal that cuts this short only makes it shorter.
        _ = poll(&mut report, Some(&FAREWELL));
        self.0.kill();
        match self.0.wait() {
            Ok(Report::Ended { excess: Some(Excess { limit, .. }), .. }) => {
                format!("it was killed for taking more memory than the {} MiB that it may have", limit >> 20)
            }
            Ok(Report::Ended { exit: Exit::Code(code), .. }) => format!("it exited with code {code}"),
            Ok(Report::Ended { exit: Exit::Signal(signal), .. }) => {
                format!("{} killed it", signal_name(signal))
            }
            Ok(Report::NotStarted(failure)) => failure.to_string(),
            Err(_) => "it is lost".to_owned(),
        }
    }
}

fn not_started(plan: &Plan, failure: &Failure) -> ToolError {
    if let Some(error) = failure.not_isolated(&format!("{} was not started", plan.title())) {
        return error;
    }
    let (reason, advice) = match failure.is_shortage() {
        true => (Reason::Busy, "; too much is running: try again later"),
        false => (Reason::Io, ""),
    };
    let message = format!("{} was not started: {failure}{advice}", plan.title());
    ToolError::new(reason, message).with("errno", failure.errno)
}
