//! Results and errors as the protocol has them.

use beamai_base::ToolError;
use beamai_tool::Tool;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};

/// Where in a result's `_meta` the error object is.
pub(super) const ERROR_KEY: &str = "beamai/error";
const IMAGE_NOTE: &str = "the image is in the content of this result";

/// A result: structured, as JSON text for clients that know no structured content, and an image as such.
pub(super) fn done(tool: &dyn Tool, mut value: Value) -> CallToolResult {
    let image = take_image(tool, &mut value);
    let mut content = vec![ContentBlock::text(value.to_string())];
    content.extend(image);
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(value);
    result
}

/// An error of the tool. The error object is the text, for the model, and in `_meta`, for programs: structured
/// content has to be what the output schema says, and clients check that of errors, too.
pub(super) fn failed(error: &ToolError) -> CallToolResult {
    let value = error.to_value();
    let result = CallToolResult::error(vec![ContentBlock::text(value.to_string())]);
    let mut meta = MetaObject::new();
    meta.0.insert(ERROR_KEY.to_owned(), value);
    result.with_meta(Some(meta))
}

/// Takes the image out of a result, which says so where it can; an image is large, and one time is enough.
fn take_image(tool: &dyn Tool, value: &mut Value) -> Option<ContentBlock> {
    let media_type = value.get("media_type")?.as_str()?.to_owned();
    let properties = &tool.output_schema()["properties"];
    let is_image = value.get("is_image") == Some(&Value::Bool(true));
    let key = match properties.get("image_base64") {
        Some(_) => "image_base64",
        None if is_image => "content",
        None => return None,
    };
    let data = value.get(key)?.as_str().filter(|data| !data.is_empty())?.to_owned();
    value[key] = if key == "content" { json!("") } else { Value::Null };
    if properties.get("note").is_some() {
        let note = match value.get("note").and_then(Value::as_str) {
            Some(note) => format!("{note}; {IMAGE_NOTE}"),
            None => IMAGE_NOTE.to_owned(),
        };
        value["note"] = note.into();
    }
    Some(ContentBlock::image(data, media_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_engine::catalogue;

    fn done_by(dialect: &str, tool: &str, value: Value) -> Value {
        let tool = catalogue::find(tool, Some(dialect)).unwrap();
        serde_json::to_value(done(&**tool, value)).unwrap()
    }

    #[test]
    fn an_image_is_given_once() {
        for (dialect, tool, key) in [
            ("beamai", "file_read", "image_base64"),
            ("coder", "fetch", "content"),
            ("ide", "read_file", "image_base64"),
        ] {
            let value = json!({key: "AAAA", "media_type": "image/png", "is_image": true});
            let result = done_by(dialect, tool, value);
            let expected = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
            assert_eq!(result["content"][1], expected, "{dialect}");
            assert!(!result["structuredContent"].to_string().contains("AAAA"), "{dialect}");
        }
    }

    #[test]
    fn text_is_no_image() {
        let value = json!({"content": "AAAA", "media_type": "text/plain", "is_image": false});
        let result = done_by("coder", "fetch", value.clone());
        assert_eq!((result["content"].as_array().unwrap().len(), &result["structuredContent"]), (1, &value));
    }
}
