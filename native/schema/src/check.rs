//! Checks arguments against parameters: every problem at once, and what would be accepted.

use super::meant::MeantParameters;
use super::{Param, ParamType, Parameters, json_text};
use beamai_base::{Reason, Result, ToolError};
use serde_json::{Map, Value};
use std::fmt::Write;

/// Maximum number of problems in an error; further ones are counted.
const MOST_PROBLEMS: usize = 50;
/// Maximum number of characters of a name or value in a message.
const MOST_SHOWN: usize = 80;
/// What follows the path in the problem of a value that is not in its enumeration.
const ONE_OF: &str = " must be one of ";

/// Returns the arguments with defaults filled in. `null` counts as absent for an optional parameter.
///
/// # Errors
/// One `invalid_argument` that lists all unknown, missing, ill-typed and out-of-range arguments, up to fifty, and the
/// accepted ones, unless the only problem is that values are not in their enumerations.
pub fn check(parameters: &Parameters, args: Map<String, Value>) -> Result<Map<String, Value>> {
    let mut problems = Vec::new();
    let checked = object("", parameters, args, &mut problems);
    if problems.is_empty() { Ok(checked) } else { Err(refusal(parameters, problems)) }
}

/// The error about wrong arguments. It ends with the accepted arguments, unless each problem names them itself.
#[must_use]
pub fn refusal(parameters: &Parameters, problems: Vec<String>) -> ToolError {
    if problems.iter().all(|problem| is_of_enumeration(problem)) {
        let problems = counted(problems);
        return ToolError::new(Reason::InvalidArgument, problems.join("; ")).with("problems", problems);
    }
    let mut accepted = if parameters.is_empty() { "no arguments".to_owned() } else { accepted(parameters) };
    let problems = counted(problems);
    nested(
        "",
        parameters,
        &problems.iter().map(|problem| path_of(problem)).collect::<Vec<_>>(),
        &mut accepted,
    );
    let message = format!("{}. Accepted: {accepted}", problems.join("; "));
    ToolError::new(Reason::InvalidArgument, message).with("problems", problems)
}

/// The first problems, and the number of the others.
fn counted(mut problems: Vec<String>) -> Vec<String> {
    let more = problems.len().saturating_sub(MOST_PROBLEMS);
    if more > 0 {
        problems.truncate(MOST_PROBLEMS);
        problems.push(format!("and {more} more"));
    }
    problems
}

fn object(
    prefix: &str,
    parameters: &Parameters,
    args: Map<String, Value>,
    problems: &mut Vec<String>,
) -> Map<String, Value> {
    let mut out = Map::new();
    let meant = MeantParameters::of(parameters, &args);
    for (name, value) in args {
        let path = format!("{prefix}{name}");
        match parameters.get(&name) {
            // A further one is only counted, and looking for similar names takes time.
            None if problems.len() >= MOST_PROBLEMS => problems.push(unknown(&path, None)),
            None => problems.push(unknown(&path, meant.by(&name))),
            Some(param) if value.is_null() && !param.required => {}
            Some(param) => _ = out.insert(name, self::value(&path, param, value, problems)),
        }
    }
    for (name, param) in parameters {
        if out.contains_key(name) {
            continue;
        }
        if let Some(default) = &param.default {
            out.insert(name.clone(), default.clone());
        } else if param.required {
            let quoted = format!("\"{prefix}{name}\"");
            if !problems.iter().any(|problem| problem.starts_with(&quoted)) {
                problems.push(format!("{quoted} is missing ({})", type_name(param)));
            }
        }
    }
    out
}

fn unknown(path: &str, meant: Option<&str>) -> String {
    let path = shortened(path.to_owned());
    match meant {
        Some(near) => format!("\"{path}\" is not an argument (did you mean \"{near}\"?)"),
        None => format!("\"{path}\" is not an argument"),
    }
}

fn value(path: &str, param: &Param, value: Value, problems: &mut Vec<String>) -> Value {
    let value = value.as_str().and_then(|text| json_text::read(param.kind, text)).unwrap_or(value);
    let value = match (param.kind, value) {
        (ParamType::Array, Value::Array(items)) => Value::Array(array(path, param, items, problems)),
        (ParamType::Object, Value::Object(map)) => match &param.properties {
            Some(properties) => Value::Object(object(&format!("{path}."), properties, map, problems)),
            None => Value::Object(map),
        },
        (ParamType::Integer, Value::Number(number)) => whole(number),
        (_, value) => value,
    };
    if !has_type(param.kind, &value) {
        problems.push(format!("\"{path}\" must be {}, not {}", type_name(param), shown(&value)));
    } else if let Some(values) = &param.values
        && !values.iter().any(|one| is_same(one, &value))
    {
        problems.push(format!("\"{path}\"{ONE_OF}{}, not {}", listed(values), shown(&value)));
    } else {
        bounds(path, param, &value, problems);
    }
    value
}

