//! The call that a result belongs to, and suggested follow-up calls.

use crate::{Tool, ToolRegistry};
use serde_json::{Map, Value, json};

/// Name of the parameter for the number of items to skip.
const OFFSET: &str = "offset";
/// Name of the parameter that holds others in some dialects.
const OPTIONS: &str = "options";
/// Rule name of the tool for reading files, and the names of its path in the dialects.
const READ: &str = "Read";
const PATHS: [&str; 2] = ["path", "file_path"];

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

    /// Whether the result itself is shown to somebody, whole, so that only its notes are wanted.
    pub fn is_shown_whole(&self) -> bool {
        self.write.is_some()
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
        self.args.get(name).and_then(number)
    }

    /// Whether an argument is true, or the text of that.
    pub fn flag(&self, name: &str) -> bool {
        let is_true = |value: &Value| {
            value == &json!(true)
                || value.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
        };
        self.args.get(name).is_some_and(is_true)
    }

    /// An argument that is an integer, or the text of one.
    pub fn integer(&self, name: &str) -> Option<i64> {
        let value = self.args.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// Whether the tool takes this argument.
    pub fn takes(&self, name: &str) -> bool {
        self.tool.takes(name)
    }

    /// Whether the call sets this argument.
    pub fn has(&self, name: &str) -> bool {
        self.args.get(name).is_some_and(|value| !value.is_null())
    }

    /// Whether the tool lists a default for this argument.
    pub fn has_default(&self, name: &str) -> bool {
        self.tool.parameters().get(name).is_some_and(|param| param.default.is_some())
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

    /// As [`ModelCall::with`], for members of an object argument, whose other members stay.
    pub fn with_nested(&self, name: &str, changes: &[(&str, Value)]) -> Option<String> {
        let members = self.tool.parameters().get(name)?.properties.as_ref()?;
        if !changes.iter().all(|(member, _)| members.contains_key(*member)) {
            return None;
        }
        let mut object = self.args.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        changes.iter().for_each(|(member, value)| _ = object.insert((*member).to_owned(), value.clone()));
        self.with(&[(name, Value::Object(object))])
    }

    /// How many items the call skips: its `offset`, which some dialects have among their options.
    pub fn skipped(&self) -> u64 {
        let nested = || self.nested(OPTIONS, OFFSET).and_then(number);
        self.number(OFFSET).or_else(nested).unwrap_or(0)
    }

    /// How to make the same call for what follows this many items; `None` if the tool takes no `offset`.
    pub fn skipping(&self, items: u64) -> Option<String> {
        let change = [(OFFSET, Value::from(items))];
        self.with(&change).or_else(|| self.with_nested(OPTIONS, &change))
    }

    /// A call of the dialect's tool for reading files, for one line from a column on; `None` if it has none that can do
    /// that.
    pub fn reading_line(&self, path: &str, line: u64, column: u64) -> Option<String> {
        let tool = self.dialect.iter().find(|tool| tool.rule() == READ)?;
        let name = PATHS.iter().find(|name| tool.takes(name)).filter(|_| tool.takes("column"))?;
        self.other_call(READ, &json!({*name: path, OFFSET: line, "column": column, "limit": 1}))
    }

    /// A call of the dialect's tool for reading files, for a whole file.
    pub fn reading(&self, path: &str) -> Option<String> {
        let tool = self.dialect.iter().find(|tool| tool.rule() == READ)?;
        let name = PATHS.iter().find(|name| tool.takes(name))?;
        self.other_call(READ, &json!({*name: path}))
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

/// A non-negative integer, or the text of one.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}
