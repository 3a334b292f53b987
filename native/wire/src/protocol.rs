//! The text protocol: conversion between terms and the parser's types.

use crate::{etf, reply};
use beamai_base::{Reason, Result, ToolError};
use beamai_text_protocol::{
    self as protocol, CallFormat, CallStream, InvalidCall, ParsedCall, ProtocolRules, ResponsePiece, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError, RwLock};

/// Maximum number of cached rules; few are enough, since kernels seldom change.
const MOST: usize = 16;

/// Maximum size of a text that is parsed on a normal scheduler, in bytes.
const NOW_BYTES: usize = 16 << 10;

/// A parsed response.
#[derive(Debug, PartialEq, Eq)]
pub enum ParsedResponse {
    /// It has no calls.
    Text,
    /// A term in external format: the first call for [`Protocol::parse`], all pieces for [`Protocol::parse_all`].
    Term(Vec<u8>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesRequest {
    tools: Option<Vec<ToolSpec>>,
    formats: Option<Vec<CallFormat>>,
    #[serde(default)]
    repair: bool,
    #[serde(default)]
    fenced: bool,
}

/// The parser, with a cache of rules.
#[derive(Default)]
pub struct Protocol {
    kept: RwLock<Vec<(Vec<u8>, Arc<ProtocolRules>)>>,
}

impl Protocol {
    /// A parser with an empty cache.
    pub const fn new() -> Self {
        Self { kept: RwLock::new(Vec::new()) }
    }

    /// Whether a text can be parsed fast with these rules.
    pub fn is_instant(&self, rules: &[u8], text: &[u8]) -> bool {
        text.len() <= NOW_BYTES && self.known(rules).is_some()
    }

    /// The first call of a response: `{tool_call, Call}` or `{invalid, Message, Raw}`.
    ///
    /// # Errors
    /// An encoded reply when the rules are not valid.
    pub fn parse(&self, rules: &[u8], text: &[u8]) -> Result<ParsedResponse, Vec<u8>> {
        Ok(match protocol::find(text, &*self.rules(rules)?) {
            None => ParsedResponse::Text,
            Some(piece) => ParsedResponse::Term(pieces(&[piece])),
        })
    }

    /// The pieces of a response.
    ///
    /// # Errors
    /// As [`Protocol::parse`].
    pub fn parse_all(&self, rules: &[u8], text: &[u8]) -> Result<ParsedResponse, Vec<u8>> {
        Ok(match protocol::parse_all(text, &*self.rules(rules)?).as_slice() {
            [ResponsePiece::Text(_)] => ParsedResponse::Text,
            all => ParsedResponse::Term(pieces(all)),
        })
    }

    /// A stream with these rules.
    ///
    /// # Errors
    /// As [`Protocol::parse`].
    pub fn stream(&self, rules: &[u8]) -> Result<ResponseStream, Vec<u8>> {
        let rules = self.rules(rules)?;
        Ok(ResponseStream { stream: Some(CallStream::new((*rules).clone())), fed: 0 })
    }

    /// The system prompt for the tools of the rules: `{ok, Text}`.
    pub fn system_prompt(&self, rules: &[u8]) -> Vec<u8> {
        match self.rules(rules) {
            Ok(rules) => {
                let prompt = rules.tools.as_deref().map(protocol::system_prompt).unwrap_or_default();
                reply::ok(&Value::String(prompt))
            }
            Err(reply) => reply,
        }
    }

    fn known(&self, rules: &[u8]) -> Option<Arc<ProtocolRules>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == rules).map(|(_, rules)| Arc::clone(rules))
    }

    fn rules(&self, bytes: &[u8]) -> Result<Arc<ProtocolRules>, Vec<u8>> {
        if let Some(rules) = self.known(bytes) {
            return Ok(rules);
        }
        let rules = Arc::new(read_rules(bytes).map_err(|error| reply::error(&error))?);
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push((bytes.to_owned(), Arc::clone(&rules)));
        Ok(rules)
    }
}

fn read_rules(bytes: &[u8]) -> Result<ProtocolRules> {
    let wrong = |why: String| {
        ToolError::new(Reason::InvalidArgument, format!("the tools cannot be described: {why}"))
    };
    let value = crate::decode(bytes).map_err(|error| wrong(error.to_string()))?;
    let request: RulesRequest = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    Ok(ProtocolRules {
        tools: request.tools.map(|tools| Arc::new(tools.into_iter().collect())),
        formats: request.formats.unwrap_or_else(|| CallFormat::ALL.to_vec()),
        repair: request.repair,
        fenced: request.fenced,
    })
}

/// A streamed response. Each step has a sequence number, so that a repeated step is detected.
pub struct ResponseStream {
    stream: Option<CallStream>,
    fed: u64,
}

impl ResponseStream {
    /// Whether the next bytes can be processed fast.
    pub fn is_instant(&self, bytes: &[u8]) -> bool {
        self.stream.as_ref().is_none_or(|stream| stream.held() + bytes.len() <= NOW_BYTES)
    }

    /// Processes the next bytes and returns the completed pieces; `None` when `step` is not the next one.
    pub fn feed(&mut self, step: u64, bytes: &[u8]) -> Option<Vec<u8>> {
        let stream = self.stream.as_mut().filter(|_| step == self.fed)?;
        self.fed += 1;
        Some(pieces(&stream.feed(bytes)))
    }

