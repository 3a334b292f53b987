//! The catalogue as the protocol lists it.

use beamai_engine::catalogue;
use beamai_schema::{self as schema, Provider};
use beamai_tool::Tool;
use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use serde_json::Value;
use std::sync::Arc;

/// The tool that hands work to a sub-agent. There is none here: the client is the agent.
const NEEDS_AN_AGENT: &str = "Task";

/// The tools of a dialect that can do their work here, in the order of names.
pub(crate) fn tools(dialect: &str) -> Vec<&'static Arc<dyn Tool>> {
    let Ok(registry) = catalogue::dialect(dialect) else { return Vec::new() };
    registry.iter().filter(|tool| tool.rule() != NEEDS_AN_AGENT).collect()
}

/// A tool as a client sees it. The schema of its output comes only along with structured content: it is longer than all
/// the rest.
pub(crate) fn listed(tool: &dyn Tool, is_structured: bool) -> Listed {
    let rendered =
        schema::render(Provider::Mcp, tool.name(), tool.description(), tool.parameters(), false).schema;
    let input = object(&rendered["inputSchema"]);
    let title = title(tool.name());
    let listed = Listed::new(tool.name().to_owned(), tool.description().to_owned(), input)
        .with_title(title.clone())
        .with_annotations(annotations(tool, title));
    match is_structured {
        true => listed.with_raw_output_schema(object(tool.output_schema())),
        false => listed,
    }
}

fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

fn annotations(tool: &dyn Tool, title: String) -> ToolAnnotations {
    let traits = tool.traits();
    let hints = [traits.read_only, traits.destructive, traits.idempotent, traits.open_world].map(Some);
    let [read_only, destructive, idempotent, open_world] = hints;
    ToolAnnotations::from_raw(Some(title), read_only, destructive, idempotent, open_world)
}

/// A name in words: "file_read" is "File read", "BashOutput" is "Bash output".
fn title(name: &str) -> String {
    let mut title = String::new();
    let mut is_lower = false;
    for c in name.chars() {
        match c {
            '_' => title.push(' '),
            _ if c.is_uppercase() && is_lower => title.extend([' '].into_iter().chain(c.to_lowercase())),
            _ if title.is_empty() => title.extend(c.to_uppercase()),
            _ => title.push(c),
        }
        is_lower = c.is_lowercase();
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_name_in_words() {
        for (name, words) in
            [("file_read", "File read"), ("BashOutput", "Bash output"), ("LSP", "LSP"), ("bash", "Bash")]
        {
            assert_eq!(title(name), words);
        }
    }

    #[test]
    fn every_tool_is_listed_once_but_for_the_one_that_needs_an_agent() {
        for dialect in catalogue::dialects() {
            let tools = tools(dialect);
            let registry = catalogue::dialect(dialect).unwrap();
            let needs_an_agent = registry.iter().filter(|tool| tool.name() == "task").count();
            assert_eq!(tools.len(), registry.iter().count() - needs_an_agent);
            for tool in tools {
                let structured = listed(&**tool, true);
                assert_eq!(structured.input_schema["type"], "object");
                assert_eq!(structured.output_schema.unwrap()["type"], "object", "{}", tool.name());
                assert!(listed(&**tool, false).output_schema.is_none());
            }
        }
    }
}
