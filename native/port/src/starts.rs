//! Answers to approval requests about program starts of a running command.

use beamai_engine::CallRequest;
use serde_json::{Map, Value, json};

/// The call that allows the start with this id, and adds rules for later starts of the command.
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
