//! Commands that run without a shell run as they would with one.

use crate::common::{Env, MODES};
use beamai_base::CancelToken;
use beamai_isolation::{SandboxMode, SandboxSettings, StartCoverage};
use beamai_policy::DeniedPaths;
use beamai_process::{
    CancelWaker, CommandReport, ExitStatus, Launcher, OutputSink, OutputStream, ProgramSpec, RunEnd,
    RunOptions, Shortcut, Stdin, collect, set_program,
};
use beamai_sandbox::Confinement;
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a command gave, with a variable of its own so that a shell has to be there, or without.
fn outcome(env: &Env, command: &str, by_shell: bool) -> Vec<Value> {
    let variables = if by_shell { json!({"BY_SHELL": "1"}) } else { json!({}) };
    let result = env.ok(json!({"command": command, "env": variables}));
    let mut lines: Vec<&str> = result["stdout"].as_str().unwrap().lines().collect();
    // The order of variables is nobody's promise.
    lines.retain(|line| *line != "BY_SHELL=1");
    lines.sort_unstable();
    let keys = ["exit_code", "signal", "stderr", "killed"];
    keys.iter().map(|key| result[key].clone()).chain([json!(lines)]).collect()
}

fn put(dir: &Path, name: &str, text: &str, mode: u32) {
    fs::write(dir.join(name), text).unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_plain_command_runs_as_bash_would_run_it() {
    for mode in MODES {
        let env = Env::with(mode);
        let dir = env.path();
        put(dir, "script", "#!/bin/sh\necho \"$0 $*\"; env; exit 3\n", 0o755);
        put(dir, "unmarked", "echo unmarked \"$0\" \"$*\" $BASH_SUBSHELL; exit 4\n", 0o755);
        put(dir, "locked", "#!/bin/sh\necho never\n", 0o644);
        put(dir, "hollow", "#!/nowhere/at/all\n", 0o755);
        put(dir, "dies", "#!/bin/sh\nkill -SEGV $$\n", 0o755);
        fs::create_dir(dir.join("place")).unwrap();
        for command in [
            "env",
            " env\t",
            "/usr/bin/env",
            "./script a  b=c",
            "./unmarked a b",
            "./locked",
            "./hollow",
            "./dies",
            "./place",
            "./missing",
            "no-such-program-anywhere x",
            "true",
            "false",
            "ls -1 /nowhere script",
            "id -u",
            "readlink /proc/self/exe",
            "ls -1 /proc/self/fd",
            // But for SigQ, which counts signals of the whole user.
            "grep ^Sig...: /proc/self/status",
            "cat /proc/self/cmdline",
            "cat /proc/self/limits",
            "dirname a/b,c:d@e%f+g",
            "sh -c exit",
        ] {
            assert_eq!(outcome(&env, command, false), outcome(&env, command, true), "{mode}: {command}");
        }
    }
}

#[derive(Default)]
struct Stdout(Vec<u8>);

impl OutputSink for Stdout {
    fn take(&mut self, source: OutputStream, bytes: &[u8]) {
        if source == OutputStream::Stdout {
            self.0.extend_from_slice(bytes);
        }
    }
}

/// Starts `/bin/false` with a shortcut.
fn by_shortcut(dir: &Path, candidates: &[PathBuf], words: &[&str]) -> (ExitStatus, String) {
    set_program(crate::common::PROGRAM);
    let workspace = Workspace::open(dir).unwrap();
    let settings = SandboxSettings::from(SandboxMode::Off);
    let spec = ProgramSpec {
        program: "/bin/false".into(),
        by_path: false,
        arguments: Vec::new(),
        environment: vec![("A".into(), "1".into())],
        directory: workspace.top().open_dir().unwrap(),
        stdin: Stdin::Empty,
        lingers: false,
        shortcut: Some(Shortcut {
            candidates: candidates.to_vec(),
            words: words.iter().map(|word| (*word).into()).collect(),
        }),
        confinement: Confinement::within(&workspace, &settings, &DeniedPaths::default(), &|| Ok(())).unwrap(),
        judge: None,
        coverage: StartCoverage::Judged,
    };
    let child = Launcher::shared().spawn(&spec).unwrap();
    let wake = CancelWaker::on(&CancelToken::new()).unwrap();
    let mut stdout = Stdout::default();
    let collected = collect(
        child,
        &RunOptions { input: &[], deadline: None, pause: None, wake, listener: None },
        &mut stdout,
    );
    assert_eq!(collected.end, RunEnd::Itself);
    let Ok(CommandReport::Ended { exit, .. }) = collected.report else { panic!("{:?}", collected.report) };
    (exit, String::from_utf8(stdout.0).unwrap())
}

#[test]
fn the_first_executable_file_takes_the_shells_place() {
    let dir = TempDir::new().unwrap();
    let place = |name: &str| dir.path().join(name);
    fs::create_dir(place("env")).unwrap();
    put(dir.path(), "locked", "", 0o644);
    let candidates =
        [place("none"), place("env"), place("locked"), "/usr/bin/env".into(), "/bin/false".into()];
    let (exit, output) = by_shortcut(dir.path(), &candidates, &["env"]);
    let here = fs::canonicalize(dir.path()).unwrap();
    assert_eq!(exit, ExitStatus::Code(0));
    assert_eq!(output, format!("A=1\nPWD={}\nSHLVL=0\n_=/usr/bin/env\n", here.display()));
}

#[test]
fn without_one_that_can_be_started_the_shell_runs() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "unmarked", "text", 0o755);
    let candidates = [dir.path().join("unmarked"), "/bin/true".into()];
    assert_eq!(by_shortcut(dir.path(), &candidates, &["x"]).0, ExitStatus::Code(1));
    assert_eq!(by_shortcut(dir.path(), &[dir.path().join("none")], &["x"]).0, ExitStatus::Code(1));
}
