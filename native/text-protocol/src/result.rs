//! Messages to the model about its calls.

use beamai_text::{self as text, escaped};
use serde_json::Value;

/// `TOOL_RESULT:` with the data of a call that succeeded, or the message of one that failed.
pub fn format_result(outcome: Result<&Value, &str>) -> String {
    let (success, data, error) = match outcome {
        Ok(data) => (true, data, None),
        Err(message) => (false, &Value::Null, Some(message)),
    };
    let mut out = format!("TOOL_RESULT: {{\n  \"success\": {success},\n  \"data\": ");
    write(&mut out, data, Some(1));
    out.push_str(",\n  \"error\": ");
    write(&mut out, &error.map_or(Value::Null, Value::from), None);
    out.push_str("\n}");
    out
}

/// `TOOL_ERROR:` with the message about an invalid call. The message may quote a model, a file or a server, so it is
/// escaped to one line: no part of it can begin a line like the protocol's own.
pub fn format_error(message: &str) -> String {
    let message = escaped(message.trim_end_matches(['.', ' ', '\n']));
    format!("TOOL_ERROR: {message}. Please try again with correct format.")
}

/// JSON on one line, with a space after each colon and comma.
pub(super) fn spaced(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, None);
    out
}

/// Writes a value, indented at a level or on one line. Objects have one key per line, except inside lists, where each
/// element has one line: results contain long lists, and white space costs tokens.
fn write(out: &mut String, value: &Value, level: Option<usize>) {
    match value {
        Value::Object(map) => {
            let member = |(key, value): (&String, &Value), out: &mut String| {
                write(out, &Value::from(key.as_str()), None);
                out.push_str(": ");
                write(out, value, level.map(|level| level + 1));
            };
            members(out, '{', '}', map.iter(), level, member);
        }
        Value::Array(items) => {
            let is_flat = items.iter().all(|item| !item.is_object() && !item.is_array());
            let level = level.filter(|_| !is_flat);
            members(out, '[', ']', items.iter(), level, |item, out| write(out, item, None));
        }
        scalar => out.push_str(&text::json(scalar)),
    }
}

fn members<T>(
    out: &mut String,
    open: char,
    close: char,
    items: impl ExactSizeIterator<Item = T>,
    level: Option<usize>,
    each: impl Fn(T, &mut String),
) {
    let lines = level.filter(|_| items.len() > 0);
    let new_line = |out: &mut String, level: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    };
    out.push(open);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push_str(if lines.is_some() { "," } else { ", " });
        }
        if let Some(level) = lines {
            new_line(out, level + 1);
        }
        each(item, out);
    }
    if let Some(level) = lines {
        new_line(out, level);
    }
    out.push(close);
}
