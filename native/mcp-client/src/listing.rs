//! The tool list of a server, for the host.

use super::outcome;
use super::plan::ConnectionPlan;
use super::server::McpServer;
use super::{name, schema};
use beamai_base::{Reason, Result, ToolError};
use beamai_tool::CallContext;
use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerPeerInfo, ServerResult, Tool,
};
use serde_json::{Value, json};

/// Maximum number of tools of a server.
const MOST: usize = 1_000;
/// Maximum number of pages of a list.
const MOST_PAGES: usize = 200;
/// Maximum length of a tool's description and of each text by which a server describes itself, in characters.
const LONGEST_TEXT: usize = 16_000;
/// Maximum size of a schema for arguments or results, in bytes of JSON.
const LONGEST_SCHEMA: usize = 128 << 10;
/// Maximum depth of a schema. It is embedded in other values, whose depth is limited too.
const DEEPEST_SCHEMA: usize = 64;

/// All tools of a server.
///
/// # Errors
/// Those of a request; `mcp_server` for a list that is too long.
pub(super) fn tools(server: &McpServer, cx: &CallContext) -> Result<Vec<Tool>> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let request = ListToolsRequest {
            method: Default::default(),
            params: Some(params),
            extensions: Default::default(),
        };
        let page = match server.request(cx, ClientRequest::ListToolsRequest(request), None)? {
            Ok(ServerResult::ListToolsResult(page)) => page,
            Ok(_) => return Err(wrong(server, "responded to the request for its tools with another result")),
            Err(error) => return Err(outcome::refused(&server.plan.title(), "tools/list", &error, true)),
        };
        tools.extend(page.tools);
        if tools.len() > MOST {
            return Err(wrong(server, &format!("has more than {MOST} tools")));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(wrong(server, &format!("lists its tools on more than {MOST_PAGES} pages")))
}

/// A description of a server: its name and version, as it reports them, and its tools.
///
/// # Errors
/// `mcp_server` for ambiguous names, and for schemas that are too large.
pub(super) fn described(plan: &ConnectionPlan, info: &ServerPeerInfo, tools: &[Tool]) -> Result<Value> {
    let server = &plan.identity.spec.name;
    let names = name::full(server, tools.iter().map(|tool| &*tool.name), &plan.secrets())?;
    let all = names.iter().zip(tools).map(|(name, tool)| listed(plan, name, tool));
    let cut = |text: &String| text.chars().take(LONGEST_TEXT).collect::<String>();
    let own = info.server_info.as_ref();
    Ok(json!({
        "server": {
            "name": own.map(|one| cut(&one.name)),
            "version": own.map(|one| cut(&one.version)),
            "protocol": info.protocol_version.as_str(),
            "instructions": info.instructions.as_ref().map(cut),
        },
        "tools": all.collect::<Result<Vec<_>>>()?,
    }))
}

fn listed(plan: &ConnectionPlan, name: &str, tool: &Tool) -> Result<Value> {
    let input = Value::Object((*tool.input_schema).clone());
    let output = tool.output_schema.as_ref().map(|schema| Value::Object((**schema).clone()));
    for schema in [Some(&input), output.as_ref()].into_iter().flatten() {
        if schema.to_string().len() > LONGEST_SCHEMA || depth(schema) > DEEPEST_SCHEMA {
            let message = format!(
                "{} describes its tool {:?} with a schema of more than {LONGEST_SCHEMA} bytes or {DEEPEST_SCHEMA} levels",
                plan.title(),
                plan.secrets().hide(&tool.name)
            );
            return Err(ToolError::new(Reason::McpServer, message));
        }
    }
    let description: String = text(tool).chars().take(LONGEST_TEXT).collect();
    let hints = tool.annotations.clone().unwrap_or_default();
    let mut out = json!({
        "name": name,
        "tool": tool.name,
        "description": description,
        "output_schema": outcome::schema(output.as_ref()),
        // The protocol's defaults.
        "hints": {
            "read_only": hints.read_only_hint.unwrap_or(false),
            "destructive": hints.destructive_hint.unwrap_or(true),
            "idempotent": hints.idempotent_hint.unwrap_or(false),
            "open_world": hints.open_world_hint.unwrap_or(true),
        },
    });
    match schema::parameters(&tool.input_schema) {
        Some(parameters) => out["parameters"] = json!(parameters),
        None => out["input_schema"] = input,
    }
    Ok(out)
}

/// A tool's description, or else its title.
fn text(tool: &Tool) -> &str {
    let title = || tool.title.as_deref().or_else(|| tool.annotations.as_ref()?.title.as_deref());
    tool.description.as_deref().filter(|text| !text.is_empty()).or_else(title).unwrap_or_default()
}

fn depth(value: &Value) -> usize {
    let deepest = |values: &mut dyn Iterator<Item = &Value>| 1 + values.map(depth).max().unwrap_or(0);
    match value {
        Value::Object(map) => deepest(&mut map.values()),
        Value::Array(items) => deepest(&mut items.iter()),
        _ => 1,
    }
}

fn wrong(server: &McpServer, what: &str) -> ToolError {
    ToolError::new(Reason::McpServer, format!("{} {what}", server.plan.title()))
}
