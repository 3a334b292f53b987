//! What a dialect's listing says of its tools, in one line each.

use beamai_engine::catalogue;
use beamai_schema::{Param, ParamType, Parameters};
use serde_json::Value;

/// The tools of a dialect: names in their order.
pub(crate) fn names(dialect: &str) -> Vec<&'static str> {
    catalogue::dialect(dialect).unwrap().iter().map(|tool| tool.name()).collect()
}

/// Checks one tool's parameters, written as [`parameters`] writes them, and that its result has these keys.
pub(crate) fn check(dialect: &str, tool: &str, expected: &str, keys: &str) {
    let tool = catalogue::find(tool, Some(dialect)).unwrap();
    assert_eq!(parameters(tool.parameters()), expected, "{dialect} {}", tool.name());
    let properties = &tool.output_schema()["properties"];
    for key in keys.split_whitespace() {
        assert_ne!(properties[key], Value::Null, "{dialect} {}: {key}", tool.name());
    }
}

/// Parameters in the order of names, whatever the order is in which they are listed: type, `!` where it is required,
/// `=default`, `[least..most]` of numbers and of elements, `<values>`, `(properties)`.
fn parameters(parameters: &Parameters) -> String {
    let one = |(name, param): (&String, &Param)| format!("{name}:{}", described(param));
    let mut all: Vec<_> = parameters.iter().map(one).collect();
    all.sort_unstable();
    all.join(" ")
}

fn described(param: &Param) -> String {
    let mut text = param.kind.json_name().to_owned();
    if param.required {
        text.push('!');
    }
    if let Some(default) = &param.default {
        text += &format!("={default}");
    }
    let shown = |number: Option<String>| number.unwrap_or_default();
    if param.minimum.is_some() || param.maximum.is_some() {
        let ends = [&param.minimum, &param.maximum].map(|end| shown(end.as_ref().map(ToString::to_string)));
        text += &format!("[{}]", ends.join(".."));
    }
    if param.min_items.is_some() || param.max_items.is_some() {
        let ends = [param.min_items, param.max_items].map(|end| shown(end.map(|end| end.to_string())));
        text += &format!("[{}]", ends.join(".."));
    }
    if let Some(values) = &param.values {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        text += &format!("<{}>", values.join("|"));
    }
    let inner = param.items.as_deref().filter(|_| param.kind == ParamType::Array).unwrap_or(param);
    match &inner.properties {
        Some(properties) => text + &format!("({})", parameters(properties)),
        None => text,
    }
}
