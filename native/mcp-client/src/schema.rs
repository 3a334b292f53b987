//! Converts a server's schema of arguments to parameters, if they can express it.

use beamai_schema::{Param, ParamType, Parameters, has_type};
use serde_json::{Map, Value};

/// Maximum depth of a converted schema.
const DEEPEST: usize = 16;

/// Keywords without effect on arguments: pydantic, for one, adds titles everywhere.
const NOISE: [&str; 3] = ["title", "$schema", "$id"];

/// The parameters of a schema; `None` if they cannot express all of it.
pub(super) fn parameters(schema: &Map<String, Value>) -> Option<Parameters> {
    let known = ["type", "properties", "required", "additionalProperties"];
    (schema.get("type")? == "object" && only(schema, &known)).then_some(())?;
    object(schema, 0)
}

fn only(schema: &Map<String, Value>, known: &[&str]) -> bool {
    schema.keys().all(|key| known.contains(&&**key) || NOISE.contains(&&**key))
}

/// The properties of an object without additional ones.
fn object(schema: &Map<String, Value>, depth: usize) -> Option<Parameters> {
    let properties = schema.get("properties")?.as_object()?;
    if depth > DEEPEST
        || schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false))
    {
        return None;
    }
    let required: Vec<&str> = match schema.get("required") {
        None => vec![],
        Some(names) => names.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
    };
    if required.iter().any(|name| !properties.contains_key(*name)) {
        return None;
    }
    let one = |(name, schema): (&String, &Value)| {
        let is_required = required.contains(&&**name);
        Some((name.clone(), property(schema.as_object()?, is_required, depth + 1)?))
    };
    properties.iter().map(one).collect()
}

fn property(schema: &Map<String, Value>, required: bool, depth: usize) -> Option<Param> {
    let schema = &without_null(schema, required)?;
    let kind = kind(schema)?;
    let known: &[&str] = match kind {
        ParamType::String => &["enum"],
        ParamType::Integer | ParamType::Float => &["enum", "minimum", "maximum"],
        ParamType::Boolean => &[],
        ParamType::Array => &["items", "minItems", "maxItems"],
        ParamType::Object => &["properties", "required", "additionalProperties"],
    };
    if !only(schema, &[&["type", "description", "default"], known].concat()) {
        return None;
    }
    let number = |key: &str| match schema.get(key) {
        None => Some(None),
        Some(Value::Number(number)) => Some(Some(number.clone())),
        Some(_) => None,
    };
    let count = |key: &str| match schema.get(key) {
        None => Some(None),
        Some(count) => count.as_u64().map(Some),
    };
    Some(Param {
        kind,
        description: text(schema.get("description"))?,
        required,
        default: fitting(kind, schema.get("default"))?,
        values: enumeration(kind, schema.get("enum"))?,
        items: match schema.get("items") {
            None => None,
            Some(items) => Some(Box::new(property(items.as_object()?, true, depth + 1)?)),
        },
        properties: match (kind, schema.contains_key("properties")) {
            (ParamType::Object, true) => Some(object(schema, depth)?),
            (ParamType::Object, false) if !is_open(schema) => return None,
            _ => None,
        },
        minimum: number("minimum")?,
        maximum: number("maximum")?,
        min_items: count("minItems")?,
        max_items: count("maxItems")?,
        position: None,
        self_evident: false,
        unlisted: false,
    })
}

/// Whether an object without named properties accepts any.
fn is_open(schema: &Map<String, Value>) -> bool {
    !schema.contains_key("required")
        && schema.get("additionalProperties").is_none_or(|others| *others == Value::Bool(true))
}

