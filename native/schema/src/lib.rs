//! Tool parameters: declared once, used for checking arguments and for every provider's schema.

mod check;
mod coerce;
mod derive;
mod json_text;
mod meant;
mod provider;
mod strict;
mod views;

pub use check::{check, has_type, refusal};
pub use coerce::{coerce, may_adjust};
pub use provider::{Provider, RenderedTool, render, render_any};
pub use strict::StrictUse;
pub use views::{for_model, in_order, listed, positioned};

use indexmap::IndexMap;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool's parameters, or an object's properties, by name, in the order in which a model should write them.
pub type Parameters = IndexMap<String, Param>;

/// Type of a parameter. Limited to the types that all providers support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParamType {
    /// UTF-8 text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    #[serde(alias = "number")]
    Float,
    /// `true` or `false`.
    Boolean,
    /// A list of `items`.
    Array,
    /// A map with these `properties`, or any map if there are none.
    Object,
}

impl ParamType {
    /// The type's name in JSON Schema.
    pub fn json_name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Float => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// One parameter. Has no unions or references, so that every provider accepts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Type of the value.
    #[serde(rename = "type")]
    pub kind: ParamType,
    /// What the value means, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a call without it is refused.
    #[serde(default)]
    pub required: bool,
    /// Default for a missing argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Allowed values.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Elements of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Param>>,
    /// Properties of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Parameters>,
    /// Minimum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<serde_json::Number>,
    /// Maximum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<serde_json::Number>,
    /// Minimum number of array elements.
    #[serde(default, rename = "minItems", skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// Maximum number of array elements.
    #[serde(default, rename = "maxItems", skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// Position in the parameter list, from 1: `path` before `content`. Parameters without one come last, sorted by
    /// name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Whether the name explains it: the description of a built-in tool's parameter is then left out for models.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_evident: bool,
    /// Whether it is accepted without being listed: names that models know from similar tools.
    #[serde(skip)]
    pub unlisted: bool,
}

/// The parameters that an argument type accepts, from its `JsonSchema`.
///
/// # Panics
/// If the type needs a union or a reference; a test over the catalogue rules that out.
pub fn parameters_of<T: schemars::JsonSchema>() -> Parameters {
    derive::parameters(&schema_of::<T>(SchemaSettings::draft2020_12()))
}

/// The JSON Schema of a type's serialized form, without references. Fields that may be skipped are not required.
pub fn json_schema_of<T: schemars::JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema_of<T: schemars::JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    drop_noise(&mut schema);
    schema
}

/// Removes keywords that mean nothing to a model: type titles and Rust number formats.
fn drop_noise(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.contains_key("type") || map.contains_key("anyOf") || map.contains_key("oneOf") {
                map.retain(|key, value| !(value.is_string() && (key == "title" || key == "format")));
            }
            map.values_mut().for_each(drop_noise);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_noise),
        _ => {}
    }
}
