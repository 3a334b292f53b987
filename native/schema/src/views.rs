//! Parameters as shown to models and to hosts.

use super::{Param, ParamType, Parameters};
use serde_json::Value;

/// Maximum values from here on are not shown to models: larger amounts are lowered to them anyway.
const FAR: f64 = 1_000.0;

/// The parameters without unlisted ones.
#[must_use]
pub fn listed(parameters: &Parameters) -> Parameters {
    let shown = parameters.iter().filter(|(_, param)| !param.unlisted);
    shown.map(|(name, param)| (name.clone(), nested(param, &listed))).collect()
}

/// The parameters of a built-in tool as shown to a model: without details that are not needed for a correct call, such
/// as a flag that is off by default, or a count that cannot be negative. The argument check enforces them all.
#[must_use]
pub fn for_model(parameters: &Parameters) -> Parameters {
    parameters.iter().map(|(name, param)| (name.clone(), brief(nested(param, &for_model)))).collect()
}

fn brief(param: Param) -> Param {
    let is_nothing = |value: &Value| match value {
        Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        other => other.as_i64() == Some(0),
    };
    let default = param.default.filter(|value| !is_nothing(value));
    let is_count = param.kind == ParamType::Integer;
    let minimum = param.minimum.filter(|least| !is_count || !matches!(least.as_i64(), Some(0 | 1)));
    let maximum = param.maximum.filter(|most| !is_count || most.as_f64().is_none_or(|most| most < FAR));
    let description = param.description.filter(|_| !param.self_evident);
    Param { description, default, minimum, maximum, ..param }
}

/// The parameters with their positions, for hosts whose maps are unordered.
#[must_use]
pub fn positioned(parameters: &Parameters) -> Parameters {
    let place = |(at, (name, param)): (usize, (&String, &Param))| {
        let param = nested(param, &positioned);
        (name.clone(), Param { position: Some(at as u64 + 1), ..param })
    };
    parameters.iter().enumerate().map(place).collect()
}

/// The parameters in the order of their positions, which hosts' maps do not have.
#[must_use]
pub fn in_order(parameters: &Parameters) -> Parameters {
    let one = |(name, param): (&String, &Param)| (name.clone(), nested(param, &in_order));
    let mut all: Vec<_> = parameters.iter().map(one).collect();
    all.sort_by_key(|(name, param)| (param.position.unwrap_or(u64::MAX), name.clone()));
    all.into_iter().collect()
}

/// The parameter with its properties, or those of its elements, replaced.
fn nested(param: &Param, change: &dyn Fn(&Parameters) -> Parameters) -> Param {
    let items = param.items.as_deref().map(|items| Box::new(nested(items, change)));
    let properties = param.properties.as_ref().map(change);
    Param { items, properties, ..param.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters(value: Value) -> Parameters {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_model_is_told_what_a_correct_call_needs() {
        let all = parameters(json!({
            "limit": {"type": "integer", "default": 20, "minimum": 1, "maximum": 1_000_000},
            "offset": {"type": "integer", "default": 0, "minimum": 0},
            "depth": {"type": "integer", "minimum": 0, "maximum": 9},
            "hidden": {"type": "boolean", "default": false, "description": "Include hidden files."},
            "path": {"type": "string", "description": "Path of the file.", "self_evident": true},
            "verify": {"type": "boolean", "default": true},
            "edits": {"type": "array", "items": {"type": "object", "properties": {
                "all": {"type": "boolean", "default": false},
            }}},
        }));
        let brief = parameters(json!({
            "limit": {"type": "integer", "default": 20},
            "offset": {"type": "integer"},
            "depth": {"type": "integer", "maximum": 9},
            "hidden": {"type": "boolean", "description": "Include hidden files."},
            "path": {"type": "string", "self_evident": true},
            "verify": {"type": "boolean", "default": true},
            "edits": {"type": "array", "items": {"type": "object", "properties": {"all": {"type": "boolean"}}}},
        }));
        assert_eq!(for_model(&all), brief);
    }

    #[test]
    fn places_count_from_one_at_every_level() {
        let all = parameters(
            json!({"b": {"type": "object", "properties": {"y": {"type": "string"}, "x": {"type": "string"}}},
            "a": {"type": "string"}}),
        );
        let placed = positioned(&all);
        assert_eq!((placed["b"].position, placed["a"].position), (Some(1), Some(2)));
        let inner = placed["b"].properties.as_ref().unwrap();
        assert_eq!((inner["y"].position, inner["x"].position), (Some(1), Some(2)));
    }

    #[test]
    fn parameters_are_in_order_again_at_every_level() {
        let all = parameters(json!({"c": {"type": "string"}, "b": {"type": "string"},
            "a": {"type": "object", "position": 2, "properties": {"y": {"type": "string"}, "x": {"type": "string"}}},
            "z": {"type": "string", "position": 1}}));
        let ordered = in_order(&all);
        assert_eq!(ordered.keys().collect::<Vec<_>>(), ["z", "a", "b", "c"]);
        assert_eq!(ordered["a"].properties.as_ref().unwrap().keys().collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn what_is_accepted_only_is_not_listed() {
        let mut all = parameters(json!({"a": {"type": "string"}, "b": {"type": "string"}}));
        all["b"].unlisted = true;
        assert_eq!(listed(&all).keys().collect::<Vec<_>>(), ["a"]);
    }
}