/// An optional property may be null anyway, so null is removed from its type.
fn without_null(schema: &Map<String, Value>, required: bool) -> Option<Map<String, Value>> {
    let mut out = schema.clone();
    let is_null = |choice: &Value| choice == "null" || choice.get("type").is_some_and(|name| name == "null");
    let pair = |choices: &Value| match choices.as_array().map(Vec::as_slice) {
        Some([one, null]) | Some([null, one]) if is_null(null) && !is_null(one) => Some(one.clone()),
        _ => None,
    };
    if let Some(choices) = schema.get("anyOf") {
        let Value::Object(one) = pair(choices)? else { return None };
        out.remove("anyOf");
        for (key, value) in one {
            if out.contains_key(&key) && !NOISE.contains(&&*key) {
                return None;
            }
            out.insert(key, value);
        }
    } else if schema.get("type").is_some_and(Value::is_array) {
        out.insert("type".into(), pair(&schema["type"])?);
    } else {
        return Some(out);
    }
    if out.get("default") == Some(&Value::Null) {
        out.remove("default");
    }
    (!required).then_some(out)
}

fn kind(schema: &Map<String, Value>) -> Option<ParamType> {
    Some(match schema.get("type")?.as_str()? {
        "string" => ParamType::String,
        "integer" => ParamType::Integer,
        "number" => ParamType::Float,
        "boolean" => ParamType::Boolean,
        "array" => ParamType::Array,
        "object" => ParamType::Object,
        _ => return None,
    })
}

fn text(value: Option<&Value>) -> Option<Option<String>> {
    match value {
        None => Some(None),
        Some(value) => value.as_str().map(|text| Some(text.to_owned())),
    }
}

fn fitting(kind: ParamType, value: Option<&Value>) -> Option<Option<Value>> {
    match value {
        None => Some(None),
        Some(value) => has_type(kind, value).then(|| Some(value.clone())),
    }
}

fn enumeration(kind: ParamType, values: Option<&Value>) -> Option<Option<Vec<Value>>> {
    let Some(values) = values else { return Some(None) };
    let values = values.as_array().filter(|values| !values.is_empty())?;
    values.iter().all(|value| has_type(kind, value)).then(|| Some(values.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn translated(schema: Value) -> Option<Value> {
        parameters(schema.as_object().unwrap()).map(|parameters| serde_json::to_value(parameters).unwrap())
    }

    fn property(schema: Value) -> Option<Value> {
        translated(json!({"type": "object", "properties": {"x": schema}})).map(|mut all| all["x"].take())
    }

    #[test]
    fn what_parameters_can_say_is_translated() {
        let schema = json!({"$schema": "…", "title": "t", "type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "title": "A", "description": "an a", "enum": ["x", "y"]},
            "n": {"type": "number", "minimum": 0, "maximum": 1.5, "default": 1},
            "list": {"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": false,
                "properties": {"b": {"type": "boolean"}}}},
            "any": {"type": "object"},
        }, "additionalProperties": false});
        assert_eq!(
            translated(schema).unwrap(),
            json!({
                "a": {"type": "string", "description": "an a", "required": true, "enum": ["x", "y"]},
                "n": {"type": "float", "required": false, "default": 1, "minimum": 0, "maximum": 1.5},
                "list": {"type": "array", "required": false, "minItems": 1, "items": {"type": "object",
                    "required": true, "properties": {"b": {"type": "boolean", "required": false}}}},
                "any": {"type": "object", "required": false},
            })
        );
    }

    #[test]
    fn what_may_be_null_may_be_left_out() {
        let optional = json!({"type": "string", "required": false, "description": "d"});
        let written =
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "description": "d"});
        assert_eq!(property(written), Some(optional.clone()));
        assert_eq!(property(json!({"type": ["string", "null"], "description": "d"})), Some(optional));
        let required =
            json!({"type": "object", "required": ["x"], "properties": {"x": {"type": ["string", "null"]}}});
        assert_eq!(translated(required), None);
    }

    #[test]
    fn what_parameters_cannot_say_is_left_to_the_schema() {
        for schema in [
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"$ref": "#/$defs/x"}),
            json!({"type": "string", "pattern": "^a"}),
            json!({"type": "string", "default": 1}),
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            json!({"const": 1}),
            json!(true),
        ] {
            assert_eq!(property(schema.clone()), None, "{schema}");
        }
        assert_eq!(translated(json!({"type": "object"})), None);
        assert_eq!(translated(json!({"type": "object", "properties": {}, "required": ["x"]})), None);
        assert_eq!(translated(json!({"type": "object", "properties": {}, "anyOf": []})), None);
    }
}
