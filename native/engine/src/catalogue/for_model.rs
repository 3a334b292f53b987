//! Results for models, by the name of the tool that gave them.

use super::{DIALECTS, dialect};
use beamai_tool::{
    Tool, ToolRegistry,
    for_model::{self, CallWriter, ModelCall},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Whose tool it was that gave a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOrigin<'a> {
    /// A dialect's.
    Dialect(&'a str),
    /// The first dialect's that has a tool of that name; where none has, the host's own.
    ByName,
    /// The host's own, whatever its name is.
    Host,
}

/// A result as text, or what is wrong with the value that the host's own tool returned.
pub type TextForModel = Result<String, String>;

/// The result of a call as text for a model, of at most `limit` characters.
///
/// # Errors
/// What is wrong with a result of the host's own that is neither text nor JSON.
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

/// What there is to say of a result besides its content: what was left out, and the call that goes on, as `write` writes it.
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

/// The result as the object that the specification of the text protocol has as a result's `data`; `None` for tools of
/// dialects whose results go there as text.
pub fn object_for_model(origin: ToolOrigin<'_>, tool: &str, result: &Value, limit: usize) -> Option<Value> {
    let ide = dialect(OBJECTS).ok()?;
    let (_, registry) = found(origin, tool)?;
    (std::ptr::eq(registry, ide) && result.is_object()).then(|| for_model::object(result, limit))
}

/// The dialect of the specification that gives results of the text protocol as objects.
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
