//! Converts text to the type of a parameter.

use beamai_schema::{Param, ParamType};
use serde_json::Value;

/// The value that a text represents. Without a known type, or if the text does not fit it, the text itself.
pub(crate) fn typed(text: Value, param: Option<&Param>) -> Value {
    match (text, param) {
        (Value::String(text), Some(param)) if param.kind != ParamType::String => read(text, param),
        (text, _) => text,
    }
}

fn read(text: String, param: &Param) -> Value {
    let lower = text.trim().to_ascii_lowercase();
    let source = if matches!(lower.as_str(), "true" | "false" | "null") { &lower } else { text.trim() };
    match serde_json::from_str::<Value>(source) {
        Ok(value) if fits(param.kind, &value) => value,
        _ => Value::String(text),
    }
}

fn fits(kind: ParamType, value: &Value) -> bool {
    match kind {
        ParamType::String => value.is_string(),
        ParamType::Integer | ParamType::Float => value.is_number() || value.is_null(),
        ParamType::Boolean => value.is_boolean() || value.is_null(),
        ParamType::Array => value.is_array() || value.is_null(),
        ParamType::Object => value.is_object() || value.is_null(),
    }
}
