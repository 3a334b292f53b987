//! A fork bomb. A program of its own, for it leaves other tests no processes while it lasts: cargo runs one program after
//! the other. It goes through the command line and links nothing of the tools.

#[path = "it/processes.rs"]
mod processes;

use processes::{assert_none_left, marker};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[test]
fn a_fork_bomb_ends_with_its_timeout() {
    for mode in ["required", "off"] {
        let (dir, mark) = (TempDir::new().unwrap(), marker());
        let args = json!({
            "command": "bomb() { bomb | bomb & }; bomb; sleep 1000", "env": {"MARK": mark}, "timeout": 300});
        let mut port = Command::new(env!("CARGO_BIN_EXE_beamai-port"));
        port.args(["call", "--default", "allow", "--sandbox", mode, "--workspace"]).arg(dir.path());
        let started = Instant::now();
        let output = port.args(["shell_exec", &args.to_string()]).output().unwrap();
        let error: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(error["details"]["reason"], "timeout", "{mode}: {error}");
        assert!(error["details"]["killed"].as_u64().unwrap() > 10, "{mode}: {error}");
        assert_none_left(&mark);
        assert!(started.elapsed() < Duration::from_secs(60), "{mode}: {:?}", started.elapsed());
    }
}
