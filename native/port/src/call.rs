//! `beamai-port call`: one call from the command line.
//!
//! On a terminal, the user there is asked for approvals and answers; otherwise nobody is.

use crate::args::{self, UsageError};
use crate::options::{self, HostOptions};
use crate::refusal;
use crate::starts;
use crate::temp_dir::PrivateDir;
use crate::terminal::{Approval, Terminal};
use beamai_base::{Reason, Result as ToolResult, ToolError};
use beamai_engine::catalogue;
use beamai_engine::display::Display;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, CallSession, Host};
use beamai_isolation::{SandboxMode, SandboxSettings, Tier};
use beamai_services::services;
use beamai_text::json;
use beamai_tool::question::Answers;
use beamai_tool::{Door, Progress};
use serde_json::{Map, Value};
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

const HELP: &str = "\
Call one tool and print its result as JSON. Exits with 0, or with 1 after printing the error object.

On a terminal, what needs an approval is asked there; elsewhere it is refused.

usage: beamai-port call TOOL JSON [options]

  TOOL              name of the tool; see `beamai-port tools`
  JSON              its arguments, a JSON object; - reads them from standard input

  --dialect D       whose tool of that name: beamai (default), microai, coder, ide or probe
";
const LAST: &str = "\
  --pretty          print a summary and what there is to look at, for people; with colour on a terminal
";

struct CallArgs {
    tool: String,
    json: String,
    host: HostOptions,
    pretty: bool,
}

