//! Answers to questions about what a running command starts.

use beamai_engine::CallRequest;
use serde_json::{Map, Value, json};

/// The call that lets the start of that id go on, and has rules allow what the command starts from there on.
pub(crate) fn approval(id: &str, rules: &[String]) -> CallRequest {
    call(&json!({"start": id, "decision": "allow", "rules": rules}))
}

/// The call that refuses it.
pub(crate) fn refusal(id: &str, reason: &str) -> CallRequest {
    call(&json!({"start": id, "decision": "deny", "reason": reason}))
}

fn call(args: &Value) -> CallRequest {
    let args = args.as_object().cloned().unwrap_or_else(Map::new);
    CallRequest::new("start_answer", Some("mcp".to_owned()), args)
}
