//! Renders tools in the formats of model providers.

use super::json_text;
use super::strict::StrictMode;
use super::{Param, ParamType, Parameters};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A provider's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// OpenAI chat completions, and compatible servers.
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
    /// The provider's tool object.
    pub schema: Value,
    /// Whether the provider enforces the schema.
    pub strict: bool,
}

/// Renders a tool for a provider. `strict` applies if the provider has a strict mode that can express the parameters;
/// otherwise it is ignored.
pub fn render(
    provider: Provider,
    name: &str,
    description: &str,
    parameters: &Parameters,
    strict: bool,
) -> RenderedTool {
    let mode = if strict { StrictMode::of(provider, parameters) } else { StrictMode::Off };
    let strict = mode != StrictMode::Off;
    let schema = match provider {
        Provider::Gemini => object(&json_text::closed(parameters), mode),
        _ => object(parameters, mode),
    };
    let mut tool = match provider {
        Provider::Openai => return openai(name, description, schema, strict),
        Provider::OpenaiResponses => {
            json!({"type": "function", "name": name, "description": description, "parameters": schema, "strict": strict})
        }
        Provider::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        // Gemini rejects an object without properties, also that of a tool without parameters.
        Provider::Gemini if parameters.is_empty() => json!({"name": name, "description": description}),
        Provider::Gemini => json!({"name": name, "description": description, "parameters": schema}),
        Provider::Mcp => json!({"name": name, "description": description, "inputSchema": schema}),
    };
    if strict && provider == Provider::Anthropic {
        tool["strict"] = true.into();
    }
    RenderedTool { schema: tool, strict }
}

/// Keywords that providers reject at the top level of a schema.
const NOT_AT_THE_TOP: [&str; 6] = ["anyOf", "oneOf", "allOf", "not", "enum", "if"];

/// Renders a tool whose arguments are described by an arbitrary JSON Schema; never strict. Keywords that a provider
/// rejects at the top level are moved into the description.
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
        // OpenAI rejects an object schema without `properties`.
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

fn object(parameters: &Parameters, mode: StrictMode) -> Value {
    let mut ordered: Vec<_> = parameters.iter().collect();
    ordered.sort_by_key(|(_, param)| param.position.unwrap_or(u64::MAX));
    let properties: Map<_, _> =
        ordered.iter().map(|(name, param)| ((*name).clone(), property(param, mode))).collect();
    let is_required = |param: &Param| param.required || mode == StrictMode::Openai;
    let required: Vec<&String> =
        ordered.iter().filter(|(_, param)| is_required(param)).map(|(name, _)| *name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if mode != StrictMode::Off {
        schema["additionalProperties"] = false.into();
    }
    schema
}

fn property(param: &Param, mode: StrictMode) -> Value {
    let mut out = match (&param.properties, param.kind) {
        (Some(properties), ParamType::Object) => object(properties, mode),
        _ => json!({"type": param.kind.json_name()}),
    };
    // OpenAI's strict mode requires every property; optional ones are nullable instead.
    let nullable = mode == StrictMode::Openai && !param.required;
    if nullable {
        out["type"] = json!([param.kind.json_name(), "null"]);
    }
    let has_bounds = mode != StrictMode::Anthropic;
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            out[key] = value;
        }
    };
    put("description", param.description.clone().map(Value::from));
    put("enum", param.values.as_ref().map(|values| enumeration(values, nullable)));
    put("default", param.default.clone().filter(|_| mode == StrictMode::Off));
    put("items", items(param, mode));
    put("minimum", param.minimum.clone().filter(|_| has_bounds).map(Value::Number));
    put("maximum", param.maximum.clone().filter(|_| has_bounds).map(Value::Number));
    put("minItems", param.min_items.filter(|least| has_bounds || *least <= 1).map(Value::from));
    put("maxItems", param.max_items.filter(|_| has_bounds).map(Value::from));
    out
}

fn items(param: &Param, mode: StrictMode) -> Option<Value> {
    // Array elements are never null.
    let element = |items: &Param| property(&Param { required: true, ..items.clone() }, mode);
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
