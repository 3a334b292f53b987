//! Language servers: started on demand, kept between calls, and notified of every change before every request.
//!
//! ```text
//! operations ── servers::ServerPool: one server for each workspace, language and command
//!                │
//!              LanguageServer ── state, under one lock: phase, replies, diagnostics, progress; calls wait on it
//!                │  ├── Documents: the open documents, and a snapshot of the other files
//!                │  └── writer and reader: threads that only move frames
//!                ▼
//!              the server's process, under a reaper
//! ```
//!
//! Servers are installed programs, never the workspace's: they are found in directories of the host's `PATH` outside
//! the workspace, or through the host's settings. A server reads the project by itself; if it has an option not to run
//! the project's code, that is set.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]

mod client;
mod operations;

pub use client::{ServerAvailability, availability, is_of_use, is_served};

use beamai_files::refuse_larger;
use beamai_port_tools::lsp::{Diagnostics, IsServed, Lsp, LspDiagnostics};
use beamai_tool::{CallContext, ExecutionClass, Interrupt, OperationBackend, Services, host_act};
use client::*;
use serde_json::json;

/// Adds the implementations of the tools that use language servers.
#[must_use]
pub fn serve(services: Services) -> Services {
    services
        .with(OperationBackend(|lsp: Lsp, cx: &CallContext| Ok(operations::ask(&lsp, cx)?)))
        .with(OperationBackend(diagnose))
        .with(IsServed(is_served))
        .with_host_acts(vec![host_act("lsp_available", ExecutionClass::Long, |_: LookForServers, cx| {
            Ok(json!({"available": is_of_use(&cx.lsp, cx.workspace.path())}))
        })])
}

/// Asks whether a language server is of use in the workspace, without starting one.
#[derive(serde::Deserialize)]
struct LookForServers {}

fn diagnose(call: LspDiagnostics, cx: &CallContext) -> Result<Diagnostics, Interrupt> {
    if let Some(path) = &call.path {
        let file = cx.workspace.parse_path(path)?;
        let size = u64::try_from(file.stat()?.st_size).unwrap_or(0);
        refuse_larger(&file, size, call.largest)?;
    }
    Ok(operations::diagnose(call.path.as_deref(), cx)?)
}
