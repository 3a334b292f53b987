//! Parameters of tools: described once, checked here, and rendered for every provider.

mod check;
mod coerce;
mod derive;
mod provider;
mod strict;
mod views;

pub use check::check;
pub use check::has_type;
pub use coerce::{coerce, may_adjust};
pub use provider::{Provider, RenderedTool, render, render_any};
pub use strict::StrictUse;
pub use views::{for_model, listed, positioned};

use indexmap::IndexMap;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The parameters of a tool, or the properties of an object, by name; in the order in which a model is to write them.
pub type Parameters = IndexMap<String, Param>;

/// The type of a parameter. Providers agree on these and on no others.
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
    /// A map of `properties`; of anything, where there are none.
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

/// One parameter. Without unions and references, so that every provider can take it.
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
    /// Value that is filled in where the argument is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The only values there are.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Elements of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Param>>,
    /// Properties of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Parameters>,
    /// Least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<serde_json::Number>,
    /// Greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<serde_json::Number>,
    /// Fewest elements of an array.
    #[serde(default, rename = "minItems", skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// Most elements of an array.
    #[serde(default, rename = "maxItems", skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// Place in the order of use, counted from 1: `path` before `content`. Parameters without one come last, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Whether its name says it all: models are not told the description of a built-in tool's, which is for people.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_evident: bool,
    /// Whether it is accepted without being listed: what models know of other tools and write by habit.
    #[serde(skip)]
    pub unlisted: bool,
}

/// The parameters that an argument type accepts, from its `JsonSchema`.
///
/// # Panics
/// When the type needs a union or a reference; a test over the catalogue keeps such types out.
pub fn parameters_of<T: schemars::JsonSchema>() -> Parameters {
    derive::parameters(&schema_of::<T>(SchemaSettings::draft2020_12()))
}

/// The JSON Schema, without references, of what a type is written as: a field that may be left out is not required.
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

/// Removes the keywords that say nothing to a model: type titles and Rust number formats.
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
