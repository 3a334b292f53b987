//! `beamai-port call`: one call from the command line.
//!
//! On a terminal, the user there is asked for approvals and answers; otherwise nobody is. Arguments are flags generated
//! from the tool's parameters, a JSON object, or both.

use crate::args::{self, UsageError};
use crate::attended_call;
use crate::options::{self, HostOptions};
use crate::tool_flags;
use beamai_base::ToolError;
use beamai_engine::CallRequest;
use beamai_engine::catalogue::{self, ToolOrigin};
use beamai_engine::display::Display;
use beamai_text::json;
use beamai_tool::Tool;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

/// The command without a tool's arguments.
pub(crate) fn command() -> Command {
    let tool =
        tool_argument().help("Name of the tool; `tools` lists them. With --help after it, its arguments");
    without_tool().arg(tool).arg(json_argument().index(2))
}

/// The command without arguments that are no flags: for completions, the name of a tool is a subcommand.
pub(crate) fn without_tool() -> Command {
    Command::new("call")
        .about("Call one tool and print its result")
        .long_about(
            "Call one tool and print its result as one line of JSON. Exits with 0, or with 1 after printing the error object; \
             bad usage exits with 2.\n\nOn a terminal, what needs an approval is asked there; elsewhere it is refused.",
        )
        .args(of_every_call())
        .args_override_self(true)
}

/// The command with this tool's arguments as flags.
pub(crate) fn with_tool(tool: &dyn Tool) -> Command {
    described(Command::new("call"), tool)
        .override_usage(format!("{} call {} [ARGUMENTS] [JSON] [OPTIONS]", args::program(), tool.name()))
        .arg(tool_argument().hide(true))
        .arg(json_argument().index(2))
        .args_override_self(true)
}

/// A subcommand of `call` for a tool, as shown in completions and man pages.
pub(crate) fn of_tool(tool: &dyn Tool) -> Command {
    described(Command::new(tool.name().to_owned()), tool).arg(json_argument())
}

fn described(command: Command, tool: &dyn Tool) -> Command {
    let options = of_every_call().into_iter().map(|arg| arg.help_heading("Options of every call"));
    command
        .about(first_sentence(tool.description()))
        .long_about(format!("{}: {}", tool.name(), tool.description()))
        .args(tool_flags::args(tool.parameters(), "Arguments of the tool"))
        .args(options)
}

fn of_every_call() -> Vec<Arg> {
    options::args().into_iter().chain([pretty()]).collect()
}

fn tool_argument() -> Arg {
    Arg::new("TOOL").index(1).required(true)
}

/// A tool's description in one sentence.
pub(crate) fn first_sentence(description: &str) -> String {
    let line = description.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(first, _)| first).trim_end_matches('.').to_owned()
}

fn json_argument() -> Arg {
    Arg::new("JSON")
        .help("Arguments as a JSON object, beside or in place of flags; - reads it from standard input")
}

fn pretty() -> Arg {
    let help = "Print a summary and what there is to look at, for people, and how to go on; with colour on a terminal";
    Arg::new("pretty").long("pretty").action(ArgAction::SetTrue).help(help)
}

/// The tool that a command line calls, if it is a call and names one.
///
/// # Errors
/// If there is no such tool; the error suggests similar names.
pub(crate) fn named_tool(words: &[OsString]) -> Result<Option<&'static Arc<dyn Tool>>, UsageError> {
    if words.get(1).is_none_or(|word| word != "call") {
        return Ok(None);
    }
    let options = options::args();
    let takes_next = |word: &str| {
        let named = |arg: &&Arg| word.strip_prefix("--") == arg.get_long();
        options.iter().find(named).is_some_and(|arg| !arg.is_require_equals_set())
    };
    let (mut tool, mut dialect) = (None, "beamai".to_owned());
    let mut words = words[2..].iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.strip_prefix("--dialect") {
            Some("") => dialect = words.next().unwrap_or_default().into_owned(),
            Some(value) if value.starts_with('=') => dialect = value[1..].to_owned(),
            _ if takes_next(&word) => _ = words.next(),
            // What follows a flag may be its value; the tool's name comes before all flags.
            _ if tool.is_none() && !word.starts_with('-') => tool = Some(word.into_owned()),
            _ => {}
        }
    }
    let (Some(tool), Ok(known)) = (tool, catalogue::dialect(&dialect)) else { return Ok(None) };
    known.find(&tool).map(Some).map_err(|error| UsageError(error.message))
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let host = HostOptions::of(matches)?;
    let dialect = host.dialect()?;
    let known = catalogue::dialect(&dialect).map_err(|error| UsageError(error.message))?;
    let name = matches.get_one::<String>("TOOL").cloned().unwrap_or_default();
    let tool = known.find(&name).map_err(|error| UsageError(error.message))?;
    let arguments = arguments(&**tool, matches)?;
    let (pretty, origin, again) = (matches.get_flag("pretty"), ToolOrigin::Dialect(&dialect), host.again());
    let call = CallRequest::new(name.as_str(), Some(dialect.clone()), arguments.clone());
    let shown = |display: Display| display.text(args::has_colour(&std::io::stdout()));
    match host.settings().and_then(|settings| attended_call::run(settings, call)) {
        Ok(value) if pretty => {
            let mut text = shown(Display::of_result(&name, &arguments, &value));
            let write = |tool: &str, args: &Map<String, Value>| {
                format!("{} call {}{again}", args::program(), tool_flags::written(tool, args))
            };
            for note in catalogue::notes(origin, &name, &arguments, &value, &write) {
                text.push_str(&format!("{note}\n"));
            }
            Ok(args::print(&text))
        }
        Ok(value) => Ok(args::print(json(&value) + "\n")),
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

/// The arguments from flags and JSON object combined.
fn arguments(tool: &dyn Tool, matches: &ArgMatches) -> Result<Map<String, Value>, UsageError> {
    let flags = tool_flags::arguments(tool.parameters(), matches)?;
    let Some(json) = matches.get_one::<String>("JSON") else { return Ok(flags) };
    let mut arguments = of_json(json)?;
    for (name, value) in flags {
        if arguments.insert(name.clone(), value).is_some() {
            let flag = tool_flags::flag_name(&name);
            return Err(UsageError(format!("{name:?} is given twice, in the JSON object and by --{flag}")));
        }
    }
    Ok(arguments)
}

fn of_json(json: &str) -> Result<Map<String, Value>, UsageError> {
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
            Err(UsageError(
                "the arguments must be a JSON object, such as '{\"path\": \"README.md\"}', or flags, such as --path README.md"
                    .into(),
            ))
        }
        Err(error) => Err(UsageError(format!(
            "the arguments are not valid JSON: {error}; they can be given as flags, too, see --help after the tool's name"
        ))),
    }
}
