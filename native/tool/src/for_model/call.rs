//! The call that a result belongs to, and suggested follow-up calls.

use crate::{Tool, ToolRegistry};
use serde_json::{Map, Value};

/// The call that a result belongs to: what a renderer knows besides the result.
#[derive(Clone, Copy)]
pub struct ModelCall<'a> {
    tool: &'a dyn Tool,
    dialect: &'a ToolRegistry,
    args: &'a Map<String, Value>,
}

impl<'a> ModelCall<'a> {
    /// A call of a tool of this dialect, with the arguments as the model gave them.
    pub fn new(tool: &'a dyn Tool, dialect: &'a ToolRegistry, args: &'a Map<String, Value>) -> Self {
        Self { tool, dialect, args }
    }

    pub(super) fn tool(&self) -> &'a dyn Tool {
        self.tool
    }

    /// The first of these arguments that the call has, as text; dialects use different names.
    pub fn argument(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.args.get(*name)?.as_str())
    }

    /// A member of an object argument.
    pub fn nested(&self, name: &str, member: &str) -> Option<&'a Value> {
        self.args.get(name)?.get(member)
    }

    /// An argument that is a non-negative integer.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.args.get(name)?.as_u64()
    }

    /// Whether the tool has this parameter.
    pub fn takes(&self, name: &str) -> bool {
        self.tool.parameters().contains_key(name)
    }

    /// Whether the call sets this argument.
    pub fn has(&self, name: &str) -> bool {
        self.args.get(name).is_some_and(|value| !value.is_null())
    }

    /// These arguments as a model would write them, to be set in the same call: `"offset":21,"limit":1`; `None` if the
    /// tool lacks one of them.
    pub fn with(&self, changes: &[(&str, Value)]) -> Option<String> {
        let written = |(name, value): &(&str, Value)| self.takes(name).then(|| format!("\"{name}\":{value}"));
        Some(changes.iter().map(written).collect::<Option<Vec<_>>>()?.join(","))
    }

    /// The name in the call's dialect of the tool with this canonical rule name.
    pub fn other(&self, rule: &str) -> Option<&'a str> {
        self.dialect.iter().find(|tool| tool.rule() == rule).map(|tool| tool.name())
    }

    /// A call of another tool of the dialect, found by its canonical rule name, as a model would write it.
    pub fn other_call(&self, rule: &str, args: &Value) -> Option<String> {
        Some(format!("{} {args}", self.other(rule)?))
    }
}
