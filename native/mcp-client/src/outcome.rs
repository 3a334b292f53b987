//! Converts a server's result and its errors for the host.

use crate::secrets::Secrets;
use beamai_base::json::parse_bounded;
use beamai_base::{Reason, ToolError};
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::{Map, Value, json};

/// Maximum length of an error text, in bytes.
const LONGEST_ERROR: usize = 16 << 10;

/// The result of a tool: `structured` if the server sends it, `text`, and all other blocks in `content`. Text that
/// repeats `structured` is left out.
///
/// # Errors
/// `tool_failed` if the tool reports an error.
pub(super) fn result(
    server: &str,
    result: CallToolResult,
    most_text: usize,
    secrets: &Secrets,
) -> Result<Value, ToolError> {
    let texts: Vec<&str> = result.content.iter().filter_map(text_of).collect();
    let text = texts.join("\n");
    if result.is_error == Some(true) {
        return Err(secrets.hide_in(failed(server, &secrets.hide(&text), &result)));
    }
    let mut out = Map::new();
    let says_nothing_new = match &result.structured_content {
        None => false,
        Some(structured) => {
            out.insert("structured".into(), structured.clone());
            text.is_empty() || texts.iter().all(|text| says(text, structured))
        }
    };
    let others: Vec<Value> = others(&result.content);
    let says_something = !text.is_empty() || others.is_empty();
    if says_something && !says_nothing_new {
        let kept = text.floor_char_boundary(most_text.min(text.len()));
        out.insert("text".into(), text[..kept].into());
        if kept < text.len() {
            out.insert("truncated".into(), true.into());
            out.insert("text_bytes".into(), text.len().into());
        }
    }
    if !others.is_empty() {
        out.insert("content".into(), others.into());
    }
    Ok(Value::Object(out))
}

/// The result with a note if the session was replaced.
pub(super) fn noted(mut result: Value, is_renewed: bool) -> Value {
    if is_renewed {
        result["note"] =
            "The server had lost its session, and a new one was started: the state of the old one is gone."
                .into();
    }
    result
}

/// JSON Schema of [`result`], with the server's schema of the structured content.
pub(super) fn schema(structured: Option<&Value>) -> Value {
    let any = json!({});
    json!({"type": "object", "properties": {
        "text": {"type": "string", "description": "The text of the result."},
        "structured": structured.unwrap_or(&any),
        "content": {"type": "array", "items": {"type": "object"},
            "description": "Images, sounds and resources, in the protocol's format."},
        "truncated": {"type": "boolean", "description": "Whether the text was cut."},
        "note": {"type": "string", "description": "A note on the session, if there is one."},
        "text_bytes": {"type": "integer", "description": "Length of the complete text in bytes, if it was cut."},
    }})
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        _ => None,
    }
}

fn others(content: &[ContentBlock]) -> Vec<Value> {
    let others = content.iter().filter(|block| text_of(block).is_none());
    others.filter_map(|block| serde_json::to_value(block).ok()).collect()
}

/// Whether a text is this value as JSON.
fn says(text: &str, value: &Value) -> bool {
    parse_bounded::<Value>(text.as_bytes()).is_ok_and(|said| said == *value)
}

fn failed(server: &str, text: &str, result: &CallToolResult) -> ToolError {
    let message = match text.trim() {
        "" => format!("{server} reports that the tool failed, and gives no reason"),
        text => shortened(text),
    };
    let mut error = ToolError::new(Reason::ToolFailed, message);
    if let Some(structured) = &result.structured_content {
        error = error.with("structured", structured.clone());
    }
    let others = others(&result.content);
    if !others.is_empty() {
        error = error.with("content", others);
    }
    error
}

