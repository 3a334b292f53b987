//! `beamai-port mcp`: serves the tools of a dialect to clients of the Model Context Protocol.

use crate::args::{self, UsageError};
use crate::options::{self, HostOptions};
use crate::told_to_end;
use beamai_mcp_server::{LoopbackAddress, McpServer, ResultFormat};
use beamai_tool::for_model::LEAST_LIMIT;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::io::IsTerminal;
use std::process::ExitCode;

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
    http: Option<LoopbackAddress>,
    format: ResultFormat,
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let options = options(matches)?;
    let dialect = options.host.dialect()?;
    let settings = options.host.settings().map_err(|error| UsageError(error.message))?;
    options::warn(&settings.sandbox);
    let server =
        McpServer::new(settings, dialect, options.format).map_err(|error| UsageError(error.message))?;
    let ended = match options.http {
        None => Ok(stdio(&server)),
        Some(address) => http(&server, address),
    };
    // Commands first: they use the sessions' directories.
    told_to_end::end_commands();
    server.end();
    ended
}

fn options(matches: &ArgMatches) -> Result<McpArgs, UsageError> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let mut format =
        ResultFormat { is_structured: matches.get_flag("structured"), ..ResultFormat::default() };
    if let Some(most) = text("result-limit") {
        format.limit = limit(most)?;
    }
    let http = text("http").map(str::parse).transpose().map_err(UsageError)?;
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

fn http(server: &McpServer, address: LoopbackAddress) -> Result<ExitCode, UsageError> {
    let tell_url = |url: &str| _ = args::print(format!("{url}\n"));
    server.serve_http(address, tell_url, told_to_end::by_signal()).map_err(UsageError)?;
    Ok(ExitCode::SUCCESS)
}

fn stdio(server: &McpServer) -> ExitCode {
    tell_who_waits();
    match server.serve_stdio(told_to_end::by_signal()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", args::program());
            ExitCode::FAILURE
        }
    }
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
