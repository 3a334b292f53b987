//! Renders results for models, by the name of the tool.

use super::{DIALECTS, dialect};
use beamai_tool::{
    Tool, ToolRegistry,
    for_model::{self, CallWriter, ModelCall},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The owner of the tool that returned a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOrigin<'a> {
    /// A built-in tool of this dialect.
    Dialect(&'a str),
    /// The first dialect with a tool of this name; if there is none, the host.
    ByName,
    /// The host's custom tool, whatever its name.
    Host,
}

/// A result as text, or the problem with a custom tool's return value.
pub type TextForModel = Result<String, String>;

/// The result of a call as text for a model, at most `limit` characters.
///
/// # Errors
/// If a custom tool returned neither text nor JSON.
pub fn text_for_model(
    origin: ToolOrigin<'_>,
    tool: &str,
    args: &Map<String, Value>,
    result: &Value,
    limit: usize,
) -> TextForModel {
    match found(origin, tool) {
        Some((tool, registry)) => {
            for_model::of_result(&ModelCall::new(&**tool, registry, args), result, limit)
        }
        None => for_model::own(result, limit),
    }
}

/// Notes on a result besides its content: what was left out, and the call that continues, formatted by `write`.
pub fn notes(
    origin: ToolOrigin<'_>,
    tool: &str,
    args: &Map<String, Value>,
    result: &Value,
    write: &CallWriter<'_>,
) -> Vec<String> {
    let notes = |(tool, registry): (&Arc<dyn Tool>, _)| {
        for_model::notes_of(&ModelCall::new(&**tool, registry, args).written_by(write), result)
    };
    found(origin, tool).map(notes).unwrap_or_default()
}

/// The result as an object for the `data` field of the text protocol; `None` for dialects whose results are sent as
/// text.
pub fn object_for_model(
    origin: ToolOrigin<'_>,
    tool: &str,
    args: &Map<String, Value>,
    result: &Value,
    limit: usize,
) -> Option<Value> {
    let ide = dialect(OBJECTS).ok()?;
    let (tool, registry) = found(origin, tool).filter(|(_, registry)| std::ptr::eq(*registry, ide))?;
    let call = ModelCall::new(&**tool, registry, args);
    result.is_object().then(|| for_model::object(result, &call, limit))
}

/// The dialect whose results are sent as objects in the text protocol.
const OBJECTS: &str = "ide";

fn found(origin: ToolOrigin<'_>, tool: &str) -> Option<(&'static Arc<dyn Tool>, &'static ToolRegistry)> {
    let mut registries = DIALECTS
        .iter()
        .filter(|(name, _)| match origin {
            ToolOrigin::Dialect(wanted) => *name == wanted,
            ToolOrigin::ByName => true,
            ToolOrigin::Host => false,
        })
        .map(|(_, registry)| &**registry);
    registries.find_map(|registry| Some((registry.get(tool)?, registry)))
}
