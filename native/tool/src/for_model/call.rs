//! The call that a result belongs to, and suggested follow-up calls.

use crate::{Tool, ToolRegistry};
use serde_json::{Map, Value};

/// The call that a result belongs to: what a renderer knows besides the result.
#[derive(Clone, Copy)]
pub struct ModelCall<'a> {
    tool: &'a dyn Tool,
    dialect: &'a ToolRegistry,
    args: &'a Map<String, Value>,
    write: Option<&'a CallWriter<'a>>,
}

/// How a suggested call is written for others than models, from the tool's name and its arguments.
pub type CallWriter<'a> = dyn Fn(&str, &Map<String, Value>) -> String + 'a;

impl<'a> ModelCall<'a> {
    /// A call of a tool of this dialect, with the arguments as the model gave them.
    pub fn new(tool: &'a dyn Tool, dialect: &'a ToolRegistry, args: &'a Map<String, Value>) -> Self {
        Self { tool, dialect, args, write: None }
    }

    /// The same call, whose suggestions are written for somebody else than a model.
    #[must_use]
    pub fn written_by(self, write: &'a CallWriter<'a>) -> Self {
        Self { write: Some(write), ..self }
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

    /// An argument that is a non-negative integer, or the text of one, which tools take as well.
    pub fn number(&self, name: &str) -> Option<u64> {
        let value = self.args.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// Whether the tool has this parameter.
    pub fn takes(&self, name: &str) -> bool {
        self.tool.parameters().contains_key(name)
    }

    /// Whether the call sets this argument.
    pub fn has(&self, name: &str) -> bool {
        self.args.get(name).is_some_and(|value| !value.is_null())
    }

    /// How to make the same call with these arguments changed; `None` if the tool lacks one of them. A model gets the
    /// arguments alone, as it would write them: `"offset":21,"limit":1`.
    pub fn with(&self, changes: &[(&str, Value)]) -> Option<String> {
        if !changes.iter().all(|(name, _)| self.takes(name)) {
            return None;
        }
        let Some(write) = self.write else {
            let written: Vec<String> =
                changes.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            return Some(written.join(","));
        };
        let mut args = self.args.clone();
        changes.iter().for_each(|(name, value)| _ = args.insert((*name).to_owned(), value.clone()));
        Some(write(self.tool.name(), &args))
    }

    /// The name in the call's dialect of the tool with this canonical rule name.
    pub fn other(&self, rule: &str) -> Option<&'a str> {
        self.dialect.iter().find(|tool| tool.rule() == rule).map(|tool| tool.name())
    }

    /// A call of another tool of the dialect, found by its canonical rule name, as a model would write it.
    pub fn other_call(&self, rule: &str, args: &Value) -> Option<String> {
        let tool = self.other(rule)?;
        Some(match (self.write, args.as_object()) {
            (Some(write), Some(args)) => write(tool, args),
            _ => format!("{tool} {args}"),
        })
    }
}
