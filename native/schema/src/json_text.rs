//! Values of any shape, written as JSON in a string: for providers whose schemas cannot express them, and for models that
//! write an object as a string although the schema says otherwise.

use super::{Param, ParamType, Parameters};
use serde_json::Value;

/// The parameters without objects and arrays of any shape: each of these is a string with the JSON instead, which
/// [`read`] takes back.
pub(super) fn closed(parameters: &Parameters) -> Parameters {
    parameters.iter().map(|(name, param)| (name.clone(), as_closed(param))).collect()
}

fn as_closed(param: &Param) -> Param {
    let properties = param.properties.as_ref().filter(|of| !of.is_empty());
    match (param.kind, properties, &param.items) {
        (ParamType::Object, Some(of), _) => Param { properties: Some(closed(of)), ..param.clone() },
        (ParamType::Object, None, _) => text(param, "A JSON object, as a string."),
        (ParamType::Array, _, Some(of)) => Param { items: Some(Box::new(as_closed(of))), ..param.clone() },
        (ParamType::Array, _, None) => text(param, "A JSON array, as a string."),
        _ => param.clone(),
    }
}

fn text(param: &Param, how: &str) -> Param {
    let description = match &param.description {
        Some(about) => format!("{about} {how}"),
        None => how.to_owned(),
    };
    Param {
        kind: ParamType::String,
        description: Some(description),
        default: param.default.as_ref().map(|value| value.to_string().into()),
        values: None,
        properties: None,
        min_items: None,
        max_items: None,
        ..param.clone()
    }
}

/// The object or array that a string contains as JSON; `None` if it does not contain one of this type.
pub(super) fn read(kind: ParamType, text: &str) -> Option<Value> {
    let begins = match kind {
        ParamType::Object => '{',
        ParamType::Array => '[',
        _ => return None,
    };
    // Looking first avoids parsing long texts of another kind.
    text.trim_start().starts_with(begins).then(|| serde_json::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Provider, coerce, render};
    use serde_json::json;

    fn parameters(value: Value) -> Parameters {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn gemini_gets_an_object_of_any_shape_as_a_string_which_is_taken_back() {
        let of = parameters(json!({
            "headers": {"type": "object", "description": "Headers.", "default": {"a": "b"}},
            "rows": {"type": "array", "minItems": 1},
            "auth": {"type": "object", "properties": {"data": {"type": "object", "properties": {}}}},
            "all": {"type": "array", "items": {"type": "object"}},
        }));
        let tool = render(Provider::Gemini, "t", "d", &of, false).schema;
        let expected = json!({
            "headers": {"type": "string", "description": "Headers. A JSON object, as a string.", "default": "{\"a\":\"b\"}"},
            "rows": {"type": "string", "description": "A JSON array, as a string."},
            "auth": {"type": "object", "properties": {"data": {"type": "string", "description": "A JSON object, as a string."}}, "required": []},
            "all": {"type": "array", "items": {"type": "string", "description": "A JSON object, as a string."}},
        });
        assert_eq!(tool["parameters"]["properties"], expected);
        assert_eq!(
            render(Provider::Gemini, "t", "d", &Parameters::new(), false).schema.get("parameters"),
            None
        );

        let args =
            json!({"headers": " {\"x\": \"1\"}", "rows": "[1]", "auth": "{\"data\": \"{}\"}", "all": ["{}"]});
        let (args, _) = coerce(&of, args.as_object().unwrap().clone());
        let meant = json!({"headers": {"x": "1"}, "rows": [1], "auth": {"data": {}}, "all": [{}]});
        assert_eq!(Value::Object(args), meant);
    }

    #[test]
    fn a_string_that_is_not_the_wanted_value_stays() {
        for (kind, text) in [
            (ParamType::Object, "[1]"),
            (ParamType::Object, "{"),
            (ParamType::Array, "{}"),
            (ParamType::Array, "a"),
            (ParamType::String, "{}"),
        ] {
            assert_eq!(read(kind, text), None, "{text}");
        }
    }
}
