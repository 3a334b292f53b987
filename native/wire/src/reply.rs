//! Replies: `{ok, Value}`, `{error, Error}`, `{ask, Request}`.

use crate::etf::encode_tagged;
use beamai_tools::ToolError;
use serde_json::Value;

/// `{ok, Value}`.
pub fn ok(value: &Value) -> Vec<u8> {
    encode_tagged("ok", value)
}

/// `{error, #{<<"tool">>, <<"error_type">>, <<"message">>, <<"details">>}}`.
pub fn error(error: &ToolError) -> Vec<u8> {
    encode_tagged("error", &error.to_value())
}

/// `{ask, Request}`.
pub(crate) fn ask(request: &Value) -> Vec<u8> {
    encode_tagged("ask", request)
}
