//! Language servers: started when they are first asked, kept, and told of every change before every request.
//!
//! ```text
//! ops::lsp ── servers::Pool: one server for each workspace, language and command
//!                │
//!              Server ── state, under one lock: phase, replies, diagnostics, progress; calls wait on it
//!                │  ├── Documents: what the server was told of open files, and which files it knew of
//!                │  └── writer and reader: threads that only move frames
//!                ▼
//!              the server's process, under a reaper
//! ```
//!
//! A server is a program of the machine, not of the workspace: it is found in the directories of the host's `PATH`
//! that lie outside the workspace, or where the host's settings say. It reads the project by itself; where it has a
//! switch for not running the project's own code, that switch is set.

mod language;
mod settings;

pub use settings::{LspSettings, ServerSettings};

#[cfg(all(feature = "port", target_os = "linux"))]
mod client;
#[cfg(all(feature = "port", target_os = "linux"))]
pub use client::*;
