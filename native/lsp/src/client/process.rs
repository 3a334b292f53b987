//! The process of a server, under a reaper that kills it when the port exits.

use super::plan::ServerPlan;
use beamai_base::{Result, ToolError};
use beamai_isolation::{SandboxMode, StartCoverage};
use beamai_private_dir::PrivateDir;
use beamai_process::{Child, Launcher, ProgramSpec, Stdin};
use beamai_sandbox::environment;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Environment variables that servers need besides the common ones: paths of toolchains and caches.
const PASSED: [&str; 10] = [
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "TMPDIR",
];

/// A server's process.
#[derive(Debug)]
pub(super) struct LanguageServerProcess {
    child: Child,
    /// Deleted after the process: a field is dropped after those before it.
    _temp: Option<PrivateDir>,
}

/// The standard streams of a server's process, in blocking mode.
pub(super) struct BlockingStreams {
    pub(super) stdin: File,
    pub(super) stdout: File,
    pub(super) stderr: File,
}

/// Starts a server.
///
/// # Errors
/// `isolation_unavailable` if the sandbox is required, `busy` and `io`. If the program cannot be executed, its
/// [ending](LanguageServerProcess::ending) says so.
pub(super) fn start(plan: &ServerPlan) -> Result<(LanguageServerProcess, BlockingStreams)> {
    let sandbox = &plan.identity.view.sandbox;
    let temp = PrivateDir::where_needed(sandbox)?;
    let spec = ProgramSpec {
        program: plan.identity.spec.program.clone(),
        by_path: false,
        arguments: plan.identity.spec.arguments.iter().map(OsString::from).collect(),
        environment: environment(temp.as_ref().map(PrivateDir::path), sandbox, passed(sandbox.mode)),
        directory: plan.workspace.top().open_dir()?,
        stdin: Stdin::Pipe,
        lingers: false,
        shortcut: None,
        confinement: match &temp {
            Some(temp) => Arc::new(plan.confinement.with_temp(temp.path())),
            None => Arc::clone(&plan.confinement),
        },
        judge: plan.identity.view.denied_paths.starts.judge(),
        coverage: StartCoverage::Everything,
    };
    let mut child = Launcher::shared().spawn(&spec).map_err(|failure| failure.not_started(&plan.name()))?;
    let streams = BlockingStreams {
        stdin: blocking(child.stdin.take())?,
        stdout: blocking(child.stdout.take())?,
        stderr: blocking(child.stderr.take())?,
    };
    Ok((LanguageServerProcess { child, _temp: temp }, streams))
}

impl LanguageServerProcess {
    /// Kills the server and everything that it started.
    pub(super) fn kill(&self) {
        self.child.kill();
    }

    /// Waits until all of the server's processes have exited, and describes the exit. Call once.
    pub(super) fn ending(&self) -> String {
        self.child.ending()
    }
}

/// Paths of the host's temporary files and caches are useless to a server that cannot write there.
fn passed(mode: SandboxMode) -> impl Iterator<Item = (OsString, OsString)> {
    let is_meant =
        move |name: &&&str| mode == SandboxMode::Off || !["TMPDIR", "XDG_CACHE_HOME"].contains(name);
    PASSED.iter().filter(is_meant).filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
}

/// The port's end of the stream; the server's end is blocking anyway.
fn blocking(fd: Option<OwnedFd>) -> Result<File> {
    let set = |fd: OwnedFd| -> Result<File, Errno> {
        let flags = rustix::fs::fcntl_getfl(&fd)?;
        rustix::fs::fcntl_setfl(&fd, flags - OFlags::NONBLOCK)?;
        Ok(File::from(fd))
    };
    fd.ok_or(Errno::BADF)
        .and_then(set)
        .map_err(|errno| ToolError::io("use", "the streams of a language server", errno))
}
