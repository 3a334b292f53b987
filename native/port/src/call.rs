//! `beamai-port call`: one call from the command line.
//!
//! On a terminal, the user there is asked for approvals and answers; otherwise nobody is. Arguments are flags generated
//! from the tool's parameters, a JSON object, or both.

use crate::args::{self, UsageError};
use crate::attended_call;
use crate::options::{self, HostOptions};
use crate::tool_flags;
use beamai_base::ToolError;
use beamai_base::json::parse_bounded;
use beamai_engine::CallRequest;
use beamai_engine::catalogue::{self, ToolOrigin};
use beamai_engine::display::Display;
use beamai_text::json;
use beamai_tool::Tool;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

/// The command without a tool's arguments.
pub(crate) fn command() -> Command {
    let tool = tool_argument()
        .help("Name of the tool; `tools` lists them. With --help after it, explains its arguments");
    Command::new("call")
        .about("Call one tool and print its result")
        .long_about(
            "Call one tool and print its result as one line of JSON. Exits with 0, or with 1 after printing the error object; \
             bad usage exits with 2.\n\nA call that needs an approval asks for it on a terminal, and is refused elsewhere.",
        )
        .args(of_every_call())
        .arg(tool)
        .arg(json_argument())
        .args_override_self(true)
}

/// The command with this tool's arguments as flags.
pub(crate) fn with_tool(tool: &dyn Tool) -> Command {
    described(Command::new("call"), tool)
        .override_usage(format!("{} call {} [ARGUMENTS] [JSON] [OPTIONS]", args::program(), tool.name()))
        .arg(tool_argument().hide(true).help("Name of the tool"))
        .arg(json_argument())
        .args_override_self(true)
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
        .index(2)
        .help("Arguments as a JSON object, besides or instead of flags; - reads it from standard input")
}

fn pretty() -> Arg {
    let help = "Print the result for people instead of JSON: a summary, the contents, and the call that continues; in colour on a terminal";
    Arg::new("pretty").long("pretty").action(ArgAction::SetTrue).help(help)
}

/// What the words of a call say of its tool, before its flags are known.
pub(crate) struct NamedTool {
    name: Option<String>,
    pub(crate) dialect: String,
}

impl Default for NamedTool {
    fn default() -> Self {
        Self { name: None, dialect: "beamai".to_owned() }
    }
}

impl NamedTool {
    /// The tool, if one is named.
    ///
    /// # Errors
    /// If there is no such dialect or tool; the error suggests similar names.
    pub(crate) fn tool(&self) -> Option<Result<&'static Arc<dyn Tool>, UsageError>> {
        let name = self.name.as_ref()?;
        let found = catalogue::dialect(&self.dialect).and_then(|known| known.find(name));
        Some(found.map_err(|error| UsageError(error.message)))
    }
}

/// Reads the words after `call`.
pub(crate) fn named(words: &[impl AsRef<OsStr>]) -> NamedTool {
    let options = options::args();
    let takes_next = |word: &str| {
        let named = |arg: &&Arg| word.strip_prefix("--") == arg.get_long();
        options.iter().find(named).is_some_and(|arg| !arg.is_require_equals_set())
    };
    let mut named = NamedTool::default();
    let mut words = words.iter().map(|word| word.as_ref().to_string_lossy());
    while let Some(word) = words.next() {
        match word.strip_prefix("--dialect") {
            // If the value is missing, the parser says so.
            Some("") => named.dialect = words.next().map_or(named.dialect, Cow::into_owned),
            Some(value) if value.starts_with('=') => named.dialect = value[1..].to_owned(),
            _ if takes_next(&word) => _ = words.next(),
            // What follows a flag may be its value; the tool's name comes before all flags.
            _ if named.name.is_none() && !word.starts_with('-') => named.name = Some(word.into_owned()),
            _ => {}
        }
    }
    named
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
    match parse_bounded(text.as_bytes()) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => {
            Err(UsageError(
                "the arguments must be a JSON object, such as '{\"path\": \"README.md\"}', or flags, such as --path README.md"
                    .into(),
            ))
        }
        Err(error) if error.is_data() => Err(UsageError(format!("the JSON of the arguments {error}"))),
        Err(error) => Err(UsageError(format!(
            "the arguments are not JSON from line {}, column {} on; they can be given as flags, too, see --help after the tool's name",
            error.line(),
            error.column()
        ))),
    }
}
