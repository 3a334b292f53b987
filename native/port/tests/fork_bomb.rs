//! A fork bomb. Alone in its file, for it leaves other tests no processes while it lasts.

mod common;

use beamai_tools::Reason;
use common::{Env, MODES, assert_none_left, marker};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn a_fork_bomb_ends_with_its_timeout() {
    for mode in MODES {
        let mark = marker();
        let started = Instant::now();
        let error = Env::with(mode).fails(json!({
            "command": "bomb() { bomb | bomb & }; bomb; sleep 1000", "env": {"MARK": mark}, "timeout": 300}));
        assert_eq!(error.reason, Reason::Timeout, "{mode}: {error}");
        assert!(error.details["killed"].as_u64().unwrap() > 10, "{mode}: {error:?}");
        assert_none_left(&mark);
        assert!(started.elapsed() < Duration::from_secs(10), "{mode}: {:?}", started.elapsed());
    }
}
