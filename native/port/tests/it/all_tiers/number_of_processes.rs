//! The limit of a command's processes in the tier `landlock`, where the reaper counts those of root.

use super::{no_user_namespaces, under};
use crate::common::{PROGRAM, is_root};
use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

/// The result of a command in the tier, of at most 50 processes.
fn with_few_processes(command: &str) -> Value {
    let dir = TempDir::new().unwrap();
    let settings = tempfile::NamedTempFile::new().unwrap();
    let sandbox = json!({"tier": "landlock", "processes": 50});
    std::fs::write(settings.path(), json!({"sandbox": sandbox}).to_string()).unwrap();
    let mut port = under(Command::new(PROGRAM), no_user_namespaces());
    port.args(["call", "--default", "allow", "--settings"])
        .arg(settings.path())
        .arg("--workspace")
        .arg(dir.path());
    let args = json!({"command": command, "timeout": 30_000});
    let output = port.args(["shell_exec", &args.to_string()]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_command_with_too_many_processes_is_ended() {
    let value = with_few_processes("for i in $(seq 300); do sleep 100 & done; wait");
    match is_root() {
        true => assert_eq!(value["details"]["reason"], "too_many_processes", "{value}"),
        // The kernel refuses them.
        false => assert!(value["stderr"].as_str().unwrap().contains("fork"), "{value}"),
    }
}

/// Each forks a child and ends, again and again, so that a look at `/proc` finds few of them.
#[test]
fn too_many_processes_do_not_hide_by_forking_and_ending() {
    // For others the kernel counts them.
    if !is_root() {
        return;
    }
    let hop = "if not os.fork():\n  os.setsid()\n  while True:\n   if os.fork(): os._exit(0)";
    let command = format!("python3 -c $'import os, time\nfor _ in range(75):\n {hop}\ntime.sleep(100)'");
    let value = with_few_processes(&command);
    assert_eq!(value["details"]["reason"], "too_many_processes", "{value}");
}
