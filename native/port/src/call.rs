//! `beamai-port call`: one call from the command line.

use crate::args::{self, Usage};
use beamai_tools::context::{Limits, Sandbox};
use beamai_tools::engine::{Call, Host, Outcome, Run, Settings};
use beamai_tools::lsp::LspSettings;
use beamai_tools::ops::question::Answers;
use beamai_tools::ops::skill::SkillSettings;
use beamai_tools::policy::PolicyText;
use beamai_tools::web_settings::{WebSettings, address};
use beamai_tools::workspace::Workspace;
use beamai_tools::{Reason, Result as ToolResult, ToolError, catalogue};
use serde_json::{Map, Value};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Call one tool and print its result as JSON. Exits with 0, or with 1 after printing the error object.

usage: beamai-port call TOOL JSON [options]

  TOOL              name of the tool; see `beamai-port tools`
  JSON              its arguments, a JSON object; - reads them from standard input

  --dialect D       whose tool of that name; beamai (default)
  --workspace DIR   directory that the tool is confined to; default: the current one
  --allow RULE      a permission rule: a tool such as Bash or Write, or Bash(git:*), Edit(src/**),
                    WebFetch(domain:example.com); may be repeated
  --ask RULE        likewise; without a person to ask, what asks is refused
  --deny RULE       likewise; deny beats ask beats allow
  --default MODE    auto (default), allow, ask or deny: what happens where no rule decides
  --settings FILE   JSON file with rules under \"permissions\": {\"allow\": [], \"ask\": [], \"deny\": [], \"default\": \"auto\"},
                    or by tool under \"permission\": {\"fetch\": \"allow\"}, and the network under \"web\": {\"allow_addresses\": [\"IP:PORT\"], \"allowed_domains\": [],
                    \"blocked_domains\": [], \"user_agent\": \"…\", \"search\": {\"provider\": \"searxng\",
                    \"base_url\": \"…\", \"api_key\": \"…\"}}
  --allow-address IP:PORT
                    an address that may be fetched though it is not public; may be repeated
  --sandbox MODE    required, best_effort (default) or off: how commands are isolated
";

struct Options {
    tool: String,
    json: String,
    dialect: String,
    workspace: PathBuf,
    policy: PolicyText,
    sandbox: Sandbox,
    web: WebSettings,
}

pub(crate) fn main(parser: &mut lexopt::Parser) -> Result<ExitCode, Usage> {
    let Some(options) = options(parser)? else { return Ok(args::print(HELP)) };
    let known = catalogue::dialect(&options.dialect).map_err(|error| Usage(error.message))?;
    known.find(&options.tool).map_err(|error| Usage(error.message))?;
    let arguments = arguments(&options.json)?;
    let name = options.tool.clone();
    let (value, code) = match run(options, arguments) {
        Ok(value) => (value, ExitCode::SUCCESS),
        Err(error) => (ToolError { tool: name, ..error }.to_value(), ExitCode::FAILURE),
    };
    args::print(&format!("{value:#}\n"));
    Ok(code)
}

fn run(options: Options, arguments: Map<String, Value>) -> ToolResult<Value> {
    let settings = Settings {
        workspace: Workspace::open(&options.workspace)?.id(),
        permissions: options.policy,
        sandbox: options.sandbox,
        limits: Limits::default(),
        skills: SkillSettings::default(),
        lsp: LspSettings::default(),
        web: options.web,
    };
    let call = Call {
        tool: options.tool,
        dialect: Some(options.dialect),
        args: arguments,
        timeout: None,
        approved: None,
        session: None,
        answers: Some(Answers::NoFrontend),
    };
    match Host::new(&settings)?.call(call, Run::default()) {
        Outcome::Ok(value, _) => Ok(value),
        Outcome::Error(error) => Err(error),
        Outcome::Ask(request) => Err(unapproved(&request)),
        Outcome::Question(_) => Err(ToolError::new(Reason::Crash, "a call asked again what was answered")),
        Outcome::Defer => Err(ToolError::new(Reason::Crash, "a call without a bound was deferred")),
    }
}

fn unapproved(request: &Value) -> ToolError {
    let own = [request["rule"].clone()];
    let wanted = request["wanted"].as_array().map_or(&own[..], Vec::as_slice);
    let wanted: Vec<String> =
        wanted.iter().filter_map(Value::as_str).map(|rule| format!("--allow '{rule}'")).collect();
    let message = format!(
        "{}: this needs an approval, and there is nobody to ask; allow it with {}",
        request["message"].as_str().unwrap_or_default(),
        wanted.join(" ")
    );
    let mut error = ToolError::new(Reason::NeedsApproval, message);
    for key in ["rule", "subject", "command", "file", "url", "query"] {
        if let Some(value) = request.get(key) {
            error = error.with(key, value.clone());
        }
    }
    error
}

fn options(parser: &mut lexopt::Parser) -> Result<Option<Options>, Usage> {
    use lexopt::prelude::{Long, Short, Value};
    let mut names = Vec::new();
    let mut dialect = "beamai".to_owned();
    let mut workspace = PathBuf::from(".");
    let mut policy = PolicyText::default();
    let mut sandbox = Sandbox::default();
    let mut web = WebSettings::default();
    let mut addresses = Vec::new();
    while let Some(option) = parser.next()? {
        match option {
            Long("help") | Short('h') => return Ok(None),
            Long("dialect") => dialect = args::text(parser)?,
            Long("workspace") => workspace = parser.value()?.into(),
            Long("allow") => policy.allow.push(args::text(parser)?.into()),
            Long("ask") => policy.ask.push(args::text(parser)?.into()),
            Long("deny") => policy.deny.push(args::text(parser)?.into()),
            Long("default") => {
                policy.default = one_of("mode", &args::text(parser)?, "auto, allow, ask, deny")?
            }
            Long("settings") => load_settings(&args::text(parser)?, &mut policy, &mut web)?,
            Long("allow-address") => addresses.push(address(&args::text(parser)?).map_err(Usage)?),
            Long("sandbox") => {
                sandbox = one_of("sandbox", &args::text(parser)?, "required, best_effort, off")?
            }
            Value(value) => names
                .push(value.into_string().map_err(|value| Usage(format!("{value:?} is not valid UTF-8")))?),
            other => return Err(other.unexpected().into()),
        }
    }
    let [tool, json] = <[String; 2]>::try_from(names)
        .map_err(|_| Usage("call takes a tool's name and its arguments as JSON; see --help".into()))?;
    web.allow_addresses.extend(addresses);
    Ok(Some(Options { tool, json, dialect, workspace, policy, sandbox, web }))
}

fn one_of<T: serde::de::DeserializeOwned>(what: &str, text: &str, known: &str) -> Result<T, Usage> {
    serde_json::from_value(text.into())
        .map_err(|_| Usage(format!("there is no {what} {text:?}; there are: {known}")))
}

/// Has the rules of a settings file added to those of the command line, and takes its settings of the network.
fn load_settings(file: &str, policy: &mut PolicyText, web: &mut WebSettings) -> Result<(), Usage> {
    let wrong = |why: String| Usage(format!("settings file {file}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut settings: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let network = settings["web"].take();
    if !network.is_null() {
        *web = serde_json::from_value(network).map_err(|error| wrong(error.to_string()))?;
    }
    match settings.get("permissions").or_else(|| settings.get("permission")) {
        Some(_) => policy.settings = Some(text),
        None if settings.as_object().is_some_and(|all| all.contains_key("web")) => {}
        None => return Err(wrong("it has none of \"permissions\", \"permission\" and \"web\"".into())),
    }
    Ok(())
}

fn arguments(json: &str) -> Result<Map<String, Value>, Usage> {
    let mut text = json.to_owned();
    if json == "-" {
        text.clear();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| Usage(format!("the arguments cannot be read from standard input: {error}")))?;
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => {
            Err(Usage("the arguments must be a JSON object, such as '{\"path\": \"README.md\"}'".into()))
        }
        Err(error) => Err(Usage(format!("the arguments are not valid JSON: {error}"))),
    }
}
