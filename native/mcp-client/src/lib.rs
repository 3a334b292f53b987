//! MCP servers: started or connected to on demand, kept between calls, and their tools called.
//!
//! ```text
//! host ── acts: requests of the host
//!                     │
//!                   pool: one server for each workspace and settings
//!                     │
//!                   McpServer ── phase, under one lock; calls wait on it
//!                     │  └── a thread with a runtime of its own: the conversation (crate rmcp)
//!                     │         ├── stdio::StdioTransport or http::HttpTransport: messages, bounded
//!                     │         └── NotificationHandler ── ActiveCalls: progress, questions to a person
//!                     ▼
//!                   the server's process, under a reaper; or one connection for each exchange, checked by the guard
//! ```
//!
//! The host sends a server's settings with every call; the server with these settings is found, or started. So a server
//! that crashed and a port program that was restarted need no action of the host. A server is a program that the host
//! has chosen, found and confined like language servers, or a URL that the host has chosen. What it reports about
//! itself and its tools is not trusted.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]

mod acts;
mod calls;
mod conversation;
mod diagnostics;
mod exchange;
mod form;
mod http;
mod listener;
mod listing;
mod name;
mod outcome;
mod plan;
mod pool;
mod schema;
mod secrets;
mod server;
mod settings;
mod stdio;

use acts::{AnswerElicitation, CallTool, Close, ListTools};
use beamai_tool::{ExecutionClass, Services, host_act};

/// Adds the host's requests to MCP servers.
#[must_use]
pub fn serve(services: Services) -> Services {
    services.with_host_acts(vec![
        host_act("mcp_tools", ExecutionClass::Long, |act: ListTools, cx| act.run(cx)),
        host_act("mcp_call", ExecutionClass::Long, |act: CallTool, cx| act.run(cx)),
        host_act("mcp_answer", ExecutionClass::Instant, |act: AnswerElicitation, cx| act.run(cx)),
        host_act("mcp_close", ExecutionClass::Long, |act: Close, cx| act.run(cx)),
    ])
}
