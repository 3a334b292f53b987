//! A repository with a secret in it, and the port program called over it.

use super::attacks::Effect;
use crate::common::PROGRAM;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

pub(crate) const SECRET: &str = "the secret key\n";

/// A workspace, a home directory, and programs that a machine may or may not have.
pub(crate) struct Fixture {
    workspace: TempDir,
    home: TempDir,
}

/// What the port program said: its exit status, and the JSON that it printed.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_ok: bool,
    pub(crate) value: Value,
}

impl Fixture {
    /// A copy of one that was made once: git takes its time.
    pub(crate) fn new() -> Self {
        static MADE: LazyLock<Fixture> = LazyLock::new(Fixture::made);
        let fixture = Self { workspace: directory(), home: directory() };
        for (from, to) in [(&MADE.workspace, &fixture.workspace), (&MADE.home, &fixture.home)] {
            let copied = Command::new("cp").arg("-a").arg(from.path().join(".")).arg(to.path()).status();
            assert!(copied.unwrap().success());
        }
        fixture
    }

    fn made() -> Self {
        let fixture = Self { workspace: directory(), home: directory() };
        std::fs::create_dir(fixture.path("x")).unwrap();
        std::fs::create_dir(fixture.path("src")).unwrap();
        std::fs::write(fixture.path("k.pem"), SECRET).unwrap();
        std::os::unix::fs::symlink("k.pem", fixture.path("link")).unwrap();
        std::os::unix::fs::symlink("../k.pem", fixture.path("src/link")).unwrap();
        for name in ["p", "git", "git-hook-like"] {
            script(&fixture.path(name), "cd \"$(/usr/bin/git rev-parse --show-toplevel)\" && rm -rf x");
        }
        for name in ["sudo", "busybox", "wrap"] {
            script(&fixture.path("~/").join(name), "exec \"$@\"");
        }
        script(&fixture.path("~/gitk"), "rm -rf x");
        fixture.repository();
        fixture
    }

    /// Three commits, the first with all files.
    fn repository(&self) {
        self.git("init -q");
        self.git("config user.name a");
        self.git("config user.email a@b");
        self.git("add .");
        self.git("commit -qm one");
        for text in ["two", "three"] {
            std::fs::write(self.path("plain.txt"), format!("{text}\n")).unwrap();
            self.git("add plain.txt");
            self.git(&format!("commit -qm {text}"));
        }
    }

    fn git(&self, args: &str) {
        let mut git = Command::new("/usr/bin/git");
        let output =
            git.args(args.split(' ')).current_dir(self.workspace.path()).env("HOME", self.home.path());
        let output = output.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(path) => self.home.path().join(path),
            None => self.workspace.path().join(path),
        }
    }

    /// Calls a tool through the port program, under these options; in the sandbox, unless they turn it off.
    pub(crate) fn call(&self, policy: &[&str], tool: &str, args: &Value) -> Answer {
        let path = format!("{}:{}", self.home.path().display(), std::env::var("PATH").unwrap());
        let mut port = Command::new(PROGRAM);
        port.args(["call", tool, "-"]).args(policy);
        port.current_dir(self.workspace.path()).env("PATH", path).env("HOME", self.home.path());
        let streams = port.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut port = streams.spawn().unwrap();
        port.stdin.take().unwrap().write_all(args.to_string().as_bytes()).unwrap();
        let output = port.wait_with_output().unwrap();
        let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        Answer { is_ok: output.status.success(), value }
    }

    pub(crate) fn run(&self, policy: &[&str], command: &str) -> Answer {
        self.call(policy, "shell_exec", &serde_json::json!({"command": command}))
    }

    pub(crate) fn has(&self, effect: Effect, answer: &Answer) -> bool {
        match effect {
            Effect::Removed => !self.path("x").exists(),
            Effect::Made(file) => self.path(file).exists(),
            Effect::Told => answer.value.to_string().contains("secret key"),
        }
    }
}

impl Answer {
    /// Why it was refused; `None` where it was not.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.value["details"]["reason"].as_str().filter(|_| !self.is_ok)
    }
}

fn script(path: &Path, command: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{command}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A directory that the sandbox shows: another /tmp stands before what is there.
fn directory() -> TempDir {
    TempDir::new_in("/var/tmp").unwrap()
}
