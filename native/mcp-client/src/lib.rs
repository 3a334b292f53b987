//! Servers of the Model Context Protocol: started when they are first asked, kept, and their tools called.
//!
//! ```text
//! host ── acts: what the host asks for
//!                     │
//!                   pool: one server for each workspace and settings
//!                     │
//!                   McpServer ── phase, under one lock; calls wait on it
//!                     │  └── a thread with a runtime of its own: the conversation (crate rmcp)
//!                     │         ├── stdio::StdioTransport or http::HttpTransport: messages, bounded
//!                     │         └── NotificationHandler ── ActiveCalls: progress, questions to a person
//!                     ▼
//!                   the server's process, under a reaper; or one connection for each exchange, past the guard
//! ```
//!
//! What a server is, the host says with every call: the one that these settings stand for is found, or started. So a
//! server that crashed and a port program that was restarted need nothing of the host. A server is a program of the
//! host's choice, found as language servers are, and confined as they are; or an address of the host's choice. What it says of itself and of its tools is
//! its own claim.
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
mod server;
mod settings;
mod stdio;

use acts::{AnswerElicitation, CallTool, Close, ListTools};
use beamai_tool::{ExecutionClass, Services, host_act};

/// Adds what a host asks of servers of tools.
#[must_use]
pub fn serve(services: Services) -> Services {
    services.with_host_acts(vec![
        host_act("mcp_tools", ExecutionClass::Long, |act: ListTools, cx| act.run(cx)),
        host_act("mcp_call", ExecutionClass::Long, |act: CallTool, cx| act.run(cx)),
        host_act("mcp_answer", ExecutionClass::Instant, |act: AnswerElicitation, cx| act.run(cx)),
        host_act("mcp_close", ExecutionClass::Long, |act: Close, cx| act.run(cx)),
    ])
}
