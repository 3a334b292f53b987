//! The process of a server.

use super::plan::Plan;
use crate::error::Result;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::fs::File;
use std::os::fd::OwnedFd;

pub(super) struct Process(Mutex<Child>);

pub(super) struct Streams {
    pub(super) stdin: File,
    pub(super) stdout: File,
    pub(super) stderr: File,
}

pub(super) fn start(plan: &Plan) -> Result<(Process, Streams)> {
    let mut child = Command::new(&plan.program).args(&plan.arguments).current_dir(&plan.root)
        .stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let streams = Streams {
        stdin: File::from(OwnedFd::from(child.stdin.take().unwrap())),
        stdout: File::from(OwnedFd::from(child.stdout.take().unwrap())),
        stderr: File::from(OwnedFd::from(child.stderr.take().unwrap())),
    };
    Ok((Process(Mutex::new(child)), streams))
}

impl Process {
    pub(super) fn kill(&self) { _ = self.0.lock().unwrap().kill(); }
    pub(super) fn ending(&self) -> String {
        match self.0.lock().unwrap().wait() { Ok(status) => status.to_string(), Err(e) => e.to_string() }
    }
}
