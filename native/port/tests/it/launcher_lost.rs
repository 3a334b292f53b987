//! A launcher that is killed under its port. The tests of a process share one launcher.

use crate::{common::Env, own_process::is_own_process};
use beamai_base::Reason;
use serde_json::json;

#[test]
fn after_the_launcher_was_lost_the_next_command_runs() {
    if !is_own_process(module_path!(), "after_the_launcher_was_lost_the_next_command_runs") {
        return;
    }
    let env = Env::with("off");
    let lost = env.fails(json!({"command": "kill -KILL $(ps -o ppid= $PPID); sleep 1000", "timeout": 8000}));
    assert_eq!(lost.reason, Reason::Io, "{lost}");
    assert_eq!(env.stdout("echo again"), "again\n");
}
