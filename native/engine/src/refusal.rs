//! Errors of calls that needed an approval and did not get it.

use beamai_base::{CONFIGURE, HostHint, Reason, ToolError, excerpt};
use serde_json::Value;
use std::borrow::Cow;

/// Nobody could be asked.
pub fn nobody_to_ask(request: &Value, why: &str) -> ToolError {
    let configure = match request["matched_rule"].as_str() {
        Some(rule) => format!("remove the rule {rule}, which no other rule overrides"),
        None => format!("allow it with {}", wanted(request)),
    };
    let message = format!("{}: this needs an approval, and {why}; {configure}", what(request));
    let error = ToolError::new(Reason::NeedsApproval, message).with(CONFIGURE, configure);
    about(request, error.with(ANSWER, "nobody"))
}

/// The user denied it.
pub fn said_no(request: &Value, who: &str) -> ToolError {
    let message = format!("{}: {who} said no; do something else, or ask what is wanted", what(request));
    about(request, ToolError::new(Reason::Denied, message).with(ANSWER, "declined"))
}

/// The user closed the request without an answer.
pub fn gave_no_answer(request: &Value, who: &str) -> ToolError {
    let message =
        format!("{}: {who} closed the question without an answer; do not ask again unchanged", what(request));
    about(request, ToolError::new(Reason::Denied, message).with(ANSWER, "cancelled"))
}

/// The key of an error's details with the response: declined, cancelled, or that nobody could be asked.
const ANSWER: &str = "answer";

/// What was asked, shortened: a command may have thousands of characters, which its caller knows.
fn what(request: &Value) -> Cow<'_, str> {
    excerpt(request["message"].as_str().unwrap_or_default())
}

/// The options that would allow the requested action.
fn wanted(request: &Value) -> String {
    let own = [request["rule"].clone()];
    let several = request["wanted"].as_array().or_else(|| request["always"].as_array());
    let rules = several.map_or(&own[..], Vec::as_slice);
    HostHint::options(rules.iter().filter_map(Value::as_str))
}

fn about(request: &Value, mut error: ToolError) -> ToolError {
    for key in ["rule", "subject", "command", "file", "url", "query"] {
        if let Some(value) = request.get(key) {
            error = error.with(key, value.clone());
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_rule_that_is_needed_is_named() {
        let configure = |request| nobody_to_ask(&request, "w").details[CONFIGURE].clone();
        let request = json!({"rule": "Edit", "message": "m", "always": ["Edit(a)", "Bash(rm '*')"]});
        assert_eq!(configure(request), r"allow it with --allow 'Edit(a)' --allow 'Bash(rm '\''*'\'')'");
        let request = json!({"rule": "Edit", "message": "m", "matched_rule": "Edit(x)"});
        assert_eq!(configure(request), "remove the rule Edit(x), which no other rule overrides");
        assert_eq!(configure(json!({"rule": "Edit", "message": "m"})), "allow it with --allow 'Edit'");
    }
}
