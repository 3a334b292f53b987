//! A directory of programs that record how they are called.

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use tempfile::TempDir;

/// Programs that only record.
const PLAIN: [&str; 12] = ["git", "rm", "ls", "cat", "cp", "npm", "make", "a", "b", "no", "say", "curl"];
/// Programs that record and then do what they do.
const REAL: [&str; 10] =
    ["env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf", "bash", "sh"];
/// Programs that record and then run the rest of their command line, as those of that name would.
const FORWARD: [&str; 3] = ["sudo", "busybox", "wrap"];

/// The user as which commands run where this program may choose: a redirection that chance has made leads anywhere.
const NOBODY: u32 = 65534;

/// A program that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
}

/// Runs commands and tells which programs they started.
pub(crate) struct Recorder {
    home: TempDir,
    workspace: TempDir,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let recorder = Self { home: open_to_all(TempDir::new()), workspace: open_to_all(TempDir::new()) };
        std::fs::create_dir(recorder.shims()).unwrap();
        PLAIN.iter().for_each(|name| recorder.shim(name, "exit 0"));
        recorder.shim("no", "exit 1");
        recorder.shim("say", "printf '%s ' \"$@\"");
        for name in REAL {
            let path = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(name));
            let path = path.iter().find(|path| path.exists()).unwrap();
            recorder.shim(name, &format!("exec {} \"$@\"", path.display()));
        }
        FORWARD.iter().for_each(|name| recorder.shim(name, "exec \"$@\""));
        recorder
    }

    pub(crate) fn shims(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.workspace.path()
    }

    fn shim(&self, name: &str, then: &str) {
        // One printf is one write, so records of programs that run together do not mix.
        let script =
            format!("#!/bin/sh\nprintf '%s\\0' \"${{0##*/}}\" \"$@\" '<end>' >> \"$RECORD\"\n{then}\n");
        let path = self.shims().join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a command in an empty directory; what it started.
    pub(crate) fn run(&self, command: &str) -> Vec<Ran> {
        let directory = open_to_all(TempDir::new_in(self.workspace()));
        std::fs::write(directory.path().join("null"), "").unwrap();
        // A file of its own: what comes late is not taken for the next command's.
        let record = tempfile::NamedTempFile::new_in(self.home.path()).unwrap();
        allow_all(record.path(), 0o666);
        let mut bash = Command::new("/bin/bash");
        if rustix::process::geteuid().is_root() {
            bash.uid(NOBODY).gid(NOBODY);
        }
        let child = bash
            .args(["--noprofile", "--norc", "-c", command])
            .env_clear()
            .env("PATH", self.shims())
            .env("FUNCNEST", "5")
            .env("RECORD", record.path())
            .current_dir(directory.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        finish(child);
        let log = std::fs::read(record.path()).unwrap_or_default();
        let mut words = Vec::new();
        let mut ran = Vec::new();
        for word in log.split(|byte| *byte == 0) {
            match word {
                b"<end>" => {
                    let mut all: Vec<String> = std::mem::take(&mut words);
                    ran.push(Ran { name: all.remove(0), args: all });
                }
                word => words.push(String::from_utf8_lossy(word).into_owned()),
            }
        }
        ran
    }
}

fn open_to_all(made: std::io::Result<TempDir>) -> TempDir {
    let dir = made.unwrap();
    allow_all(dir.path(), 0o777);
    dir
}

fn allow_all(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Waits until the last program has ended, those in the background too: the pipes close then. What goes on for ever is
/// killed.
fn finish(child: Child) {
    let group = Pid::from_child(&child);
    let (ended, end) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if end.recv_timeout(Duration::from_secs(5)) == Err(RecvTimeoutError::Timeout) {
            _ = kill_process_group(group, Signal::KILL);
        }
    });
    _ = child.wait_with_output();
    drop(ended);
    watch.join().unwrap();
}
