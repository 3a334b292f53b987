//! Results and errors rendered for models, as terms.

use crate::reply;
use beamai_base::{Reason, Result, ToolError};
use beamai_engine::catalogue::{self, ToolOrigin};
use beamai_tool::for_model::of_error;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RenderRequest {
    tool: String,
    /// The tool's dialect; null for a custom tool. If left out, the tool's name decides.
    #[serde(default, deserialize_with = "given")]
    dialect: Option<Option<String>>,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// Maximum characters of the text.
    limit: usize,
    /// Whether to return an object too, if the tool's dialect has one in the text protocol.
    #[serde(default)]
    object: bool,
}

/// A value that may be null, as distinct from one that is left out.
fn given<'de, D: serde::Deserializer<'de>>(
    value: D,
) -> std::result::Result<Option<Option<String>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// A result, or an error, as text for a model: `{ok, #{<<"text">>, <<"object">>}}`, the latter null if there is none;
/// or an error if a custom tool's result is not valid.
pub fn for_model(request: &[u8]) -> Vec<u8> {
    match rendered(request) {
        Ok(value) => reply::ok(&value),
        Err(error) => reply::error(&error),
    }
}

fn rendered(request: &[u8]) -> Result<Value> {
    let wrong = |why: String| ToolError::new(Reason::InvalidArgument, why);
    let value = crate::decode(request).map_err(|error| wrong(error.to_string()).with("is_json", false))?;
    let request: RenderRequest = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    if let Some(error) = request.error {
        return Ok(json!({"text": of_error(&error, request.limit), "object": null}));
    }
    let origin = match &request.dialect {
        None => ToolOrigin::ByName,
        Some(None) => ToolOrigin::Host,
        Some(Some(dialect)) => ToolOrigin::Dialect(dialect),
    };
    let result = request.result.unwrap_or_default();
    let text = catalogue::text_for_model(origin, &request.tool, &request.args, &result, request.limit);
    let object = match request.object {
        true => catalogue::object_for_model(origin, &request.tool, &request.args, &result, request.limit),
        false => None,
    };
    Ok(json!({"text": text.map_err(wrong)?, "object": object}))
}
