//! The process of a server, under a reaper that kills it when the port exits.

use crate::plan::Launch;
use beamai_base::{Reason, Result, ToolError};
use beamai_isolation::StartCoverage;
use beamai_private_dir::PrivateDir;
use beamai_process::{Child, Launcher, ProgramSpec, Stdin};
use beamai_sandbox::environment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Timeout for a voluntary exit.
const SHUTDOWN: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A server's process. Dropping it kills the process.
pub(crate) struct McpServerProcess {
    child: Child,
    /// Deleted after the process: a field is dropped after those before it.
    _temp: Option<PrivateDir>,
}

/// The standard streams of a server's process, in non-blocking mode.
pub(crate) struct AsyncStreams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Starts a server.
///
/// # Errors
/// `isolation_unavailable` if the sandbox is required, `busy` and `io`; those of the directory. If the program cannot
/// be executed, its [ending](McpServerProcess::ending) says so.
pub(crate) fn start(launch: &Launch, title: &str) -> Result<(McpServerProcess, AsyncStreams)> {
    let settings = &launch.settings;
    let own = settings.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let temp = PrivateDir::where_needed(&launch.sandbox)?;
    let spec = ProgramSpec {
        program: launch.program.clone(),
        by_path: true,
        arguments: settings.args.iter().map(OsString::from).collect(),
        environment: environment(temp.as_ref().map(PrivateDir::path), &launch.sandbox, own),
        directory: directory(launch)?,
        stdin: Stdin::Pipe,
        lingers: false,
        shortcut: None,
        confinement: match &temp {
            Some(temp) => Arc::new(launch.confinement.with_temp(temp.path())),
            None => Arc::clone(&launch.confinement),
        },
        judge: launch.denied_paths.starts.judge(),
        coverage: StartCoverage::Everything,
    };
    let mut child = Launcher::shared().spawn(&spec).map_err(|failure| failure.not_started(title))?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
        return Err(ToolError::new(Reason::Io, format!("{title} has no streams")));
    };
    Ok((McpServerProcess { child, _temp: temp }, AsyncStreams { stdin, stdout, stderr }))
}

fn directory(launch: &Launch) -> Result<OwnedFd> {
    match &launch.settings.cwd {
        None => launch.workspace.top().open_dir(),
        Some(path) => launch.workspace.parse_path(path)?.open_dir(),
    }
}

impl McpServerProcess {
    /// Stops the server and everything that it started, after a timeout for a voluntary exit, and describes the exit.
    /// Blocks until then.
    pub(crate) fn ending(self) -> String {
        let mut report = [PollFd::from_borrowed_fd(self.child.control(), PollFlags::IN)];
        // An interrupted poll only shortens the wait.
        _ = poll(&mut report, Some(&SHUTDOWN));
        self.child.kill();
        self.child.ending()
    }
}
