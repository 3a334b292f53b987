//! Results and errors for models, as terms.

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
    /// Whose tool it is: a dialect's name, or null for the host's own. Left out, the tool's name decides.
    #[serde(default, deserialize_with = "given")]
    dialect: Option<Option<String>>,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// Most characters of the text.
    limit: usize,
    /// Whether an object is wanted besides the text, where the tool's dialect has one in the text protocol.
    #[serde(default)]
    object: bool,
}

/// A value that may be null, which is not the same as one that is left out.
fn given<'de, D: serde::Deserializer<'de>>(
    value: D,
) -> std::result::Result<Option<Option<String>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// A result, or an error, as text for a model: `{ok, #{<<"text">>, <<"object">>}}`, the last null where there is none;
/// or an error that says what is wrong with the result of the host's own tool.
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
        true => catalogue::object_for_model(origin, &request.tool, &result, request.limit),
        false => None,
    };
    Ok(json!({"text": text.map_err(wrong)?, "object": object}))
}
