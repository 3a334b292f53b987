//! Language servers: started when they are first asked, kept, and told of every change before every request.
//!
//! ```text
//! operations ── servers::ServerPool: one server for each workspace, language and command
//!                │
//!              LanguageServer ── state, under one lock: phase, replies, diagnostics, progress; calls wait on it
//!                │  ├── Documents: what the server was told of open files, and which files it knew of
//!                │  └── writer and reader: threads that only move frames
//!                ▼
//!              the server's process, under a reaper
//! ```
//!
//! A server is a program of the machine, not of the workspace: it is found in the directories of the host's `PATH`
//! that lie outside the workspace, or where the host's settings say. It reads the project by itself; where it has a
//! switch for not running the project's own code, that switch is set.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]

mod client;
mod operations;

pub use client::{ServerAvailability, availability, is_served};

use beamai_files::refuse_larger;
use beamai_port_tools::lsp::{Diagnostics, IsServed, Lsp, LspDiagnostics};
use beamai_tool::{CallContext, Interrupt, OperationBackend, Services};
use client::*;

/// Adds the work of the tools that ask language servers.
#[must_use]
pub fn serve(services: Services) -> Services {
    services
        .with(OperationBackend(|lsp: Lsp, cx: &CallContext| Ok(operations::ask(&lsp, cx)?)))
        .with(OperationBackend(diagnose))
        .with(IsServed(is_served))
}

fn diagnose(call: LspDiagnostics, cx: &CallContext) -> Result<Diagnostics, Interrupt> {
    if let Some(path) = &call.path {
        let place = cx.workspace.place(path)?;
        let size = u64::try_from(place.stat()?.st_size).unwrap_or(0);
        refuse_larger(&place, size, call.largest)?;
    }
    Ok(operations::diagnose(call.path.as_deref(), cx)?)
}
