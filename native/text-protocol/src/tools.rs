//! The tools that a response may call.

use super::call::ParsedCall;
use beamai_schema::{self as schema, Param, Parameters};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A tool, as far as the protocol needs to know it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Name that calls use.
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    pub description: String,
    /// Its parameters; a tool without any description of them takes whatever it is given.
    #[serde(default)]
    pub parameters: Option<Parameters>,
    /// JSON Schema of its arguments, where parameters cannot say it. The host checks them when the tool is called.
    #[serde(default)]
    pub input_schema: Option<Map<String, Value>>,
    /// Whether it is a built-in tool, which takes what models write where it can mean one thing only.
    #[serde(default)]
    pub is_built_in: bool,
}

/// Arguments that a call may have beside those that its tool takes, and still be told each one of them.
const MOST_UNKNOWN: usize = 100;

/// Longest name that a message repeats in full, in bytes.
const LONGEST_SHOWN: usize = 200;

/// Longest text that is checked in full, in bytes: far longer than any value of an enum.
const LONGEST_CHECKED: usize = 4096;

/// Tools by name.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    by_name: BTreeMap<String, ToolSpec>,
}

impl FromIterator<ToolSpec> for ToolSet {
    fn from_iter<I: IntoIterator<Item = ToolSpec>>(tools: I) -> Self {
        Self { by_name: tools.into_iter().map(|tool| (tool.name.clone(), tool)).collect() }
    }
}

impl ToolSet {
    /// The tools in name order.
    pub fn iter(&self) -> impl Iterator<Item = &ToolSpec> {
        self.by_name.values()
    }

    /// Whether there is a tool of that name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        std::str::from_utf8(name).is_ok_and(|name| self.by_name.contains_key(name))
    }

    /// Whether the name of a tool begins so.
    pub(super) fn may_become(&self, start: &[u8]) -> bool {
        let Ok(start) = std::str::from_utf8(start) else { return false };
        let from = (Bound::Included(start), Bound::Unbounded);
        self.by_name.range::<str, _>(from).next().is_some_and(|(name, _)| name.starts_with(start))
    }

    /// What is known of a parameter.
    pub(super) fn param(&self, tool: &str, name: &str) -> Option<&Param> {
        self.by_name.get(tool)?.parameters.as_ref()?.get(name)
    }

    /// Checks a call: the tool is there, required parameters are given, and the arguments pass the check that every
    /// call of a tool passes.
    ///
    /// # Errors
    /// One sentence for the model.
    pub fn validate(&self, call: &ParsedCall) -> Result<(), String> {
        let tool = self.by_name.get(&call.tool).ok_or_else(|| unknown(&call.tool))?;
        let Some(parameters) = &tool.parameters else { return Ok(()) };
        let (given, taken) = (call.args.len(), parameters.len());
        if given > taken + MOST_UNKNOWN {
            return Err(format!("The call has {given} arguments, and {} takes {taken} at most", call.tool));
        }
        let missing: Vec<String> = parameters
            .iter()
            .filter(|(name, param)| {
                param.required && param.default.is_none() && !call.args.contains_key(*name)
            })
            .map(|(name, _)| format!("Missing required parameter: {name}"))
            .collect();
        if !missing.is_empty() {
            return Err(missing.join("; "));
        }
        let mut args = without_length(&call.args);
        if tool.is_built_in {
            args = schema::forgive(parameters, args).0;
        }
        schema::check(parameters, args).map(|_| ()).map_err(|error| error.message)
    }
}

/// The arguments with long texts cut: no check looks at so much of them, and copying takes time.
fn without_length(args: &Map<String, Value>) -> Map<String, Value> {
    let cut = |value: &Value| match value {
        Value::String(text) if text.len() > LONGEST_CHECKED => {
            Value::from(&text[..text.floor_char_boundary(LONGEST_CHECKED)])
        }
        other => other.clone(),
    };
    args.iter().map(|(name, value)| (name.clone(), cut(value))).collect()
}

fn unknown(name: &str) -> String {
    match name.char_indices().find(|(at, _)| *at >= LONGEST_SHOWN) {
        Some((at, _)) => format!("Unknown tool: {}…", &name[..at]),
        None => format!("Unknown tool: {name}"),
    }
}
