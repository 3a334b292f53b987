//! Strict modes of providers: what they can express, and how many strict tools a request may have.

use super::{Param, ParamType, Parameters, Provider, RenderedTool};
use serde::{Deserialize, Serialize};

/// How a provider enforces a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StrictMode {
    /// Not at all.
    Off,
    /// Every property is required; optional ones are nullable.
    Openai,
    /// Properties may be optional; bounds are not supported and left to the argument check.
    Anthropic,
}

/// OpenAI's limits per schema: nesting depth, and total properties and enum values.
const DEPTH: usize = 10;
const PROPERTIES: usize = 5_000;
const VALUES: usize = 1_000;

impl StrictMode {
    /// The mode for these parameters.
    pub(super) fn of(provider: Provider, parameters: &Parameters) -> Self {
        let is_possible = parameters.values().all(is_closed);
        match provider {
            Provider::Openai | Provider::OpenaiResponses if is_possible && is_small(parameters) => {
                Self::Openai
            }
            Provider::Anthropic if is_possible => Self::Anthropic,
            _ => Self::Off,
        }
    }
}

/// Whether every object lists its properties: strict modes allow no others.
fn is_closed(param: &Param) -> bool {
    match param.kind {
        ParamType::Object => {
            param.properties.as_ref().is_some_and(|of| !of.is_empty() && of.values().all(is_closed))
        }
        ParamType::Array => param.items.as_deref().is_some_and(is_closed),
        _ => true,
    }
}

fn is_small(parameters: &Parameters) -> bool {
    let count =
        |of: &dyn Fn(&Param) -> usize| parameters.values().map(|param| total(param, of)).sum::<usize>();
    let values = |param: &Param| param.values.as_ref().map_or(0, Vec::len);
    depth(parameters) <= DEPTH && count(&|_| 1) <= PROPERTIES && count(&values) <= VALUES
}

/// The properties of a parameter, or of its elements.
fn inner(param: &Param) -> Option<&Parameters> {
    param.properties.as_ref().or_else(|| inner(param.items.as_deref()?))
}

fn total(param: &Param, of: &dyn Fn(&Param) -> usize) -> usize {
    of(param) + inner(param).map_or(0, |inner| inner.values().map(|param| total(param, of)).sum())
}

fn depth(parameters: &Parameters) -> usize {
    1 + parameters.values().filter_map(inner).map(depth).max().unwrap_or(0)
}

/// How much of the provider's limits the strict tools of a request have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StrictUse {
    /// Number of tools.
    tools: usize,
    /// Number of optional parameters.
    optional: usize,
}

/// Anthropic's limits per request: strict tools, and optional parameters in total.
const TOOLS: usize = 20;
const OPTIONAL: usize = 24;

impl StrictUse {
    /// Renders the next tool of a request; strict as long as the provider's limits allow it.
    pub fn render(
        &mut self,
        provider: Provider,
        name: &str,
        description: &str,
        parameters: &Parameters,
        strict: bool,
    ) -> RenderedTool {
        let rendered = super::render(provider, name, description, parameters, strict);
        if !rendered.strict || provider != Provider::Anthropic {
            return rendered;
        }
        let optional =
            parameters.values().map(|param| total(param, &|one| usize::from(!one.required))).sum::<usize>();
        let after = Self { tools: self.tools + 1, optional: self.optional + optional };
        if after.tools > TOOLS || after.optional > OPTIONAL {
            return super::render(provider, name, description, parameters, false);
        }
        *self = after;
        rendered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parameters(value: Value) -> Parameters {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn anthropic_gets_no_bounds_and_optional_parameters_as_such() {
        let all = parameters(json!({
            "path": {"type": "string", "required": true},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9, "default": 5},
            "edits": {"type": "array", "minItems": 2, "maxItems": 4, "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        }));
        let tool = super::super::render(Provider::Anthropic, "t", "d", &all, true);
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer"},
                "edits": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": [],
                    "additionalProperties": false}},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert_eq!((&tool.schema["input_schema"], tool.strict), (&expected, true));
    }

    #[test]
    fn a_request_has_no_more_strict_tools_than_the_provider_takes() {
        let (few, many) = (
            json!({"a": {"type": "string", "required": true}}),
            json!({"a": {"type": "string"}, "b": {"type": "string"}}),
        );
        let strict = |of: &Value, provider| {
            let (mut used, of) = (StrictUse::default(), parameters(of.clone()));
            (0..30).filter(|_| used.render(provider, "t", "d", &of, true).strict).count()
        };
        assert_eq!(strict(&few, Provider::Anthropic), 20);
        assert_eq!(strict(&many, Provider::Anthropic), 12);
        assert_eq!(strict(&many, Provider::Openai), 30);
    }

    #[test]
    fn what_is_too_large_for_openai_is_not_strict() {
        let mut deep = json!({"type": "string"});
        for _ in 0..10 {
            deep = json!({"type": "object", "properties": {"in": deep}});
        }
        let strict =
            |of: Value| super::super::render(Provider::Openai, "t", "d", &parameters(of), true).strict;
        assert!(!strict(json!({"deep": deep})));
        assert!(strict(json!({"deep": {"type": "object", "properties": {"in": {"type": "string"}}}})));
        let values: Vec<String> = (0..1_001).map(|value| value.to_string()).collect();
        assert!(!strict(json!({"one": {"type": "string", "enum": values}})));
    }
}