fn array(path: &str, param: &Param, items: Vec<Value>, problems: &mut Vec<String>) -> Vec<Value> {
    let Some(of) = &param.items else { return items };
    let one = |(at, item)| value(&format!("{path}[{at}]"), of, item, problems);
    items.into_iter().enumerate().map(one).collect()
}

fn bounds(path: &str, param: &Param, value: &Value, problems: &mut Vec<String>) {
    let number = value.as_f64();
    let below = |bound: &Option<serde_json::Number>| Some(number? < bound.as_ref()?.as_f64()?);
    let above = |bound: &Option<serde_json::Number>| Some(number? > bound.as_ref()?.as_f64()?);
    if let (Some(true), Some(least)) = (below(&param.minimum), &param.minimum) {
        problems.push(format!("\"{path}\" must be at least {least}, not {}", shown(value)));
    }
    if let (Some(true), Some(most)) = (above(&param.maximum), &param.maximum) {
        problems.push(format!("\"{path}\" must be at most {most}, not {}", shown(value)));
    }
    let Some(count) = value.as_array().map(|items| items.len() as u64) else { return };
    if param.min_items.is_some_and(|least| count < least) || param.max_items.is_some_and(|most| count > most)
    {
        let least = param.min_items.unwrap_or(0);
        let most = param.max_items.map_or("any number of".to_owned(), |most| most.to_string());
        problems.push(format!("\"{path}\" must have {least} to {most} elements, not {count}"));
    }
}

/// Some JSON encoders write 1.0 as 1.
fn is_same(choice: &Value, value: &Value) -> bool {
    choice == value || choice.is_f64() != value.is_f64() && choice.as_f64() == value.as_f64()
}

/// Converts an integral float to an integer: some JSON encoders write only floats.
fn whole(number: serde_json::Number) -> Value {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9.0e15 => {
            Value::from(float as i64)
        }
        _ => Value::Number(number),
    }
}

/// Whether a value has this type, without conversion.
pub fn has_type(kind: ParamType, value: &Value) -> bool {
    match kind {
        ParamType::String => value.is_string(),
        ParamType::Integer => value.is_i64() || value.is_u64(),
        ParamType::Float => value.is_number(),
        ParamType::Boolean => value.is_boolean(),
        ParamType::Array => value.is_array(),
        ParamType::Object => value.is_object(),
    }
}

fn type_name(param: &Param) -> String {
    match (param.kind, &param.items) {
        (ParamType::Array, Some(items)) => format!("array of {}", type_name(items)),
        (ParamType::Float, _) => "number".to_owned(),
        (kind, _) => kind.json_name().to_owned(),
    }
}

