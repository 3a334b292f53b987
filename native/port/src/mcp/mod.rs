//! `beamai-port mcp`: the tools of a dialect for clients of the Model Context Protocol.
//!
//! ```text
//! stdin, stdout ── lines ──┐                             ┌── listing   the catalogue as the protocol lists it
//!                          ├── rmcp ── server (ConnectionServer) ──┤
//! HTTP ── http ── rmcp ────┘              |              └── calling   one call: thread, progress, cancellation
//!                                      session               |
//!                        what outlives a call           asking, form   approvals and questions
//! ```
//!
//! The library implements the protocol; the modules here determine the content.

mod connections;
mod elicitation;
mod form;
mod http;
mod lines;
pub(crate) mod listing;
mod outcome;
mod requests;
mod running_call;
mod server;
mod session;
mod signals;

use crate::args::{self, UsageError};
use crate::options::{self, HostOptions};
use beamai_engine::Host;
use beamai_services::services;
use beamai_tool::for_model::LEAST_LIMIT;
use outcome::ResultFormat;
use server::{ConnectionServer, SharedState};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime::Runtime;

const HELP: &str = "\
Serve the tools to a client of the Model Context Protocol, on standard input and output, until the input ends.

What needs an approval is asked through the client where it can ask its user, and refused elsewhere; so are the
questions of the tools that ask one. Commands in the background, the list of tasks and the temporary directory belong
to the connection and end with it.

usage: beamai-port mcp [options]

  --http ADDR:PORT  serve over HTTP instead, at /mcp, until the program is told to end; prints the URL on standard
                    output. ADDR must be of this machine alone, such as 127.0.0.1 or [::1]: there is no
                    authentication. Port 0 takes a free one
  --structured      give results as structured content, too, and tools with the schemas of their output; without it, a
                    result is text alone
  --result-limit N  most characters of a result's text, at least 1000; default 30000
  --dialect D       whose tools: beamai (default), microai, coder, ide or probe
";

#[derive(Default)]
struct McpArgs {
    host: HostOptions,
    http: Option<SocketAddr>,
    format: ResultFormat,
}

pub(crate) fn main(parser: &mut lexopt::Parser) -> Result<ExitCode, UsageError> {
    let Some(options) = options(parser)? else { return Ok(args::print(&[HELP, options::HELP].concat())) };
    let dialect = options.host.dialect()?;
    let settings = options.host.settings().map_err(|error| UsageError(error.message))?;
    options::warn(&settings.sandbox);
    let host = Host::new(&settings, Arc::new(services().for_command_line()))
        .map_err(|error| UsageError(error.message))?;
    let shared = Arc::new(SharedState::new(host, settings, dialect, options.format));
    crate::temp_dir::sweep();
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        match options.http {
            None => stdio(&shared).await,
            Some(address) => http::serve(&shared, address).await,
        }
    });
    shared.sessions.end_all();
    // A read of standard input cannot be cancelled, and must not keep the program running.
    runtime.shutdown_background();
    ended
}

fn options(parser: &mut lexopt::Parser) -> Result<Option<McpArgs>, UsageError> {
    use lexopt::prelude::{Long, Short};
    let mut options = McpArgs::default();
    while let Some(option) = parser.next()? {
        match option {
            Long("help") | Short('h') => return Ok(None),
            Long("http") => options.http = Some(http::address(&args::text(parser)?)?),
            Long("structured") => options.format.is_structured = true,
            Long("result-limit") => options.format.limit = limit(&args::text(parser)?)?,
            Long(name) => {
                let name = name.to_owned();
                options.host.take(&name, parser)?;
            }
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(options))
}

fn limit(text: &str) -> Result<usize, UsageError> {
    match text.parse() {
        Ok(limit) if limit >= LEAST_LIMIT => Ok(limit),
        _ => Err(UsageError(format!(
            "--result-limit takes a number of characters from {LEAST_LIMIT} on, not {text:?}"
        ))),
    }
}

fn runtime() -> Result<Runtime, UsageError> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(|error| UsageError(format!("the server cannot be started: {error}")))
}

/// Serves one client until the end of its input.
async fn stdio(shared: &Arc<SharedState>) -> Result<ExitCode, UsageError> {
    let server = ConnectionServer::of_connection(shared);
    let session = server.session();
    let lines = lines::StdioServerTransport::new(tokio::io::stdin(), tokio::io::stdout(), &session);
    let served = async {
        match rmcp::serve_server(server, lines).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
            // The input ended before the first request.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    };
    let ended = tokio::select! {
        ended = served => ended,
        () = signals::told_to_end() => Ok(()),
    };
    Ok(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("beamai-port: {error}");
            ExitCode::FAILURE
        }
    })
}
