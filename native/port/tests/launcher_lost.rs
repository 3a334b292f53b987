//! A launcher that is killed under its port. Alone in its file, for the tests of a file share one launcher.

mod common;

use beamai_tools::Reason;
use common::Env;
use serde_json::json;

#[test]
fn after_the_launcher_was_lost_the_next_command_runs() {
    let env = Env::with("off");
    let lost = env.fails(json!({"command": "kill -KILL $(ps -o ppid= $PPID); sleep 1000", "timeout": 8000}));
    assert_eq!(lost.reason, Reason::Io, "{lost}");
    assert_eq!(env.stdout("echo again"), "again\n");
}
