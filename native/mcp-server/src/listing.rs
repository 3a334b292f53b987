//! Tool listings in the protocol's format.

use beamai_engine::{HostSettings, catalogue};
use beamai_schema::{self as schema, Provider};
use beamai_tool::Tool;
use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

/// The tool that delegates to a sub-agent. Not available here: the client is the agent.
const NEEDS_AN_AGENT: &str = "Task";
/// The tool that runs commands.
const RUNS_COMMANDS: &str = "Bash";

/// The tools of a dialect as an array in the protocol's format, whatever the settings of a host.
pub fn listing(dialect: &str, is_structured: bool) -> Value {
    tools(dialect).into_iter().map(|tool| json!(listed(&**tool, is_structured))).collect()
}

/// The usable tools of a dialect, sorted by name.
pub(crate) fn tools(dialect: &str) -> Vec<&'static Arc<dyn Tool>> {
    let Ok(registry) = catalogue::dialect(dialect) else { return Vec::new() };
    registry.iter().filter(|tool| tool.rule() != NEEDS_AN_AGENT).collect()
}

/// Whether a tool can work with these settings, for a client that can or cannot ask its user. Unusable tools are not
/// listed; a call of one still returns an error that says what is missing.
pub(crate) fn can_work(
    tool: &dyn Tool,
    servers: LanguageServers,
    settings: &HostSettings,
    can_ask: bool,
) -> bool {
    match tool.rule() {
        "WebSearch" => settings.web.search.is_some(),
        "LSP" => servers == LanguageServers::Some,
        _ => can_ask || !tool.traits().asks_user,
    }
}

/// Whether a language server is of use for the workspace's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LanguageServers {
    /// At least one.
    Some,
    /// None.
    None,
}

impl LanguageServers {
    /// Looks for language servers without starting any.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(settings: &HostSettings) -> Self {
        let workspace = std::path::Path::new(&settings.workspace.path);
        if beamai_lsp::is_of_use(&settings.lsp, workspace) { Self::Some } else { Self::None }
    }

    /// They run on Linux only.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_: &HostSettings) -> Self {
        Self::None
    }
}

/// What is added to the description of the tool that runs commands, if they cannot change files of the workspace.
#[cfg(target_os = "linux")]
pub(crate) fn limits_of_commands(settings: &HostSettings) -> Option<&'static str> {
    let is_sandboxed = settings.sandbox.mode != beamai_isolation::SandboxMode::Off;
    let foreign = beamai_sandbox::ForeignPath::within(std::path::Path::new(&settings.workspace.path));
    (is_sandboxed && foreign.is_some())
        .then_some("Files here belong to another user: commands cannot change them, the other tools can.")
}

/// Commands run on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn limits_of_commands(_: &HostSettings) -> Option<&'static str> {
    None
}

/// A tool in the protocol's format. The output schema is only included together with structured content, because it is
/// longer than everything else.
pub(crate) fn listed(tool: &dyn Tool, is_structured: bool) -> Listed {
    let parameters = schema::for_model(tool.parameters());
    let rendered = schema::render(Provider::Mcp, tool.name(), tool.description(), &parameters, false).schema;
    let mut input = object(&rendered["inputSchema"]);
    if input.get("required").is_some_and(|names| names.as_array().is_some_and(Vec::is_empty)) {
        Arc::make_mut(&mut input).remove("required");
    }
    let mut listed = Listed::new(tool.name().to_owned(), tool.description().to_owned(), input)
        .with_annotations(annotations(tool));
    // A title that only repeats the name says nothing; clients show the name then.
    listed.title = Some(title(tool.name())).filter(|title| title != tool.name());
    match is_structured {
        true => listed.with_raw_output_schema(object(tool.output_schema())),
        false => listed,
    }
}

/// The same, with an addition to its description if it is the tool that runs commands.
pub(crate) fn with_limits(mut listed: Listed, tool: &dyn Tool, limits: Option<&str>) -> Listed {
    if let (Some(limits), RUNS_COMMANDS) = (limits, tool.rule()) {
        listed.description = Some(format!("{} {limits}", tool.description()).into());
    }
    listed
}

fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// The annotations of a tool. `destructive` and `idempotent` are meaningless for read-only tools, and the title is a
/// field of its own.
fn annotations(tool: &dyn Tool) -> ToolAnnotations {
    let traits = tool.traits();
    let writes = |hint: bool| (!traits.read_only).then_some(hint);
    ToolAnnotations::from_raw(
        None,
        Some(traits.read_only),
        writes(traits.destructive),
        writes(traits.idempotent),
        Some(traits.open_world),
    )
}

/// The words of a name: "file_read" becomes "File read", "BashOutput" becomes "Bash output".
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

    /// The cost of a listing for a model: about 140 tokens per tool, at a little over four characters per token.
    #[test]
    fn a_tool_is_described_in_six_hundred_characters_on_average() {
        for dialect in ["beamai", "microai", "coder", "ide"] {
            let tools = tools(dialect);
            let size: usize =
                tools.iter().map(|tool| serde_json::to_string(&listed(&***tool, false)).unwrap().len()).sum();
            assert!(size / tools.len() <= 600, "{dialect}: {} characters a tool", size / tools.len());
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
