//! The process of a server, under a reaper that ends it with the port.

use crate::plan::Launch;
use beamai_base::{Reason, Result, ToolError};
use beamai_isolation::StartCoverage;
use beamai_process::{Child, Launcher, ProgramSpec, Stdin};
use beamai_sandbox::environment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The longest that a server may take to end by itself.
const FAREWELL: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A server's process. It ends when this is dropped.
pub(crate) struct McpServerProcess(Child);

/// The streams of a server's process. They do not block.
pub(crate) struct AsyncStreams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Starts a server.
///
/// # Errors
/// `isolation_unavailable` where the sandbox is required, `busy` and `io`; those of the directory. That the program
/// cannot be executed shows in its [ending](Process::ending).
pub(crate) fn start(launch: &Launch, title: &str) -> Result<(McpServerProcess, AsyncStreams)> {
    let settings = &launch.settings;
    let own = settings.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let spec = ProgramSpec {
        program: launch.program.clone(),
        by_path: true,
        arguments: settings.args.iter().map(OsString::from).collect(),
        environment: environment(None, &launch.sandbox, own),
        directory: directory(launch)?,
        stdin: Stdin::Pipe,
        lingers: false,
        shortcut: None,
        confinement: Arc::clone(&launch.confinement),
        judge: launch.denied_paths.starts.judge(),
        coverage: StartCoverage::Everything,
    };
    let mut child = Launcher::shared().spawn(&spec).map_err(|failure| failure.not_started(title))?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
        return Err(ToolError::new(Reason::Io, format!("{title} has no streams")));
    };
    Ok((McpServerProcess(child), AsyncStreams { stdin, stdout, stderr }))
}

fn directory(launch: &Launch) -> Result<OwnedFd> {
    match &launch.settings.cwd {
        None => launch.workspace.top().open_dir(),
        Some(path) => launch.workspace.place(path)?.open_dir(),
    }
}

impl McpServerProcess {
    /// Ends the server and everything that it started, after a moment to end by itself, and tells how it ended. Waits
    /// for that.
    pub(crate) fn ending(self) -> String {
        let mut report = [PollFd::from_borrowed_fd(self.0.control(), PollFlags::IN)];
        // A signal that cuts this short only makes it shorter.
        _ = poll(&mut report, Some(&FAREWELL));
        self.0.kill();
        self.0.ending()
    }
}