pub(crate) fn main(parser: &mut lexopt::Parser) -> Result<ExitCode, UsageError> {
    let Some(options) = options(parser)? else {
        return Ok(args::print(&[HELP, options::HELP, LAST].concat()));
    };
    let dialect = options.host.dialect()?;
    let known = catalogue::dialect(&dialect).map_err(|error| UsageError(error.message))?;
    known.find(&options.tool).map_err(|error| UsageError(error.message))?;
    let arguments = arguments(&options.json)?;
    let (name, pretty) = (options.tool.clone(), options.pretty);
    let shown = |display: Display| display.text(std::io::stdout().is_terminal());
    match run(options, dialect, arguments.clone()) {
        Ok(value) if pretty => Ok(args::print(&shown(Display::of_result(&name, &arguments, &value)))),
        Ok(value) => Ok(args::print(&(json(&value) + "\n"))),
        Err(error) => {
            let value = ToolError { tool: name.clone(), ..error }.to_value();
            let text = match pretty {
                true => shown(Display::of_error(&name, &arguments, &value)),
                false => json(&value) + "\n",
            };
            args::print(&text);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn run(options: CallArgs, dialect: String, arguments: Map<String, Value>) -> ToolResult<Value> {
    let runs_in_port = catalogue::dialect(&dialect)?.find(&options.tool)?.traits().door == Door::Port;
    let mut call = CallRequest::new(options.tool, Some(dialect), arguments);
    let settings = options.host.settings()?;
    let mut temp = None;
    if runs_in_port {
        options::warn(&settings.sandbox);
        temp = temp_dir(&settings.sandbox)?;
    }
    if let Some(path) = temp.as_ref().and_then(|dir| dir.path().to_str()) {
        call.session = Some(CallSession { temp_dir: Some(path.to_owned()), ..CallSession::default() });
    }
    let host = Arc::new(Host::new(&settings, Arc::new(services().for_command_line()))?);
    attended(&host, call, Terminal::of_this_program().map(Arc::new).as_ref())
}

/// A temporary directory for calls that might otherwise have none: without mounts, `/tmp` is shared with other users.
fn temp_dir(sandbox: &SandboxSettings) -> ToolResult<Option<PrivateDir>> {
    let has_mounts = sandbox.mode == SandboxMode::Required && sandbox.tier == Tier::Full;
    if has_mounts || sandbox.mode == SandboxMode::Off {
        return Ok(None);
    }
    let made = PrivateDir::new().map_err(|error| {
        ToolError::new(Reason::Io, format!("no temporary directory could be made: {error}"))
    });
    made.map(Some)
}

/// Makes the call, and repeats it with the user's responses. Each kind of request is made at most once.
fn attended(host: &Arc<Host>, call: CallRequest, terminal: Option<&Arc<Terminal>>) -> ToolResult<Value> {
    match host
        .call(CallRequest { asks_starts: terminal.is_some(), ..call.clone() }, listening(host, terminal))
    {
        CallOutcome::Ok(value, _) => Ok(value),
        CallOutcome::Error(error) => Err(error),
        CallOutcome::Ask(request) => match terminal.filter(|_| call.approved.is_none()) {
            None => Err(refusal::nobody_to_ask(&request, "there is nobody to ask")),
            Some(person) => match person.approves(&request) {
                Approval::Given => {
                    let approved = request["fingerprint"].as_str().map(str::to_owned);
                    attended(host, CallRequest { approved, ..call }, terminal)
                }
                Approval::Declined => Err(refusal::said_no(&request, "the person at the terminal")),
                Approval::Cancelled => Err(refusal::gave_no_answer(&request, "the person at the terminal")),
            },
        },
        CallOutcome::Question(questions) if call.answers.is_none() => {
            let answers = terminal.map_or(Answers::NoFrontend, |it| it.answers(&questions));
            attended(host, CallRequest { answers: Some(answers), ..call }, terminal)
        }
        CallOutcome::Question(_) => {
            Err(ToolError::new(Reason::Crash, "a call asked again what was answered"))
        }
        CallOutcome::Delegate(delegation) => Err(delegation.nobody()),
        CallOutcome::Consult(_) => {
            Err(ToolError::new(Reason::Crash, "a call asked for a model that it was not given"))
        }
        CallOutcome::Defer => Err(ToolError::new(Reason::Crash, "a call without a bound was deferred")),
    }
}

/// Runs a call whose command may ask the user at the terminal about program starts.
fn listening(host: &Arc<Host>, terminal: Option<&Arc<Terminal>>) -> CallOptions {
    let Some(terminal) = terminal.map(Arc::clone) else { return CallOptions::default() };
    let host = Arc::clone(host);
    let progress: Progress = Arc::new(move |message: Value| {
        let (Some(id), request) = (message["start"].as_str(), &message["request"]) else { return };
        let (host, terminal, request, id) =
            (Arc::clone(&host), Arc::clone(&terminal), request.clone(), id.to_owned());
        // The guard's thread must not wait for a person.
        std::thread::spawn(move || {
            // One question at a time.
            static ASKING: Mutex<()> = Mutex::new(());
            let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
            let call = match terminal.decides(&request) {
                Some(rules) => starts::approval(&id, &rules),
                None => starts::refusal(&id, "the person at the terminal said no"),
            };
            host.call(call, CallOptions::default());
        });
    });
    CallOptions { progress: Some(progress), ..CallOptions::default() }
}

fn options(parser: &mut lexopt::Parser) -> Result<Option<CallArgs>, UsageError> {
    use lexopt::prelude::{Long, Short, Value};
    let mut names = Vec::new();
    let mut host = HostOptions::default();
    let mut pretty = false;
    while let Some(option) = parser.next()? {
        match option {
            Long("help") | Short('h') => return Ok(None),
            Long("pretty") => pretty = true,
            Long(name) => {
                let name = name.to_owned();
                host.take(&name, parser)?;
            }
            Value(value) => names.push(
                value.into_string().map_err(|value| UsageError(format!("{value:?} is not valid UTF-8")))?,
            ),
            other => return Err(other.unexpected().into()),
        }
    }
    let [tool, json] = <[String; 2]>::try_from(names)
        .map_err(|_| UsageError("call takes a tool's name and its arguments as JSON; see --help".into()))?;
    Ok(Some(CallArgs { tool, json, host, pretty }))
}

fn arguments(json: &str) -> Result<Map<String, Value>, UsageError> {
    let mut text = json.to_owned();
    if json == "-" {
        text.clear();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| {
            UsageError(format!("the arguments cannot be read from standard input: {error}"))
        })?;
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => {
            Err(UsageError("the arguments must be a JSON object, such as '{\"path\": \"README.md\"}'".into()))
        }
        Err(error) => Err(UsageError(format!("the arguments are not valid JSON: {error}"))),
    }
}
