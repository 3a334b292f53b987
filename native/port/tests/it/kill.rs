//! Nothing survives: after a timeout, a cancel, or the death of whoever watches over a command, no process of it is
//! left on the machine. Each test first sees the processes alive.

use crate::common::{Env, MODES, PROGRAM, assert_none_left, marked, marker, wait_until};
use beamai_base::Reason;
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts daemons of every kind that is hard to kill and waits: ten processes with the shell, all with the mark in
/// their environment.
const DAEMONS: &str = r#"
stubborn='trap "" TERM INT HUP QUIT USR1; while :; do sleep 1000; done'
bash -c "$stubborn" &
setsid bash -c "$stubborn" >/dev/null 2>&1 </dev/null &
(setsid sleep 1000 >/dev/null 2>&1 &)
(trap '' CHLD; sleep 1000 & sleep 1000 & wait) &
sleep 1000 & kill -STOP $!
wait
"#;
/// The shell, two stubborn ones with a sleep each, the orphan, the one that ignores the death of its two children,
/// and the stopped one.
const COUNT: usize = 10;

fn daemons(mark: &str) -> Value {
    json!({"command": DAEMONS, "env": {"MARK": mark}})
}

/// Runs the port program on its own: `call` with a command, whose processes carry the mark.
fn port(env: &Env, mode: &str, args: &Value) -> Child {
    let required = crate::common::required();
    let mode = if mode == "required" { required.as_str() } else { mode };
    Command::new(PROGRAM)
        .args(["call", "--default", "allow", "--sandbox", mode, "--workspace"])
        .arg(env.path())
        .args(["shell_exec", &args.to_string()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

fn assert_none_left_soon(mark: &str) {
    wait_until(|| marked(mark).is_empty());
}

/// The launcher among the children of a process.
pub(crate) fn launcher_of(parent: u32) -> u32 {
    let named = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "beamai-launcher\n")
    };
    children_of(parent).into_iter().find(named).unwrap()
}

pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).unwrap().flatten();
    let children = threads.flat_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        text.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()).collect::<Vec<_>>()
    });
    children.collect()
}

#[test]
fn a_timeout_kills_everything() {
    for mode in MODES {
        let mark = marker();
        let mut args = daemons(&mark);
        args["timeout"] = json!(1500);
        let seen = std::thread::scope(|scope| {
            let watch = scope.spawn(|| wait_until(|| marked(&mark).len() == COUNT));
            let error = Env::with(mode).fails(args);
            assert_eq!(error.reason, Reason::Timeout);
            assert_none_left(&mark);
            watch.join()
        });
        assert!(seen.is_ok(), "{mode}: the daemons were never there");
    }
}

