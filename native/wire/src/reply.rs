//! Replies: `{ok, Value}`, `{ok, Value, State}`, `{error, Error}`, `{ask, Request}`, `{question, Questions}`,
//! `{delegate, Delegation}`, `{consult, Consultation}`.

use crate::etf::{encode_tagged, encode_tagged_pair};
use beamai_base::ToolError;
use beamai_tool::Consultation;
use beamai_tool::SessionState;
use beamai_tool::delegation::Delegation;
use beamai_tool::question::Question;
use serde_json::{Value, json};

/// `{ok, Value}`.
pub fn ok(value: &Value) -> Vec<u8> {
    encode_tagged("ok", value)
}

/// `{ok, Value}`, or `{ok, Value, State}` with the session's new state.
pub(crate) fn done(value: &Value, state: Option<&SessionState>) -> Vec<u8> {
    match state {
        None => ok(value),
        Some(state) => encode_tagged_pair("ok", value, &json!(state)),
    }
}

/// `{error, #{<<"tool">>, <<"error_type">>, <<"message">>, <<"details">>}}`.
pub fn error(error: &ToolError) -> Vec<u8> {
    encode_tagged("error", &error.to_value())
}

/// `{ask, Request}`.
pub(crate) fn ask(request: &Value) -> Vec<u8> {
    encode_tagged("ask", request)
}

/// `{question, [Question]}`.
pub(crate) fn question(questions: &[Question]) -> Vec<u8> {
    encode_tagged("question", &json!(questions))
}

/// `{delegate, #{<<"agent">>, <<"objective">>}}`.
pub(crate) fn delegate(delegation: &Delegation) -> Vec<u8> {
    encode_tagged("delegate", &json!(delegation))
}

/// `{consult, #{<<"system">>, <<"prompt">>, <<"so_far">>}}`.
pub(crate) fn consult(consultation: &Consultation) -> Vec<u8> {
    encode_tagged("consult", &json!(consultation))
}
