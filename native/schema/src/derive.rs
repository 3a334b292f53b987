//! Converts a derived JSON Schema to [`Param`]s.

use super::{Param, ParamType, Parameters};
use serde_json::{Map, Value};

/// The keyword that marks a parameter whose name explains it: `#[schemars(extend("self_evident" = true))]`.
const SELF_EVIDENT: &str = "self_evident";
/// The keyword that marks a parameter that is accepted but not listed: `#[schemars(extend("unlisted" = true))]`.
const UNLISTED: &str = "unlisted";

pub(super) fn parameters(schema: &Value) -> Parameters {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    properties
        .iter()
        .map(|(name, schema)| (name.clone(), param(schema, required.iter().any(|one| one == name))))
        .collect()
}

fn param(schema: &Value, required: bool) -> Param {
    let map = merged(schema);
    let values = enumeration(&map);
    let kind = kind(&map);
    Param {
        kind,
        description: map.get("description").and_then(Value::as_str).map(unwrap_lines),
        required,
        default: map.get("default").filter(|value| !value.is_null()).cloned(),
        values,
        // The description of the array covers its elements.
        items: map.get("items").map(|items| Box::new(Param { description: None, ..param(items, false) })),
        properties: map.contains_key("properties").then(|| parameters(&Value::Object(map.clone()))),
        minimum: bound(&map, kind, "minimum"),
        maximum: bound(&map, kind, "maximum"),
        min_items: map.get("minItems").and_then(Value::as_u64),
        max_items: map.get("maxItems").and_then(Value::as_u64),
        position: None,
        self_evident: map.get(SELF_EVIDENT) == Some(&Value::Bool(true)),
        unlisted: map.get(UNLISTED) == Some(&Value::Bool(true)),
    }
}

fn bound(map: &Map<String, Value>, kind: ParamType, key: &str) -> Option<serde_json::Number> {
    let number = map.get(key)?.as_number()?;
    // schemars writes integer bounds from attributes as floats.
    match (kind, number.as_f64()) {
        (ParamType::Integer, Some(float)) if float.fract() == 0.0 => Some((float as i64).into()),
        _ => Some(number.clone()),
    }
}

/// The schema merged with the only alternative of `anyOf: [X, null]`, which is an optional type.
fn merged(schema: &Value) -> Map<String, Value> {
    let mut map = schema.as_object().cloned().unwrap_or_default();
    if let Some(Value::Array(choices)) = map.remove("anyOf") {
        let mut real = choices.into_iter().filter(|choice| choice["type"] != "null");
        let Some(Value::Object(only)) = real.next() else { panic!("anyOf without a type: {schema}") };
        assert!(real.next().is_none(), "a parameter cannot be a union: {schema}");
        for (key, value) in only {
            map.entry(key).or_insert(value);
        }
    }
    map
}

fn kind(map: &Map<String, Value>) -> ParamType {
    let name = match map.get("type") {
        Some(Value::String(name)) => name.as_str(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("none")
        }
        _ if map.contains_key("oneOf") => "string",
        _ => "none",
    };
    serde_json::from_value(name.into())
        .unwrap_or_else(|_| panic!("a parameter needs one type, not {name:?}: {map:?}"))
}

/// The values of an enum, whose variants may have docs (`oneOf` of constants) or not.
fn enumeration(map: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(Value::Array(values)) = map.get("enum") {
        return Some(values.iter().filter(|value| !value.is_null()).cloned().collect());
    }
    let choices = map.get("oneOf")?.as_array()?;
    let values = choices.iter().flat_map(|choice| match choice.get("const") {
        Some(value) => vec![value.clone()],
        None => choice["enum"].as_array().cloned().unwrap_or_default(),
    });
    Some(values.filter(|value| !value.is_null()).collect())
}

/// Joins the lines of a doc comment.
fn unwrap_lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