#[test]
fn a_cancel_kills_everything_at_once() {
    for mode in MODES {
        let mark = marker();
        let started = Instant::now();
        let error = Env::with(mode).cancelled_when(daemons(&mark), || marked(&mark).len() == COUNT);
        assert_eq!(error.reason, Reason::Cancelled);
        assert_eq!(error.details["killed"], COUNT, "{mode}");
        assert_none_left(&mark);
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_call_that_was_cancelled_before_it_began_starts_nothing() {
    let mark = marker();
    let error = Env::new().cancelled_when(json!({"command": format!("sleep 1000; : {mark}")}), || true);
    assert_eq!(error.reason, Reason::Cancelled);
    assert_none_left(&mark);
}

#[test]
fn the_death_of_the_port_kills_everything() {
    for mode in MODES {
        let (env, mark) = (Env::new(), marker());
        let mut port = port(&env, mode, &daemons(&mark));
        // The port carries the mark too, in its arguments.
        wait_until(|| marked(&mark).len() == COUNT + 1);
        let launcher = launcher_of(port.id());
        kill("-KILL", port.id());
        port.wait().unwrap();
        assert_none_left_soon(&mark);
        wait_until(|| !std::fs::exists(format!("/proc/{launcher}")).unwrap());
    }
}

#[test]
fn the_death_of_the_port_kills_a_launcher_that_is_stopped() {
    for mode in MODES {
        let (env, mark) = (Env::new(), marker());
        let mut port = port(&env, mode, &daemons(&mark));
        wait_until(|| marked(&mark).len() == COUNT + 1);
        let launcher = launcher_of(port.id());
        kill("-STOP", launcher);
        kill("-KILL", port.id());
        port.wait().unwrap();
        assert_none_left_soon(&mark);
        wait_until(|| !std::fs::exists(format!("/proc/{launcher}")).unwrap());
    }
}

#[test]
fn the_death_of_the_launcher_kills_everything_and_the_call_returns() {
    for mode in MODES {
        let (env, mark) = (Env::new(), marker());
        let mut port = port(&env, mode, &daemons(&mark));
        wait_until(|| marked(&mark).len() == COUNT + 1);
        kill("-KILL", launcher_of(port.id()));
        assert!(!port.wait().unwrap().success());
        assert_none_left_soon(&mark);
    }
}

/// Stops the shell with its group, and a process in a session of its own.
const STOPPED: &str = r#"
setsid bash -c 'kill -STOP $$' >/dev/null 2>&1 </dev/null &
(sleep 1000 & sleep 1000 & wait) &
sleep 0.2
kill -STOP 0
"#;

/// Whether all of these processes are stopped, and there are as many as there should be.
fn are_stopped(mark: &str, count: usize) -> bool {
    let is_stopped = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    };
    let pids = marked(mark);
    pids.len() == count && pids.iter().all(is_stopped)
}

#[test]
fn a_tree_that_is_stopped_is_killed_all_the_same() {
    for mode in MODES {
        let (env, mark) = (Env::with(mode), marker());
        let args = json!({"command": STOPPED, "env": {"MARK": mark}});
        let error = env.cancelled_when(args.clone(), || are_stopped(&mark, 5));
        assert_eq!((error.reason, &error.details["killed"]), (Reason::Cancelled, &json!(5)), "{mode}");
        assert_none_left(&mark);
        // The port carries the mark too, in its arguments.
        let mut port = port(&env, mode, &args);
        wait_until(|| marked(&mark).len() == 6);
        kill("-KILL", port.id());
        port.wait().unwrap();
        assert_none_left_soon(&mark);
    }
}

#[test]
fn a_command_that_kills_or_stops_its_reaper_ends_with_it() {
    for signal in ["KILL", "STOP"] {
        let mark = marker();
        let command = format!("(setsid sleep 1000 &) ; sleep 0.1; kill -{signal} $PPID; sleep 1000");
        let error =
            Env::with("off").fails(json!({"command": command, "env": {"MARK": mark}, "timeout": 8000}));
        assert_eq!(error.reason, Reason::Io, "{error}");
        assert_none_left_soon(&mark);
    }
    // The init of a pid namespace is out of reach.
    let result = Env::new().run("kill -KILL $PPID; kill -STOP $PPID; echo still here");
    assert_eq!((&result["stdout"], &result["exit_code"]), (&json!("still here\n"), &json!(0)));
}

#[test]
fn two_hundred_daemons_are_gone_soon_after_the_timeout() {
    for mode in MODES {
        let mark = marker();
        let command = r#"trap "" TERM; for i in {1..200}; do setsid sleep 1000 >/dev/null 2>&1 & done; wait"#;
        // Within this time all of them have started, even on a busy machine.
        let error =
            Env::with(mode).fails(json!({"command": command, "env": {"MARK": mark}, "timeout": 5000}));
        assert_none_left(&mark);
        let late = error.details["duration_ms"].as_u64().unwrap() - 5000;
        assert_eq!(error.details["killed"], 201, "{mode}");
        // Generous, for machines under load; the usual is a few milliseconds.
        assert!(late < 1000, "{mode}: {late} ms late");
    }
}
