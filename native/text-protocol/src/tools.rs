//! The tools that a response may call.

use super::call::ParsedCall;
use beamai_schema::{self as schema, Param, Parameters};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The parts of a tool's description that the protocol needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Name in calls.
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    pub description: String,
    /// Its parameters; a tool without them accepts any arguments.
    #[serde(default)]
    pub parameters: Option<Parameters>,
    /// JSON Schema of its arguments, if parameters cannot express it. The host checks it when the tool is called.
    #[serde(default)]
    pub input_schema: Option<Map<String, Value>>,
    /// Whether it is a built-in tool, whose arguments are converted if they have one possible meaning.
    #[serde(default)]
    pub is_built_in: bool,
}

/// Maximum number of unknown arguments that are listed separately in an error.
const MOST_UNKNOWN: usize = 100;

/// Maximum length of a name that a message quotes completely, in bytes.
const LONGEST_SHOWN: usize = 200;

/// Maximum length of a text that is checked completely, in bytes: longer than any value of an enum.
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

    /// Whether there is a tool with that name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        std::str::from_utf8(name).is_ok_and(|name| self.by_name.contains_key(name))
    }

    /// Whether the name of a tool begins with `start`.
    pub(super) fn may_become(&self, start: &[u8]) -> bool {
        let Ok(start) = std::str::from_utf8(start) else { return false };
        let from = (Bound::Included(start), Bound::Unbounded);
        self.by_name.range::<str, _>(from).next().is_some_and(|(name, _)| name.starts_with(start))
    }

    /// A parameter of a tool.
    pub(super) fn param(&self, tool: &str, name: &str) -> Option<&Param> {
        self.by_name.get(tool)?.parameters.as_ref()?.get(name)
    }

    /// Checks a call: the tool exists, required parameters are given, and the arguments pass the check that every tool
    /// call must pass.
    ///
    /// # Errors
    /// One sentence for the model.
    pub fn validate(&self, call: &ParsedCall) -> Result<(), String> {
        let tool = self.by_name.get(&call.tool).ok_or_else(|| unknown(&call.tool))?;
        let Some(parameters) = &tool.parameters else { return Ok(()) };
        let (given, taken) = (call.args.len(), parameters.len());
        if given > taken + MOST_UNKNOWN {
            return Err(format!("The call has {given} arguments, and {} takes at most {taken}", call.tool));
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
            args = schema::coerce(parameters, args).0;
        }
        schema::check(parameters, args).map(|_| ()).map_err(|error| error.message)
    }
}

/// The arguments with long texts cut: checks need only their beginning, and copying takes time.
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
