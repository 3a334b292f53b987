//! A tool as each model provider wants it described.

use super::{Param, ParamType, Parameters};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Whose format a tool is rendered in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// OpenAI chat completions, and the many servers that speak the same.
    Openai,
    /// OpenAI responses.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini function declarations.
    Gemini,
    /// Model Context Protocol tool listings.
    Mcp,
}

/// A rendered tool.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedTool {
    /// The provider's object.
    pub schema: Value,
    /// Whether it holds the model to the schema.
    pub strict: bool,
}

/// Renders a tool for a provider. `strict` is honoured where the provider has such a mode and the parameters can
/// be expressed in it; otherwise the tool is rendered without.
pub fn render(
    provider: Provider,
    name: &str,
    description: &str,
    parameters: &Parameters,
    strict: bool,
) -> RenderedTool {
    let strict = strict
        && matches!(provider, Provider::Openai | Provider::OpenaiResponses | Provider::Anthropic)
        && can_be_strict(parameters);
    let schema = object(parameters, strict);
    let mut tool = match provider {
        Provider::Openai => return openai(name, description, schema, strict),
        Provider::OpenaiResponses => {
            json!({"type": "function", "name": name, "description": description, "parameters": schema, "strict": strict})
        }
        Provider::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        Provider::Gemini => gemini(name, description, schema, parameters.is_empty()),
        Provider::Mcp => json!({"name": name, "description": description, "inputSchema": schema}),
    };
    if strict && provider == Provider::Anthropic {
        tool["strict"] = true.into();
    }
    RenderedTool { schema: tool, strict }
}

/// Keywords that providers refuse at the top of a schema.
const NOT_AT_THE_TOP: [&str; 6] = ["anyOf", "oneOf", "allOf", "not", "enum", "if"];

/// Renders a tool whose arguments are described by a JSON Schema of any kind, which strict modes are not for. What a
/// provider refuses at the top of a schema is said in the description instead.
pub fn render_any(
    provider: Provider,
    name: &str,
    description: &str,
    schema: &Map<String, Value>,
) -> RenderedTool {
    let mut schema = schema.clone();
    let mut description = description.to_owned();
    schema.insert("type".into(), "object".into());
    if provider != Provider::Mcp {
        // OpenAI refuses an object that does not say which properties it has.
        schema.entry("properties").or_insert_with(|| json!({}));
        let moved: Map<String, Value> =
            NOT_AT_THE_TOP.iter().filter_map(|key| schema.shift_remove_entry(*key)).collect();
        if !moved.is_empty() {
            let also = Value::Object(moved);
            description =
                format!("{description}\n\nThe arguments must also be valid by this JSON Schema: {also}");
        }
    }
    let schema = Value::Object(schema);
    let tool = match provider {
        Provider::Openai => return openai(name, &description, schema, false),
        Provider::OpenaiResponses => {
            json!({"type": "function", "name": name, "description": description, "parameters": schema, "strict": false})
        }
        Provider::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        Provider::Gemini => json!({"name": name, "description": description, "parametersJsonSchema": schema}),
        Provider::Mcp => json!({"name": name, "description": description, "inputSchema": schema}),
    };
    RenderedTool { schema: tool, strict: false }
}

fn openai(name: &str, description: &str, schema: Value, strict: bool) -> RenderedTool {
    let mut function = json!({"name": name, "description": description, "parameters": schema});
    if strict {
        function["strict"] = true.into();
    }
    RenderedTool { schema: json!({"type": "function", "function": function}), strict }
}

/// Gemini refuses an object without properties: such a tool has no `parameters`.
fn gemini(name: &str, description: &str, schema: Value, is_empty: bool) -> Value {
    let mut tool = json!({"name": name, "description": description});
    if !is_empty {
        tool["parameters"] = schema;
    }
    tool
}

/// Strict modes close every object, which one of unknown properties cannot be.
fn can_be_strict(parameters: &Parameters) -> bool {
    fn closed(param: &Param) -> bool {
        match param.kind {
            ParamType::Object => param.properties.as_ref().is_some_and(can_be_strict),
            ParamType::Array => param.items.as_deref().is_some_and(closed),
            _ => true,
        }
    }
    parameters.values().all(closed)
}

fn object(parameters: &Parameters, strict: bool) -> Value {
    let properties: Map<_, _> =
        parameters.iter().map(|(name, param)| (name.clone(), property(param, strict))).collect();
    let required: Vec<&String> =
        parameters.iter().filter(|(_, param)| strict || param.required).map(|(name, _)| name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if strict {
        schema["additionalProperties"] = false.into();
    }
    schema
}

fn property(param: &Param, strict: bool) -> Value {
    let mut out = match (&param.properties, param.kind) {
        (Some(properties), ParamType::Object) => object(properties, strict),
        _ => json!({"type": param.kind.json_name()}),
    };
    // What is optional must still be sent in a strict mode, and is sent as null.
    let nullable = strict && !param.required;
    if nullable {
        out["type"] = json!([param.kind.json_name(), "null"]);
    }
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            out[key] = value;
        }
    };
    put("description", param.description.clone().map(Value::from));
    put("enum", param.values.as_ref().map(|values| enumeration(values, nullable)));
    put("default", param.default.clone().filter(|_| !strict));
    put("items", items(param, strict));
    put("minimum", param.minimum.clone().map(Value::Number));
    put("maximum", param.maximum.clone().map(Value::Number));
    put("minItems", param.min_items.map(Value::from));
    put("maxItems", param.max_items.map(Value::from));
    out
}

fn items(param: &Param, strict: bool) -> Option<Value> {
    // An element is there or not: it never stands in for a missing one as null.
    let element = |items: &Param| property(&Param { required: true, ..items.clone() }, strict);
    match (&param.items, param.kind) {
        (Some(items), _) => Some(element(items)),
        (None, ParamType::Array) => Some(json!({})),
        _ => None,
    }
}

fn enumeration(values: &[Value], nullable: bool) -> Value {
    let null = nullable.then_some(Value::Null);
    values.iter().cloned().chain(null).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_any_kind_is_rendered_as_it_is() {
        let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": ["string", "integer"]}}});
        let of = |provider| render_any(provider, "t", "d", schema.as_object().unwrap()).schema;
        assert_eq!(of(Provider::Openai)["function"]["parameters"], schema);
        assert_eq!(of(Provider::OpenaiResponses)["parameters"], schema);
        assert_eq!(of(Provider::Anthropic)["input_schema"], schema);
        assert_eq!(of(Provider::Gemini)["parametersJsonSchema"], schema);
        assert_eq!(of(Provider::Mcp)["inputSchema"], schema);
    }

    #[test]
    fn what_is_refused_at_the_top_is_said_in_words() {
        let schema = json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
        let tool = render_any(Provider::Anthropic, "t", "d", schema.as_object().unwrap()).schema;
        assert_eq!(tool["input_schema"], json!({"type": "object", "properties": {}}));
        assert!(
            tool["description"]
                .as_str()
                .unwrap()
                .contains(r#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#)
        );
        let kept = render_any(Provider::Mcp, "t", "d", schema.as_object().unwrap()).schema;
        assert_eq!((&kept["inputSchema"], &kept["description"]), (&schema, &json!("d")));
    }
}
