//! A server's tools as the host gets them.

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

/// Most tools of a server.
const MOST: usize = 1_000;
/// Most pages that a list may have.
const MOST_PAGES: usize = 200;
/// Longest description of a tool, and longest instructions, in characters.
const LONGEST_TEXT: usize = 16_000;
/// Longest schema of arguments or results, in bytes of JSON.
const LONGEST_SCHEMA: usize = 128 << 10;
/// Deepest schema. It travels inside other things, which have a bound of their own.
const DEEPEST_SCHEMA: usize = 64;

/// Every tool that a server has.
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
            Ok(_) => return Err(wrong(server, "answers the question for its tools with something else")),
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

/// What the host is told of a server: who it says it is, and its tools.
///
/// # Errors
/// `mcp_server` for names that cannot be told apart, and for schemas that are too large.
pub(super) fn described(plan: &ConnectionPlan, info: &ServerPeerInfo, tools: &[Tool]) -> Result<Value> {
    let server = &plan.identity.spec.name;
    let names = name::full(server, tools.iter().map(|tool| &*tool.name))?;
    let all = names.iter().zip(tools).map(|(name, tool)| listed(plan, name, tool));
    let instructions: Option<String> =
        info.instructions.as_ref().map(|text| text.chars().take(LONGEST_TEXT).collect());
    Ok(json!({
        "server": {
            "name": info.server_info.as_ref().map(|one| &one.name),
            "version": info.server_info.as_ref().map(|one| &one.version),
            "protocol": info.protocol_version.as_str(),
            "instructions": instructions,
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
                tool.name
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
        // What the protocol says of tools that say nothing.
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

/// What is known of a tool in words; its title where it has no description.
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