/// An error response of the server. `knows` is whether it lists the tool.
pub(super) fn refused(server: &str, tool: &str, error: &ErrorData, knows: bool) -> ToolError {
    let said = shortened(&error.message);
    let may_be_unknown = [ErrorCode::INVALID_PARAMS, ErrorCode::METHOD_NOT_FOUND].contains(&error.code);
    let (reason, message) = match error.code {
        _ if may_be_unknown && !knows => {
            (Reason::UnknownTool, format!("{server} no longer has a tool {tool:?}: {said}"))
        }
        ErrorCode::INVALID_PARAMS => {
            (Reason::InvalidArgument, format!("{server} rejects these arguments: {said}"))
        }
        _ => (Reason::McpServer, format!("{server} responded with an error: {said} ({})", error.code.0)),
    };
    let mut out = ToolError::new(reason, message).with("code", error.code.0);
    if let Some(data) = error.data.as_ref().filter(|data| data.to_string().len() <= LONGEST_ERROR) {
        out = out.with("data", data.clone());
    }
    out
}

/// A server's text, cut for a message.
pub(super) fn shortened(text: &str) -> String {
    match text.len() <= LONGEST_ERROR {
        true => text.to_owned(),
        false => {
            format!("{}… ({} bytes in all)", &text[..text.floor_char_boundary(LONGEST_ERROR)], text.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(written: Value) -> Result<Value, ToolError> {
        result("the server", serde_json::from_value(written).unwrap(), 10, &Secrets::default())
    }

    #[test]
    fn text_is_joined_and_cut() {
        let two = json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
        assert_eq!(of(two).unwrap(), json!({"text": "a\nb"}));
        let long = json!({"content": [{"type": "text", "text": "123456789é"}]});
        assert_eq!(of(long).unwrap(), json!({"text": "123456789", "truncated": true, "text_bytes": 11}));
        assert_eq!(of(json!({"content": []})).unwrap(), json!({"text": ""}));
    }

    #[test]
    fn what_is_structured_stands_for_the_text_that_says_the_same() {
        let block = |text: &str| json!([{"type": "text", "text": text}]);
        let same = json!({"content": block("{ \"a\": 1 }"), "structuredContent": {"a": 1}});
        assert_eq!(of(same).unwrap(), json!({"structured": {"a": 1}}));
        let more = json!({"content": block("one a"), "structuredContent": {"a": 1}});
        assert_eq!(of(more).unwrap(), json!({"structured": {"a": 1}, "text": "one a"}));
    }

    #[test]
    fn other_contents_come_as_the_protocol_has_them() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        assert_eq!(of(json!({"content": [image.clone()]})).unwrap(), json!({"content": [image]}));
    }

    #[test]
    fn a_tool_that_failed_is_an_error_with_its_text() {
        let error =
            of(json!({"content": [{"type": "text", "text": "disk full"}], "isError": true})).unwrap_err();
        assert_eq!((error.reason, &*error.message), (Reason::ToolFailed, "disk full"));
        let silent = of(json!({"content": [], "isError": true})).unwrap_err();
        assert!(silent.message.contains("gives no reason"));
    }

    #[test]
    fn the_error_of_a_tool_shows_no_secrets() {
        let secret = "T0KEN-of-many-parts";
        let secrets = Secrets::of(std::iter::once(secret));
        for before in [0, LONGEST_ERROR - 10] {
            let text = format!("{}{secret}{}", "x".repeat(before), "y".repeat(50));
            let written = json!({"isError": true, "structuredContent": {secret: secret}, "content": [
                {"type": "text", "text": text}, {"type": "resource_link", "uri": secret, "name": "x"}
            ]});
            let error =
                result("the server", serde_json::from_value(written).unwrap(), 10, &secrets).unwrap_err();
            let said = error.to_value().to_string();
            assert!(said.contains("***") && !said.contains("T0"), "{said}");
        }
    }

    #[test]
    fn errors_of_the_protocol_have_their_reasons() {
        let reason = |code, knows| {
            let error = ErrorData::new(ErrorCode(code), "no", Some(json!({"x": 1})));
            refused("the server", "t", &error, knows).reason
        };
        assert_eq!(reason(-32602, true), Reason::InvalidArgument);
        assert_eq!(reason(-32602, false), Reason::UnknownTool);
        assert_eq!(reason(-32601, false), Reason::UnknownTool);
        assert_eq!(reason(-32603, false), Reason::McpServer);
    }
}
