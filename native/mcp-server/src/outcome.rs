//! Results and errors in the protocol's format.

use beamai_base::ToolError;
use beamai_engine::catalogue::{self, ToolOrigin};
use beamai_tool::{Tool, for_model};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};

/// The key of a result's `_meta` that holds the error object.
pub(crate) const ERROR_KEY: &str = "beamai/error";
const IMAGE_NOTE: &str = "the image is in the content of this result";

/// The format of results.
#[derive(Debug, Clone, Copy)]
pub struct ResultFormat {
    /// Whether results include structured content, and tools have output schemas.
    pub is_structured: bool,
    /// Maximum characters of the text.
    pub limit: usize,
}

impl Default for ResultFormat {
    fn default() -> Self {
        Self { is_structured: false, limit: for_model::LIMIT }
    }
}

/// A result: its text for models, an image as such, and structured content if enabled.
pub(crate) fn done(
    tool: &dyn Tool,
    dialect: &str,
    args: &Map<String, Value>,
    mut value: Value,
    shape: ResultFormat,
) -> CallToolResult {
    let image = take_image(tool, &mut value);
    let origin = ToolOrigin::Dialect(dialect);
    let text = catalogue::text_for_model(origin, tool.name(), args, &value, shape.limit);
    // Only results of custom tools can be impossible to render.
    let mut content = vec![ContentBlock::text(text.unwrap_or_else(|why| why))];
    content.extend(image);
    let mut result = CallToolResult::success(content);
    result.structured_content = shape.is_structured.then_some(value);
    result
}

/// An error of a tool: its text for models, and the error object in `_meta` for programs. Structured content would have
/// to match the output schema, which clients check for errors too.
pub(crate) fn failed(error: &ToolError, limit: usize) -> CallToolResult {
    let value = error.to_value();
    let result = CallToolResult::error(vec![ContentBlock::text(for_model::of_error(&value, limit))]);
    let mut meta = MetaObject::new();
    meta.0.insert(ERROR_KEY.to_owned(), value);
    result.with_meta(Some(meta))
}

/// Removes the image from a result, which then says so if possible: images are large and are already included as such.
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

    fn done_by(dialect: &str, tool: &str, value: Value) -> Value {
        let tool = catalogue::find(tool, Some(dialect)).unwrap();
        let shape = ResultFormat { is_structured: true, ..ResultFormat::default() };
        serde_json::to_value(done(&**tool, dialect, &Map::new(), value, shape)).unwrap()
    }

    #[test]
    fn an_image_is_given_once() {
        for (dialect, tool, key) in [
            ("beamai", "file_read", "image_base64"),
            ("coder", "fetch", "content"),
            ("ide", "read_file", "image_base64"),
        ] {
            let value = json!({key: "AAAA", "media_type": "image/png", "is_image": true, "status_code": 200});
            let result = done_by(dialect, tool, value);
            let expected = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
            assert_eq!(result["content"][1], expected, "{dialect}");
            assert!(!result["structuredContent"].to_string().contains("AAAA"), "{dialect}");
            assert!(!result["content"][0]["text"].as_str().unwrap().contains("AAAA"), "{dialect}");
        }
    }

    #[test]
    fn text_is_no_image() {
        let value = json!({"content": "AAAA", "media_type": "text/plain", "is_image": false});
        let result = done_by("coder", "fetch", value.clone());
        assert_eq!((result["content"].as_array().unwrap().len(), &result["structuredContent"]), (1, &value));
    }

    #[test]
    fn text_is_for_models_and_structure_is_on_demand() {
        let value =
            json!({"content": "a\nb\n", "start_line": 1, "total_lines": 2, "has_more": false, "hash": "0"});
        let tool = catalogue::find("file_read", Some("beamai")).unwrap();
        let result = done(&**tool, "beamai", &Map::new(), value, ResultFormat::default());
        let result = serde_json::to_value(result).unwrap();
        assert_eq!(result["content"], json!([{"type": "text", "text": "a\nb"}]));
        assert!(result.get("structuredContent").is_none());
    }
}
