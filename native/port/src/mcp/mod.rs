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

use crate::args::{self, UsageError};
use crate::options::{self, HostOptions};
use crate::told_to_end;
use beamai_engine::Host;
use beamai_services::services;
use beamai_tool::for_model::LEAST_LIMIT;
use clap::{Arg, ArgAction, ArgMatches, Command};
use outcome::ResultFormat;
use server::{ConnectionServer, SharedState};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime::Runtime;

const ABOUT: &str = "\
Serve the tools to a client of the Model Context Protocol, on standard input and output, until the input ends.

Approvals and questions go to the client's user if the client supports elicitation; otherwise calls that need them are
refused. Background commands, the list of tasks and the temporary directory belong to the connection and end with it.";

pub(crate) fn command() -> Command {
    Command::new("mcp")
        .about("Serve the tools to clients of the Model Context Protocol")
        .long_about(ABOUT)
        .arg(Arg::new("http").long("http").value_name("ADDR:PORT").help(
            "Serve over HTTP instead, at /mcp, until the program is stopped, and print the URL. ADDR must be a loopback \
             address such as 127.0.0.1 or [::1], because there is no authentication. Port 0 takes a free port",
        ))
        .arg(Arg::new("structured").long("structured").action(ArgAction::SetTrue).help(
            "Add structured content to results and output schemas to tools; without it, a result is only text",
        ))
        .arg(Arg::new("result-limit").long("result-limit").value_name("N").help(
            "Maximum number of characters of a result's text, at least 1000; 30000 by default",
        ))
        .args(options::args())
        .args_override_self(true)
}

struct McpArgs {
    host: HostOptions,
    http: Option<SocketAddr>,
    format: ResultFormat,
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let options = options(matches)?;
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
    // Commands first: they use the sessions' directories.
    told_to_end::end_commands();
    shared.sessions.end_all();
    // A read of standard input cannot be cancelled, and must not keep the program running.
    runtime.shutdown_background();
    ended
}

fn options(matches: &ArgMatches) -> Result<McpArgs, UsageError> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let mut format =
        ResultFormat { is_structured: matches.get_flag("structured"), ..ResultFormat::default() };
    if let Some(most) = text("result-limit") {
        format.limit = limit(most)?;
    }
    let http = text("http").map(http::address).transpose()?;
    Ok(McpArgs { host: HostOptions::of(matches)?, http, format })
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

/// Tells a person who started this on a terminal that it waits for a client.
fn tell_who_waits() {
    if std::io::stdin().is_terminal() {
        let program = args::program();
        eprintln!(
            "{program}: waiting for the messages of an MCP client on standard input, one JSON object a line; Ctrl-D ends \
             it.\nClients start this program themselves: give them the command line `{program} mcp` (docs/mcp-clients.md). To \
             call a tool by hand: {program} call TOOL --help"
        );
    }
}

/// Serves one client until the end of its input.
async fn stdio(shared: &Arc<SharedState>) -> Result<ExitCode, UsageError> {
    tell_who_waits();
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
        () = told_to_end::by_signal() => Ok(()),
    };
    Ok(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", args::program());
            ExitCode::FAILURE
        }
    })
}
