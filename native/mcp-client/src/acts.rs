//! What the host asks for: the tools of a server, a call, an answer to a question, an end.

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
    /// The server's own name for it.
    tool: String,
    arguments: Map<String, Value>,
}

/// Answers a question that a server has put during a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerElicitation {
    elicitation: String,
    answers: Answers,
}

/// Ends a server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Close {
    server: McpServerSettings,
}

impl ListTools {
    /// Who the server says it is, and its tools.
    ///
    /// # Errors
    /// The server does not start, or its list is of no use.
    pub(crate) fn run(self, cx: &CallContext) -> Result<Value> {
        let server = pool::lease(cx, self.server)?;
        let described = described(&server, cx);
        match described {
            Ok(_) => server.be_of_use(),
            // Nobody knows its tools, so nobody would ever end it.
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
    /// What the tool returns.
    ///
    /// # Errors
    /// Those of the tool, of the protocol, and of a server that is over.
    pub(crate) fn run(self, cx: &CallContext) -> Result<Value> {
        let server = pool::lease(cx, self.server)?;
        let params = CallToolRequestParams::new(self.tool.clone()).with_arguments(self.arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let title = server.plan.title();
        let renewals = server.renewals();
        match server.request(cx, request, cx.progress.clone())? {
            Ok(ServerResult::CallToolResult(result)) => {
                let ended = outcome::result(&title, result, cx.limits.content_bytes);
                match ended {
                    // Some servers say so of tools that are gone.
                    Err(error) if server.has_news() && !has(&server, cx, &self.tool) => {
                        Err(ToolError { reason: Reason::UnknownTool, ..error })
                    }
                    ended => ended.map(|result| outcome::noted(result, server.renewals() > renewals)),
                }
            }
            Ok(_) => {
                let message =
                    format!("{title} answers the call of {:?} with what is no result of a tool", self.tool);
                Err(ToolError::new(Reason::McpServer, message))
            }
            Err(error) => Err(outcome::refused(&title, &self.tool, &error, has(&server, cx, &self.tool))),
        }
    }
}

/// Whether a server has a tool, as far as it says.
fn has(server: &McpServer, cx: &CallContext, tool: &str) -> bool {
    listing::tools(server, cx).is_ok_and(|tools| tools.iter().any(|known| known.name == tool))
}

impl AnswerElicitation {
    /// Whether anybody still waited for it.
    ///
    /// # Errors
    /// None.
    pub(crate) fn run(self, _: &CallContext) -> Result<Value> {
        Ok(json!({"taken": calls::answer(&self.elicitation, self.answers)}))
    }
}

impl Close {
    /// How many processes have ended.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(crate) fn run(self, cx: &CallContext) -> Result<Value> {
        Ok(json!({"closed": pool::close(cx, &self.server)?}))
    }
}
