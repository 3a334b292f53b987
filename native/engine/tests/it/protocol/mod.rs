//! The text protocol: what its specification says, and what holds for any text.

mod containers;
mod hostile;
mod properties;
mod specification;
mod streaming;
mod within;

use beamai_text_protocol::{
    CallFormat, CallStream, InvalidCall, ParsedCall, ProtocolRules, ResponsePiece, ToolSet, ToolSpec, check,
    format_error, format_result, parse, parse_all, system_prompt,
};
use serde_json::{Value, json};

/// The tools that the specification's prompt lists.
fn spec_tools() -> ToolSet {
    let tools = json!([
        {"name": "read_file", "description": "Read content of a file",
         "parameters": {"path": {"type": "string", "required": true}}},
        {"name": "write_file", "description": "Write content to a file",
         "parameters": {"path": {"type": "string", "required": true},
                        "content": {"type": "string", "required": true}}},
        {"name": "list_files", "description": "List files in directory",
         "parameters": {"directory": {"type": "string", "required": true}, "pattern": {"type": "string"}}},
        {"name": "search_code", "description": "Search code in codebase",
         "parameters": {"query": {"type": "string", "required": true}, "options": {"type": "object"}}},
        {"name": "get_diagnostics", "description": "Get errors and warnings",
         "parameters": {"file": {"type": "string"}}},
    ]);
    serde_json::from_value::<Vec<ToolSpec>>(tools).unwrap().into_iter().collect()
}

fn known() -> ProtocolRules {
    ProtocolRules::with_tools(spec_tools())
}

fn format_only(text: &str) -> ResponsePiece {
    parse(text.as_bytes(), &ProtocolRules::default())
}

fn validated(text: &str) -> ResponsePiece {
    parse(text.as_bytes(), &known())
}

fn all(text: &str) -> Vec<ResponsePiece> {
    parse_all(text.as_bytes(), &known())
}

fn text(text: &str) -> ResponsePiece {
    ResponsePiece::Text(text.as_bytes().to_owned())
}

#[track_caller]
fn call(piece: ResponsePiece) -> ParsedCall {
    match piece {
        ResponsePiece::Call(call) => call,
        other => panic!("expected a call, got {other:?}"),
    }
}

#[track_caller]
fn message(piece: ResponsePiece) -> String {
    match piece {
        ResponsePiece::Invalid(InvalidCall { message, .. }) => message,
        other => panic!("expected an invalid call, got {other:?}"),
    }
}

fn args(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}
