//! The call that a result belongs to, and suggested follow-up calls.

use crate::{Tool, ToolRegistry};
use serde_json::{Map, Value};

/// The call that a result belongs to: what a renderer knows besides the result.
#[derive(Clone, Copy)]
pub struct ModelCall<'a> {
    tool: &'a dyn Tool,
    dialect: &'a ToolRegistry,
    args: &'a Map<String, Value>,
    write: &'a CallWriter<'a>,
}

/// How a suggested call is written, from the tool's name and its arguments.
pub type CallWriter<'a> = dyn Fn(&str, &Map<String, Value>) -> String + 'a;

impl<'a> ModelCall<'a> {
    /// A call of a tool of this dialect, with the arguments as the model gave them.
    pub fn new(tool: &'a dyn Tool, dialect: &'a ToolRegistry, args: &'a Map<String, Value>) -> Self {
        Self { tool, dialect, args, write: &as_a_model_writes }
    }

    /// The same call, whose suggestions are written for somebody else than a model.
    #[must_use]
    pub fn written_by(self, write: &'a CallWriter<'a>) -> Self {
        Self { write, ..self }
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

    /// The same call with changed arguments, as a model would write it; `None` if the tool lacks one of them.
    pub fn again(&self, changes: &[(&str, Value)]) -> Option<String> {
        if !changes.iter().all(|(name, _)| self.tool.parameters().contains_key(*name)) {
            return None;
        }
        let mut args = self.args.clone();
        changes.iter().for_each(|(name, value)| _ = args.insert((*name).to_owned(), value.clone()));
        let whole = (self.write)(self.tool.name(), &args);
        if whole.chars().count() <= WRITTEN {
            return Some(whole);
        }
        let changed: Map<_, _> =
            changes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Some(format!("the same call of {} with {}", self.tool.name(), Value::Object(changed)))
    }

    /// The name in the call's dialect of the tool with this canonical rule name.
    pub fn other(&self, rule: &str) -> Option<&'a str> {
        self.dialect.iter().find(|tool| tool.rule() == rule).map(|tool| tool.name())
    }

    /// A call of another tool of the dialect, found by its canonical rule name, as a model would write it.
    pub fn other_call(&self, rule: &str, args: &Value) -> Option<String> {
        let tool = self.other(rule)?;
        Some(args.as_object().map_or_else(|| format!("{tool} {args}"), |args| (self.write)(tool, args)))
    }
}

fn as_a_model_writes(tool: &str, args: &Map<String, Value>) -> String {
    // The same text as that of the object, which would have to be copied.
    format!("{tool} {}", serde_json::to_string(args).unwrap_or_default())
}
