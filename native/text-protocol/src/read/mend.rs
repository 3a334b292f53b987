//! Repairs nearly valid JSON between tags.

use super::json;
use super::lenient::LenientReader;
use super::line::split_line;
use crate::call::ParsedCall;
use serde_json::{Map, Value};

/// The call that a text between tags was meant to be, with the repairs; `None` if that is ambiguous.
pub(crate) fn mend(text: &[u8]) -> Option<ParsedCall> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let mut repairs = Vec::new();
    let bare = without_fence(text);
    if bare != text {
        repairs.push("the code block around the JSON was taken off".to_owned());
    }
    let mut lenient = LenientReader::new(bare);
    let Value::Object(head) = lenient.value().ok()? else { return None };
    if !lenient.is_done() {
        return None;
    }
    repairs.extend(lenient.liberties.iter().map(|liberty| (*liberty).to_owned()));
    finish(head, repairs)
}

fn finish(head: Map<String, Value>, repairs: Vec<String>) -> Option<ParsedCall> {
    let mut call = json::call(head, Vec::new()).ok()?;
    call.repairs = repairs;
    Some(call)
}

/// The content of a fenced code block, if the text is one.
fn without_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    match inside.map(split_line) {
        Some((info, inside)) if !info.contains('{') => inside.trim(),
        _ => text,
    }
}
