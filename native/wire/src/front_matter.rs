//! Front matter of Markdown files, for hosts that read such files.

use crate::reply;
use beamai_base::{Reason, ToolError};
use beamai_text::front_matter as read;
use serde_json::{Value, json};

/// `{ok, #{head, body}}` of a text, where the head is null if there is none, or an error.
pub fn front_matter(text: &[u8]) -> Vec<u8> {
    let found = str::from_utf8(text).map_err(|why| format!("it is not UTF-8: {why}")).and_then(|text| {
        Ok(read::<Value>(text)?.map_or((Value::Null, text), |(head, body)| (keys(head), body)))
    });
    match found {
        Ok((head, body)) => reply::ok(&json!({"head": head, "body": body})),
        Err(why) => reply::error(&ToolError::new(Reason::InvalidArgument, why)),
    }
}

/// Empty front matter is an empty map.
fn keys(head: Value) -> Value {
    if head.is_null() { json!({}) } else { head }
}
