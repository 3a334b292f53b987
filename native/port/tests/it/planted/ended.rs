//! A port that is told to end while a command runs.

use super::{Outside, program};
use crate::common::{Env, PROGRAM, required, wait_until};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};

/// Plants a program, says so, and stays.
const PLANT: &str =
    "git init -q r && git -C r config core.fsmonitor \"$PWD/evil\" && touch ready && sleep 1000";

/// A call of that command, which has planted the program.
fn planting(env: &Env) -> Child {
    let mut call = Command::new(PROGRAM);
    call.args(["call", "shell_exec", &json!({"command": PLANT}).to_string(), "--settings", "none"]);
    call.args(["--allow", "Bash", "--sandbox", &required(), "--workspace"]).arg(env.path());
    let child = call.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| env.path().join("ready").exists());
    child
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_call_that_is_told_to_end_cleans_up_before_it_ends() {
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(143)), ("-HUP", Some(129)), ("-KILL", None)] {
        let (env, outside) = (Env::with("off"), Outside::new());
        program(&env, &outside);
        let child = planting(&env);
        send(signal, &child);
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

#[test]
fn a_call_that_has_nothing_to_clean_up_ends_at_once() {
    let env = Env::new();
    let mut call = Command::new(PROGRAM);
    call.args(["call", "shell_exec", "--command", "touch ready; sleep 1000", "--settings", "none"]);
    call.args(["--allow", "Bash", "--sandbox", "off", "--workspace"]).arg(env.path());
    let child = call.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| env.path().join("ready").exists());
    send("-TERM", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
}