fn accepted(parameters: &Parameters) -> String {
    let mut by_need: Vec<_> = parameters.iter().filter(|(_, param)| !param.unlisted).collect();
    by_need.sort_by_key(|(_, param)| !param.required);
    let one = |(name, param): &(&String, &Param)| {
        let need = if param.required { ", required" } else { "" };
        let values = param.values.as_ref().map_or(String::new(), |values| format!(": {}", listed(values)));
        format!("{name} ({}{need}{values})", type_name(param))
    };
    by_need.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Appends what the objects with problems accept. `wrong` are the problems' paths without indices.
fn nested(prefix: &str, parameters: &Parameters, wrong: &[String], text: &mut String) {
    for (name, param) in parameters {
        let path = format!("{prefix}{name}");
        let of = param.items.as_deref().unwrap_or(param);
        let is_in =
            |at: &String| at.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let Some(properties) = of.properties.as_ref().filter(|_| wrong.iter().any(is_in)) else { continue };
        let each = if param.items.is_some() { "each of " } else { "" };
        // Writing to a string cannot fail.
        _ = write!(text, "; {each}{path}: {}", accepted(properties));
        nested(&format!("{path}."), properties, wrong, text);
    }
}

/// Whether a problem is that of a value that is not in its enumeration.
fn is_of_enumeration(problem: &str) -> bool {
    problem.split('"').nth(2).is_some_and(|rest| rest.starts_with(ONE_OF))
}

/// The path that a problem begins with, without indices.
fn path_of(problem: &str) -> String {
    let path = problem.split('"').nth(1).unwrap_or_default();
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

fn listed(values: &[Value]) -> String {
    values.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A value as shown in messages: JSON, cut at 80 characters.
fn shown(value: &Value) -> String {
    shortened(value.to_string())
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters() -> Parameters {
        serde_json::from_value(json!({
            "path": {"type": "string", "required": true},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10},
            "mode": {"type": "string", "enum": ["write", "append"], "default": "write"},
            "edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string", "required": true}}}},
        }))
        .unwrap()
    }

    fn message(args: Value) -> String {
        check(&parameters(), args.as_object().unwrap().clone()).unwrap_err().message
    }

    #[test]
    fn defaults_are_filled_in_and_null_counts_as_absent() {
        let args = json!({"path": "a", "limit": null});
        let checked = check(&parameters(), args.as_object().unwrap().clone()).unwrap();
        assert_eq!(Value::Object(checked), json!({"path": "a", "mode": "write"}));
    }

    #[test]
    fn one_message_names_every_problem_and_what_is_accepted() {
        let text = message(json!({"pth": "a", "limit": "ten", "mode": "x"}));
        assert_eq!(
            text,
            "\"pth\" is not an argument (did you mean \"path\"?); \"limit\" must be integer, not \"ten\"; \
             \"mode\" must be one of \"write\", \"append\", not \"x\"; \"path\" is missing (string). \
             Accepted: path (string, required), limit (integer), mode (string: \"write\", \"append\"), \
             edits (array of object)"
        );
    }

    #[test]
    fn the_values_of_an_enumeration_are_listed_once() {
        let said = message(json!({"path": "a", "mode": "x"}));
        assert_eq!(said, "\"mode\" must be one of \"write\", \"append\", not \"x\"");
    }

    #[test]
    fn nested_problems_carry_their_path() {
        assert!(
            message(json!({"path": "a", "edits": [{"old": 1}, {}]}))
                .starts_with("\"edits[0].old\" must be string, not 1; \"edits[1].old\" is missing (string)")
        );
    }

    #[test]
    fn what_a_nested_object_accepts_is_listed_where_it_has_a_problem() {
        let parameters: Parameters = serde_json::from_value(json!({
            "auth": {"type": "object", "properties": {"type": {"type": "string", "required": true, "enum": ["a", "b"]}}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {
                "cells": {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string"}}}},
            }}},
        }))
        .unwrap();
        let said = |args: Value| check(&parameters, args.as_object().unwrap().clone()).unwrap_err().message;
        let auth = "; auth: type (string, required: \"a\", \"b\")";
        assert!(said(json!({"auth": {"kind": "a"}})).ends_with(auth));
        assert!(said(json!({"auth": "x"})).ends_with(auth));
        assert!(!said(json!({"other": 1})).contains("auth: "));
        let rows = said(json!({"rows": [{}, {"cells": [{"txt": "x"}]}]}));
        assert!(
            rows.ends_with("; each of rows: cells (array of object); each of rows.cells: text (string)"),
            "{rows}"
        );
    }

    #[test]
    fn a_message_stays_short_however_much_is_wrong() {
        let many: Map<_, _> = (0..10_000).map(|number| (format!("x{number}"), Value::Null)).collect();
        let text = message(Value::Object(many));
        assert!(text.len() < 4000 && text.contains("; and 9951 more. Accepted: "), "{text}");
        let text = message(json!({"path": "a", "é".repeat(10_000): 1}));
        assert!(text.starts_with(&format!("\"{}…\" is not an argument. Accepted", "é".repeat(80))), "{text}");
    }

    #[test]
    fn bounds_hold() {
        assert!(message(json!({"path": "a", "limit": 0})).contains("\"limit\" must be at least 1, not 0"));
        assert!(message(json!({"path": "a", "limit": 11})).contains("\"limit\" must be at most 10, not 11"));
    }

    #[test]
    fn an_array_or_object_can_be_a_text_with_its_json() {
        let args = json!({"path": "a", "edits": "[{\"old\": \"b\"}]"});
        let checked = check(&parameters(), args.as_object().unwrap().clone()).unwrap();
        assert_eq!(checked["edits"], json!([{"old": "b"}]));
        let text = message(json!({"path": "a", "edits": "{\"old\": \"b\"}"}));
        assert!(text.starts_with("\"edits\" must be array of object, not \"{"), "{text}");
    }

    #[test]
    fn a_number_is_one_of_the_values_however_it_is_written() {
        let of: Parameters =
            serde_json::from_value(json!({"scale": {"type": "number", "enum": [0.5, 1.0]}})).unwrap();
        let checked = |value: Value| check(&of, json!({"scale": value}).as_object().unwrap().clone());
        assert!(checked(json!(1)).is_ok() && checked(json!(0.5)).is_ok() && checked(json!(2)).is_err());
    }

    #[test]
    fn a_float_without_fraction_is_an_integer() {
        let args = json!({"path": "a", "limit": 3.0});
        let checked = check(&parameters(), args.as_object().unwrap().clone()).unwrap();
        assert_eq!(checked["limit"], json!(3));
    }
}
