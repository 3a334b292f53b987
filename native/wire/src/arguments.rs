//! The argument check of tools with Erlang handlers, and "did you mean" for names that Erlang has.

use crate::reply;
use beamai_base::{Reason, Result, ToolError};
use beamai_schema::{self as schema, Parameters};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentsRequest {
    #[serde(default)]
    args: Map<String, Value>,
    /// Problems that only the host can see. If there are any, the arguments are not checked.
    #[serde(default)]
    problems: Vec<String>,
}

/// Checks arguments against parameters, both terms: `{ok, Args}`, or an error that lists the problems.
pub fn check_arguments(parameters: &[u8], request: &[u8]) -> Vec<u8> {
    match try_check(parameters, request) {
        Ok(args) => reply::ok(&Value::Object(args)),
        Err(error) => reply::error(&error),
    }
}

fn try_check(parameters: &[u8], request: &[u8]) -> Result<Map<String, Value>> {
    let wrong = |why: String| {
        ToolError::new(Reason::InvalidArgument, format!("the arguments cannot be checked: {why}"))
    };
    let read = |term: &[u8]| crate::decode(term).map_err(|error| wrong(error.to_string()));
    let parameters: Parameters =
        serde_json::from_value(read(parameters)?).map_err(|error| wrong(error.to_string()))?;
    let parameters = schema::in_order(&parameters);
    let request: ArgumentsRequest =
        serde_json::from_value(read(request)?).map_err(|error| wrong(error.to_string()))?;
    match request.problems.is_empty() {
        true => schema::check(&parameters, request.args),
        false => Err(schema::refusal(&parameters, request.problems)),
    }
}

/// The names that resemble a wrong one. Names that are not UTF-8 resemble none.
pub fn nearest(wrong: &[u8], names: &[&[u8]]) -> Vec<String> {
    let names = names.iter().filter_map(|name| std::str::from_utf8(name).ok());
    let near = std::str::from_utf8(wrong).map(|wrong| beamai_base::nearest(wrong, names));
    near.unwrap_or_default().into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use serde_json::json;

    fn answer(request: Value) -> std::result::Result<Value, String> {
        let parameters = json!({"b": {"type": "integer"}, "a": {"type": "array", "required": true}});
        let checked = try_check(&encode(&parameters), &encode(&request));
        checked.map(Value::Object).map_err(|error| error.message)
    }

    #[test]
    fn arguments_come_back_converted_or_with_their_problems() {
        assert_eq!(answer(json!({"args": {"a": "[1]", "b": 2.0}})), Ok(json!({"a": [1], "b": 2})));
        let accepted = "Accepted: a (array, required), b (integer)";
        let missing = format!("\"a\" is missing (array). {accepted}");
        assert_eq!(answer(json!({"args": {}})), Err(missing));
        assert_eq!(answer(json!({"problems": ["\"a\" is odd"]})), Err(format!("\"a\" is odd. {accepted}")));
    }

    #[test]
    fn what_is_not_parameters_is_an_error() {
        let reply = check_arguments(&encode(&json!({"a": {"type": "set"}})), &encode(&json!({})));
        assert!(String::from_utf8_lossy(&reply).contains("the arguments cannot be checked: unknown variant"));
    }

    #[test]
    fn names_that_are_not_text_resemble_none() {
        assert_eq!(nearest(b"file_raed", &[b"file_read", b"\xff", b"x"]), ["file_read"]);
        assert!(nearest(b"\xff\xfe", &[b"file"]).is_empty());
    }
}