    /// Returns the remaining pieces; `None` as for [`ResponseStream::feed`].
    pub fn end(&mut self, step: u64) -> Option<Vec<u8>> {
        let stream = self.stream.take_if(|_| step == self.fed)?;
        Some(pieces(&stream.end()))
    }
}

/// The message to the model about a call: `{ok, Text}`. The outcome is `#{ok => Value}` or `#{error => Message}`.
pub fn format_result(outcome: &[u8]) -> Vec<u8> {
    let wrong = |why: String| {
        reply::error(&ToolError::new(Reason::InvalidArgument, format!("the result is not JSON: {why}")))
    };
    let outcome = match crate::decode(outcome) {
        Ok(outcome) => outcome,
        Err(error) => return wrong(error.to_string()),
    };
    let text = match (outcome.get("ok"), outcome.get("error").and_then(Value::as_str)) {
        (Some(value), _) => protocol::format_result(Ok(value)),
        (None, Some(message)) => protocol::format_result(Err(message)),
        (None, None) => return wrong("it is neither ok nor error".to_owned()),
    };
    reply::ok(&json!(text))
}

fn pieces(pieces: &[ResponsePiece]) -> Vec<u8> {
    etf::encode_list(pieces, size_hint(pieces), |out, piece| match piece {
        ResponsePiece::Text(text) => {
            etf::write_tuple(out, 2);
            etf::write_atom(out, "text");
            etf::write_bytes(out, text);
        }
        ResponsePiece::Call(call) => {
            etf::write_tuple(out, 2);
            etf::write_atom(out, "tool_call");
            write_call(out, call);
        }
        ResponsePiece::Invalid(InvalidCall { message, raw, .. }) => {
            etf::write_tuple(out, 3);
            etf::write_atom(out, "invalid");
            etf::write_bytes(out, message.as_bytes());
            etf::write_bytes(out, raw);
        }
    })
}

/// Approximate size of the pieces, to avoid reallocation.
fn size_hint(pieces: &[ResponsePiece]) -> usize {
    let size = |piece: &ResponsePiece| match piece {
        ResponsePiece::Text(text) => text.len(),
        ResponsePiece::Call(call) => call.args.values().filter_map(Value::as_str).map(str::len).sum(),
        ResponsePiece::Invalid(invalid) => invalid.raw.len() + invalid.message.len(),
    };
    pieces.iter().map(|piece| size(piece) + 256).sum()
}

fn write_call(out: &mut Vec<u8>, call: &ParsedCall) {
    let optional = usize::from(call.reasoning.is_some()) + usize::from(!call.repairs.is_empty());
    etf::write_map(out, 3 + optional);
    etf::write_atom(out, "tool");
    etf::write_bytes(out, call.tool.as_bytes());
    etf::write_atom(out, "args");
    etf::write_object(out, &call.args);
    etf::write_atom(out, "format");
    etf::write_atom(out, call.format.as_str());
    if let Some(reasoning) = &call.reasoning {
        etf::write_atom(out, "reasoning");
        etf::write_bytes(out, reasoning.as_bytes());
    }
    if !call.repairs.is_empty() {
        etf::write_atom(out, "repairs");
        etf::write(out, &json!(call.repairs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &[u8] = b"<TOOL_CALL>{\"tool\":\"t\",\"args\":{}}</TOOL_CALL>";

    fn rules(value: &Value) -> Vec<u8> {
        crate::encode(value)
    }

    #[test]
    fn rules_that_are_not_valid_are_an_error() {
        for bad in
            [rules(&json!({"tools": [{"name": 7}]})), rules(&json!({"formats": ["json"]})), b"x".to_vec()]
        {
            assert!(Protocol::new().parse(&bad, CALL).is_err());
        }
    }

    #[test]
    fn what_is_short_and_known_is_instant() {
        let protocol = Protocol::new();
        let rules = rules(&json!({}));
        assert!(!protocol.is_instant(&rules, CALL));
        assert!(matches!(protocol.parse(&rules, CALL), Ok(ParsedResponse::Term(_))));
        assert!(protocol.is_instant(&rules, CALL));
        assert!(!protocol.is_instant(&rules, &[b' '; NOW_BYTES + 1]));
        assert_eq!(protocol.parse_all(&rules, b"text"), Ok(ParsedResponse::Text));
    }

    #[test]
    fn old_rules_make_room_for_new_ones() {
        let protocol = Protocol::new();
        let name = |n: usize| rules(&json!({"tools": [{"name": n.to_string()}]}));
        for n in 0..=MOST {
            assert!(protocol.parse(&name(n), CALL).is_ok());
        }
        assert!(!protocol.is_instant(&name(0), CALL));
        assert!(protocol.is_instant(&name(MOST), CALL));
    }

    #[test]
    fn each_step_of_a_stream_is_taken_once() {
        let mut stream = Protocol::new().stream(&rules(&json!({}))).ok().unwrap();
        assert!(stream.feed(0, b"a").is_some());
        assert!(stream.feed(0, b"a").is_none());
        assert!(stream.end(0).is_none());
        assert!(stream.end(1).is_some());
        assert!(stream.end(1).is_none());
    }

    #[test]
    fn a_result_is_ok_or_an_error() {
        for (outcome, is_good) in
            [(json!({"ok": 1}), true), (json!({"error": "e"}), true), (json!({"other": 1}), false)]
        {
            let reply = format_result(&crate::encode(&outcome));
            assert_eq!(reply == format_result(&crate::encode(&json!({"other": 1}))), !is_good);
        }
    }
}
