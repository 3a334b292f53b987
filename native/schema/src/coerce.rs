//! Corrects arguments that a model wrote in a slightly wrong form.
//!
//! Only unambiguous cases are changed; everything else is left to the [check](super::check()).

use super::{Param, ParamType, Parameters, json_text};
use serde_json::{Map, Value};

/// Text parameters for which an empty string is a meaningful value.
const TEXTS: [&str; 4] = ["stdin", "body", "content", "new_string"];
/// Parameters that state an amount: values above the maximum are lowered to it.
const AMOUNTS: [&str; 13] = [
    "limit",
    "max_matches",
    "max_results",
    "max_size_kb",
    "depth",
    "before",
    "after",
    "context",
    "-A",
    "-B",
    "-C",
    "timeout",
    "timeout_sec",
];

/// Returns the corrected arguments, and notes for the result. Empty strings for optional parameters are dropped,
/// numbers, booleans, objects and arrays written as strings are converted, enum values match case-insensitively, and
/// amounts above their maximum are lowered, with a note.
pub fn coerce(parameters: &Parameters, args: Map<String, Value>) -> (Map<String, Value>, Vec<String>) {
    let mut notes = Vec::new();
    let args = object(parameters, args, &mut notes);
    (args, notes)
}

/// Whether `coerce` can lower an amount of these parameters.
pub fn may_adjust(parameters: &Parameters) -> bool {
    parameters.iter().any(|(name, param)| {
        param.maximum.is_some() && AMOUNTS.contains(&name.as_str())
            || param.properties.as_ref().is_some_and(may_adjust)
    })
}

fn object(parameters: &Parameters, args: Map<String, Value>, notes: &mut Vec<String>) -> Map<String, Value> {
    let meant = |(name, value): (String, Value)| match parameters.get(&name) {
        None => Some((name, value)),
        Some(param) if is_absent(&name, param, &value) => None,
        Some(param) => {
            let value = amount(&name, param, meant(param, value, notes), notes);
            Some((name, value))
        }
    };
    args.into_iter().filter_map(meant).collect()
}

fn is_absent(name: &str, param: &Param, value: &Value) -> bool {
    !param.required && value.as_str() == Some("") && !TEXTS.contains(&name)
}

/// Converts a string to the parameter's type, if that is unambiguous.
fn meant(param: &Param, value: Value, notes: &mut Vec<String>) -> Value {
    let value = value.as_str().and_then(|text| json_text::read(param.kind, text)).unwrap_or(value);
    let value = match (param.kind, value) {
        (ParamType::Object, Value::Object(map)) => match &param.properties {
            Some(properties) => Value::Object(object(properties, map, notes)),
            None => Value::Object(map),
        },
        (ParamType::Array, Value::Array(items)) => match param.items.as_deref() {
            Some(of) => items.into_iter().map(|item| meant(of, item, notes)).collect(),
            None => Value::Array(items),
        },
        (ParamType::Integer, Value::String(text)) => {
            text.trim().parse::<i64>().map_or(Value::String(text), Value::from)
        }
        (ParamType::Float, Value::String(text)) => {
            let number = text.trim().parse().ok().and_then(serde_json::Number::from_f64);
            number.map_or(Value::String(text), Value::Number)
        }
        (ParamType::Boolean, Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        (_, value) => value,
    };
    param.values.as_deref().and_then(|values| one_of(values, &value)).unwrap_or(value)
}

/// Finds the enum value that equals `value`, exactly or else case-insensitively.
fn one_of(values: &[Value], value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    if values.contains(value) {
        return None;
    }
    let mut alike =
        values.iter().filter(|one| one.as_str().is_some_and(|one| one.eq_ignore_ascii_case(text)));
    alike.next().filter(|_| alike.next().is_none()).cloned()
}

fn amount(name: &str, param: &Param, value: Value, notes: &mut Vec<String>) -> Value {
    let Some(most) = param.maximum.as_ref().filter(|_| AMOUNTS.contains(&name)) else { return value };
    match (value.as_f64(), most.as_f64()) {
        (Some(given), Some(maximum)) if given > maximum => {
            notes.push(format!("{name} is {most}, the maximum, not {value}"));
            Value::Number(most.clone())
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn forgiven(args: Value) -> (Value, Vec<String>) {
        let parameters: Parameters = serde_json::from_value(json!({
            "path": {"type": "string", "required": true},
            "glob": {"type": "string"},
            "content": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10},
            "offset": {"type": "integer", "maximum": 10},
            "ratio": {"type": "number"},
            "hidden": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["write", "append", "Append"]},
            "options": {"type": "object", "properties": {"regex": {"type": "boolean"}, "glob": {"type": "string"}}},
            "todos": {"type": "array", "items": {"type": "object", "properties": {
                "status": {"type": "string", "enum": ["pending", "done"]},
            }}},
        }))
        .unwrap();
        let (args, notes) = coerce(&parameters, args.as_object().unwrap().clone());
        (Value::Object(args), notes)
    }

    #[test]
    fn what_can_mean_one_thing_is_taken_as_that() {
        let given = json!({"path": "", "glob": "", "content": "", "limit": "5", "ratio": " 0.5 ", "hidden": "True", "mode": "WRITE",
            "options": {"regex": "false", "glob": ""}, "todos": [{"status": "Done"}]});
        let meant = json!({"path": "", "content": "", "limit": 5, "ratio": 0.5, "hidden": true, "mode": "write",
            "options": {"regex": false}, "todos": [{"status": "done"}]});
        assert_eq!(forgiven(given), (meant, vec![]));
    }

    #[test]
    fn what_can_mean_more_than_one_thing_stays() {
        for same in [
            json!({"mode": "append"}),
            json!({"mode": "APPEND"}),
            json!({"limit": "five"}),
            json!({"hidden": "yes"}),
            json!({"limit": "5.5"}),
            json!({"unknown": ""}),
            json!({"path": 5}),
        ] {
            assert_eq!(forgiven(same.clone()), (same, vec![]));
        }
    }

    #[test]
    fn too_much_is_the_maximum_and_said() {
        let (args, notes) = forgiven(json!({"limit": "500", "offset": 500}));
        assert_eq!(args, json!({"limit": 10, "offset": 500}));
        assert_eq!(notes, ["limit is 10, the maximum, not 500"]);
    }
}
