//! A port that is told to end while a command runs.

use super::{Outside, program};
use crate::common::{Env, PROGRAM, required, wait_until};
use crate::kill::{children_of, launcher_of};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Plants a program, says so, and stays.
const PLANT: &str =
    "git init -q r && git -C r config core.fsmonitor \"$PWD/evil\" && touch ready && sleep 1000";

/// A call of that command, which has planted the program.
fn planting(env: &Env, timeout: u64) -> Child {
    let mut call = Command::new(PROGRAM);
    let args = json!({"command": PLANT, "timeout": timeout});
    call.args(["call", "shell_exec", &args.to_string(), "--settings", "none"]);
    call.args(["--allow", "Bash", "--sandbox", &required(), "--workspace"]).arg(env.path());
    let child = call.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| env.path().join("ready").exists());
    child
}

fn send(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_call_that_is_told_to_end_cleans_up_before_it_ends() {
    for (signal, code) in [
        ("-INT", Some(130)),
        ("-TERM", Some(143)),
        ("-HUP", Some(129)),
        ("-QUIT", Some(131)),
        ("-KILL", None),
    ] {
        let (env, outside) = (Env::with("off"), Outside::new());
        program(&env, &outside);
        let child = planting(&env, 100_000);
        send(signal, child.id());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code, "{signal}");
        // Nobody cleans up after a killed one, which shows that the program would run.
        assert_eq!(outside.runs(&env.path().join("r"), &["status"]), code.is_none(), "{signal}");
        if code.is_some() {
            let error: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(error["details"]["reason"], "cancelled", "{error}");
            assert!(error["details"]["planted"].to_string().contains("core.fsmonitor"), "{error}");
        }
    }
}

/// As systemd sends it to all processes of a service, and a terminal to those of its foreground.
#[test]
fn a_signal_to_launcher_and_reapers_too_keeps_nothing_from_being_cleaned() {
    for signal in ["-INT", "-HUP", "-QUIT"] {
        let (env, outside) = (Env::with("off"), Outside::new());
        program(&env, &outside);
        let child = planting(&env, 100_000);
        let launcher = launcher_of(child.id());
        let reapers = children_of(launcher);
        assert!(!reapers.is_empty());
        reapers.iter().chain(&[launcher, child.id()]).for_each(|pid| send(signal, *pid));
        let output = child.wait_with_output().unwrap();
        let error: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(error["details"]["reason"], "cancelled", "{signal}: {error}");
        assert!(error["details"]["planted"].to_string().contains("core.fsmonitor"), "{signal}: {error}");
        assert!(!outside.runs(&env.path().join("r"), &["status"]), "{signal}");
    }
}

#[test]
fn a_call_that_has_nothing_to_clean_up_ends_at_once() {
    let env = Env::new();
    let mut call = Command::new(PROGRAM);
    call.args(["call", "shell_exec", "--command", "touch ready; sleep 1000", "--settings", "none"]);
    call.args(["--allow", "Bash", "--sandbox", "off", "--workspace"]).arg(env.path());
    let child = call.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| env.path().join("ready").exists());
    send("-TERM", child.id());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
}

#[test]
fn nothing_is_cleaned_before_the_last_process_has_ended() {
    let env = Env::with("off");
    fs::write(env.path().join("evil"), "").unwrap();
    let mut child = planting(&env, 2_000);
    // The launcher would kill a reaper that is stopped. It goes on when the port has ended.
    let launcher = launcher_of(child.id());
    let reapers = children_of(launcher);
    [launcher].iter().chain(&reapers).for_each(|pid| send("-STOP", *pid));
    let mut told = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
    let error: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(error["details"]["reason"], "timeout", "{error}");
    assert_eq!(error["details"]["planted"][0]["setting"], "unknown", "{error}");
    let settings = || fs::read_to_string(env.path().join("r/.git/config")).unwrap();
    assert!(settings().contains("fsmonitor"), "{}", settings());
    reapers.iter().for_each(|reaper| send("-CONT", *reaper));
    let output = child.wait_with_output().unwrap();
    assert!(!settings().contains("fsmonitor"), "{}", settings());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("r/.git/config: core.fsmonitor"), "{told}");
}
