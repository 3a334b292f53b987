//! Answers to questions about what a running command starts.

use beamai_engine::Call;
use serde_json::{Map, json};

/// The call that answers the question of that id.
pub(crate) fn answer(id: &str, is_allowed: bool, reason: &str) -> Call {
    let args = match is_allowed {
        true => json!({"start": id, "decision": "allow"}),
        false => json!({"start": id, "decision": "deny", "reason": reason}),
    };
    let args = args.as_object().cloned().unwrap_or_else(Map::new);
    Call::new("start_answer", Some("mcp".to_owned()), args)
}
