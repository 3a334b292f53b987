//! The tools of a dialect for clients of the Model Context Protocol, on standard input and output or over HTTP.
//!
//! ```text
//! stdin, stdout ── lines ──┐                    ┌── listing       the catalogue as the protocol lists it
//!                          ├── rmcp ── server ──┤
//! HTTP ── http ── rmcp ────┘            |       └── running_call  one call: thread, progress, cancellation
//!                                    session             |
//!                     what outlives a call       elicitation, form  approvals and questions
//! ```
//!
//! The library implements the protocol; the modules here determine the content. A [`McpServer`] serves until its input
//! ends or the future that it was given is ready; signals and the command line are the caller's. Background commands are
//! ended by the caller, too, before [`McpServer::end`].
//!
//! Approvals and questions go to the client's user if the client supports elicitation; otherwise calls that need them
//! are refused. Over HTTP there is no authentication, so it is served at a [`LoopbackAddress`] only.

#![forbid(unsafe_code)]

mod connections;
mod elicitation;
mod form;
mod http;
mod http_sessions;
mod lines;
mod listing;
mod open_messages;
mod outcome;
mod requests;
mod running_call;
mod server;
mod session;

pub use http::LoopbackAddress;
pub use listing::listing;
pub use outcome::ResultFormat;

use beamai_base::{Reason, Result, ToolError};
use beamai_engine::{Host, HostSettings};
use beamai_services::services;
use server::{ConnectionServer, SharedState};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A server for the tools of a dialect in one workspace.
pub struct McpServer {
    shared: Arc<SharedState>,
    runtime: Runtime,
}

impl McpServer {
    /// Prepares a server, and deletes the temporary directories of servers that were killed.
    ///
    /// # Errors
    /// For settings that are not valid, and if no threads can be started.
    pub fn new(settings: HostSettings, dialect: String, format: ResultFormat) -> Result<Self> {
        let host = Host::new(&settings, Arc::new(services().for_command_line()))?;
        let shared = Arc::new(SharedState::new(host, settings, dialect, format));
        beamai_private_dir::sweep();
        Ok(Self { shared, runtime: runtime()? })
    }

    /// Serves one client on standard input and output, until the input ends or `is_told_to_end` is ready.
    ///
    /// # Errors
    /// If the conversation broke off.
    pub fn serve_stdio(&self, is_told_to_end: impl Future<Output = ()>) -> std::result::Result<(), String> {
        self.runtime.block_on(async {
            tokio::select! {
                served = serve_lines(&self.shared) => served,
                () = is_told_to_end => Ok(()),
            }
        })
    }

    /// Serves clients over HTTP until `is_told_to_end` is ready. `tell_url` is called once connections are accepted.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub fn serve_http(
        &self,
        address: LoopbackAddress,
        tell_url: impl FnOnce(&str),
        is_told_to_end: impl Future<Output = ()>,
    ) -> std::result::Result<(), String> {
        self.runtime.block_on(http::serve(&self.shared, address, tell_url, is_told_to_end))
    }

    /// Ends all sessions, and deletes their temporary directories. Commands that use them must have ended.
    pub fn end(self) {
        self.shared.sessions.end_all();
        // A read of standard input cannot be cancelled, and must not keep the program running.
        self.runtime.shutdown_background();
    }
}

fn runtime() -> Result<Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(|error| ToolError::new(Reason::Io, format!("the server cannot be started: {error}")))
}

/// Serves one client until the end of its input.
async fn serve_lines(shared: &Arc<SharedState>) -> std::result::Result<(), String> {
    let server = ConnectionServer::of_connection(shared);
    let session = server.session();
    let lines = lines::StdioServerTransport::new(tokio::io::stdin(), tokio::io::stdout(), &session);
    match rmcp::serve_server(server, lines).await {
        Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
        // The input ended before the first request.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
