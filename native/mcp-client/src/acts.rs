//! Requests of the host: list a server's tools, call one, answer a question, stop a server.

use super::server::McpServer;
use super::settings::McpServerSettings;
use super::{calls, listing, outcome, pool};
use beamai_base::{Reason, Result, ToolError};
use beamai_tool::{CallContext, question::Answers};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Lists a server's tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListTools {
    server: McpServerSettings,
}

/// Calls a tool of a server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallTool {
    server: McpServerSettings,
    /// The server's name for it.
    tool: String,
    arguments: Map<String, Value>,
}

/// Answers a question that a server has asked during a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerElicitation {
    elicitation: String,
    answers: Answers,
}

/// Stops a server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Close {
    server: McpServerSettings,
}

impl ListTools {
    /// The server's name and version, as it reports them, and its tools.
    ///
    /// # Errors
    /// The server does not start, or its tool list is not valid.
    pub(crate) fn run(self, cx: &CallContext) -> Result<Value> {
        let server = pool::lease(cx, self.server)?;
        let described = described(&server, cx);
        match described {
            Ok(_) => server.mark_used(),
            // The host has no tools of it, so it would never stop it.
            Err(_) => server.discard(),
        }
        described
    }
}

fn described(server: &McpServer, cx: &CallContext) -> Result<Value> {
    let info = server.ready(cx)?.info;
    let tools = match info.capabilities.tools {
        Some(_) => listing::tools(server, cx)?,
        None => vec![],
    };
    listing::described(&server.plan, &info, &tools)
}

impl CallTool {
    /// The tool's result.
    ///
    /// # Errors
    /// Those of the tool, of the protocol, and of a server that has exited.
    pub(crate) fn run(self, cx: &CallContext) -> Result<Value> {
        let server = pool::lease(cx, self.server)?;
        let params = CallToolRequestParams::new(self.tool.clone()).with_arguments(self.arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (title, secrets) = (server.plan.title(), server.plan.secrets());
        let renewals = server.renewals();
        match server.request(cx, request, cx.progress.clone())? {
            Ok(ServerResult::CallToolResult(result)) => {
                let ended = outcome::result(&title, result, cx.limits.content_bytes, &secrets);
                match ended {
                    // Some servers report this for tools that have been removed.
                    Err(error) if server.has_new_tools() && !has(&server, cx, &self.tool) => {
                        Err(ToolError { reason: Reason::UnknownTool, ..error })
                    }
                    ended => ended.map(|result| outcome::noted(result, server.renewals() > renewals)),
                }
            }
            Ok(_) => {
                let message = format!(
                    "{title} responded to the call of {:?} with something that is not a tool result",
                    secrets.hide(&self.tool)
                );
                Err(ToolError::new(Reason::McpServer, message))
            }
            Err(error) => {
                Err(outcome::refused(&title, &secrets.hide(&self.tool), &error, has(&server, cx, &self.tool)))
            }
        }
    }
}

/// Whether a server lists a tool.
fn has(server: &McpServer, cx: &CallContext, tool: &str) -> bool {
    listing::tools(server, cx).is_ok_and(|tools| tools.iter().any(|known| known.name == tool))
}

impl AnswerElicitation {
    /// Whether the call was still waiting for the answer.
    ///
    /// # Errors
    /// None.
    pub(crate) fn run(self, _: &CallContext) -> Result<Value> {
        Ok(json!({"taken": calls::answer(&self.elicitation, self.answers)}))
    }
}

impl Close {
    /// The number of servers that have been stopped.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(crate) fn run(self, cx: &CallContext) -> Result<Value> {
        Ok(json!({"closed": pool::close(cx, &self.server)?}))
    }
}
