//! JSON between tags.

use crate::call::{CallFormat, ParsedCall};
use memchr::memchr3;
use serde_json::{Map, Value};

pub(crate) use super::mend::mend;

/// Maximum nesting: the parser recurses, and its stack may be a scheduler's.
const MAX_DEPTH: usize = 64;

/// The extent of a JSON value.
pub(crate) enum JsonExtent {
    /// The value is complete.
    Whole,
    /// It cannot be JSON, for this reason.
    Wrong(&'static str),
}

/// Scans a JSON object from `at`, with its depth and whether a string is open, to its end. `None` if more input is
/// needed. It does not validate everything, but it always detects strings: none extends over a line break, and outside
/// them there is neither a backslash nor a tag.
pub(crate) fn extent(
    buf: &[u8],
    at: &mut usize,
    depth: &mut usize,
    in_string: &mut bool,
) -> Option<JsonExtent> {
    loop {
        let outcome = match *in_string {
            true => string(buf, at, in_string),
            false => outside(buf, at, depth, in_string),
        };
        match outcome {
            JsonProgress::More => return None,
            JsonProgress::On => {}
            JsonProgress::Done(extent) => return Some(extent),
        }
    }
}

enum JsonProgress {
    On,
    More,
    Done(JsonExtent),
}

fn string(buf: &[u8], at: &mut usize, in_string: &mut bool) -> JsonProgress {
    loop {
        let Some(len) = memchr3(b'"', b'\\', b'\n', &buf[*at..]) else {
            *at = buf.len();
            return JsonProgress::More;
        };
        *at += len;
        match buf[*at] {
            b'"' => {
                *at += 1;
                *in_string = false;
                return JsonProgress::On;
            }
            b'\n' => {
                return JsonProgress::Done(JsonExtent::Wrong(
                    "a line break inside a string; write it as \\n",
                ));
            }
            _ => match buf.get(*at + 1) {
                None => return JsonProgress::More,
                Some(b'\n') => *at += 1,
                Some(_) => *at += 2,
            },
        }
    }
}

fn outside(buf: &[u8], at: &mut usize, depth: &mut usize, in_string: &mut bool) -> JsonProgress {
    for byte in &buf[*at..] {
        *at += 1;
        match byte {
            b'"' => {
                *in_string = true;
                return JsonProgress::On;
            }
            b'{' | b'[' if *depth == MAX_DEPTH => {
                return JsonProgress::Done(JsonExtent::Wrong("nested deeper than 64 levels"));
            }
            b'{' | b'[' => *depth += 1,
            b'}' | b']' => {
                *depth = depth.saturating_sub(1);
                if *depth == 0 {
                    return JsonProgress::Done(JsonExtent::Whole);
                }
            }
            b'\\' => return JsonProgress::Done(JsonExtent::Wrong("a backslash outside a string")),
            b'<' => return JsonProgress::Done(JsonExtent::Wrong("the object is not closed before <")),
            _ => {}
        }
    }
    JsonProgress::More
}

/// Parses an object.
pub(crate) fn object(text: &[u8]) -> Result<Map<String, Value>, String> {
    let text = simdutf8::basic::from_utf8(text).map_err(|_| "the text is not valid UTF-8".to_owned())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The call of an object and the raw texts after it.
pub(crate) fn call(mut head: Map<String, Value>, texts: Vec<(String, String)>) -> Result<ParsedCall, String> {
    let wrong = |what: &str| Err(format!("Invalid tool call format: {what}"));
    let tool = match head.remove("tool") {
        Some(Value::String(tool)) if !tool.is_empty() => tool,
        Some(_) => return wrong("\"tool\" must be the name of a tool"),
        None => return wrong("\"tool\" is missing"),
    };
    let mut args = match head.remove("args") {
        Some(Value::Object(args)) => args,
        Some(_) => return wrong("\"args\" must be an object"),
        None if !texts.is_empty() => Map::new(),
        None => return wrong("\"args\" is missing; a call without arguments has \"args\": {}"),
    };
    for (name, text) in texts {
        if args.contains_key(&name) {
            return wrong(&format!("\"{name}\" is given twice"));
        }
        args.insert(name, Value::String(text));
    }
    let mut call = ParsedCall::new(tool, args, CallFormat::Tag);
    call.reasoning = head.remove("reasoning").and_then(reasoning);
    Ok(call)
}

fn reasoning(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}
