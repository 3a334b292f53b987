//! `beamai-port call`: one call from the command line.
//!
//! On a terminal, the person there is asked for leave and answers questions; elsewhere nobody does.

use crate::args::{self, Usage};
use crate::terminal::Terminal;
use beamai_tools::context::Limits;
use beamai_tools::display::Display;
use beamai_tools::engine::{Call, Host, Outcome, Run, Settings};
use beamai_tools::lsp::LspSettings;
use beamai_tools::ops::question::Answers;
use beamai_tools::ops::skill::SkillSettings;
use beamai_tools::policy::PolicyText;
use beamai_tools::sandbox::SandboxSettings;
use beamai_tools::web_settings::{WebSettings, address};
use beamai_tools::workspace::Workspace;
use beamai_tools::{Reason, Result as ToolResult, ToolError, catalogue};
use serde_json::{Map, Value};
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Call one tool and print its result as JSON. Exits with 0, or with 1 after printing the error object.

On a terminal, what needs an approval is asked there; elsewhere it is refused.

usage: beamai-port call TOOL JSON [options]

  TOOL              name of the tool; see `beamai-port tools`
  JSON              its arguments, a JSON object; - reads them from standard input

  --dialect D       whose tool of that name: beamai (default), microai, coder, ide or probe
  --workspace DIR   directory that the tool is confined to; default: the current one
  --allow RULE      a permission rule: a tool such as Bash or Write, or Bash(git:*), Edit(src/**),
                    WebFetch(domain:example.com); may be repeated
  --ask RULE        likewise; what matches is asked about
  --deny RULE       likewise; deny beats ask beats allow
  --default MODE    auto (default), allow, ask or deny: what happens where no rule decides
  --settings FILE   JSON file with rules under \"permissions\": {\"allow\": [], \"ask\": [], \"deny\": [], \"default\": \"auto\"},
                    or by tool under \"permission\": {\"fetch\": \"allow\"},
                    the sandbox under \"sandbox\": \"MODE\" or {\"mode\": \"MODE\", \"network\": false, \"unix_sockets\": false,
                    \"readable\": [], \"writable\": [], \"env\": [], \"memory\": BYTES, \"processes\": N, \"cpu\": SECONDS,
                    \"file_size\": BYTES}, and the network under \"web\": {\"allow_addresses\": [\"IP:PORT\"], \"allowed_domains\": [],
                    \"blocked_domains\": [], \"user_agent\": \"…\", \"search\": {\"provider\": \"searxng\",
                    \"base_url\": \"…\", \"api_key\": \"…\"}}
  --allow-address IP:PORT
                    an address that may be fetched though it is not public; may be repeated
  --sandbox MODE    required (default), best_effort or off: how commands are isolated; see beamai-port doctor
  --network         let commands reach the network
  --pretty          print a summary and what there is to look at, for people; with colour on a terminal
";

struct Options {
    tool: String,
    json: String,
    dialect: String,
    workspace: PathBuf,
    policy: PolicyText,
    sandbox: SandboxSettings,
    web: WebSettings,
    pretty: bool,
}

pub(crate) fn main(parser: &mut lexopt::Parser) -> Result<ExitCode, Usage> {
    let Some(options) = options(parser)? else { return Ok(args::print(HELP)) };
    let known = catalogue::dialect(&options.dialect).map_err(|error| Usage(error.message))?;
    known.find(&options.tool).map_err(|error| Usage(error.message))?;
    let arguments = arguments(&options.json)?;
    let (name, pretty) = (options.tool.clone(), options.pretty);
    let shown = |display: Display| display.text(std::io::stdout().is_terminal());
    match run(options, arguments.clone()) {
        Ok(value) if pretty => Ok(args::print(&shown(Display::of_result(&name, &arguments, &value)))),
        Ok(value) => Ok(args::print(&format!("{value}\n"))),
        Err(error) => {
            let value = ToolError { tool: name.clone(), ..error }.to_value();
            let text = match pretty {
                true => shown(Display::of_error(&name, &arguments, &value)),
                false => format!("{value}\n"),
            };
            args::print(&text);
            Ok(ExitCode::FAILURE)
        }
    }
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
        answers: None,
        report: None,
        has_model: false,
        consulted: None,
    };
    attended(&Host::new(&settings)?, call, Terminal::of_this_program().as_ref())
}

/// Makes the call, and makes it again with what the person at the terminal says. Each is asked once.
fn attended(host: &Host, call: Call, terminal: Option<&Terminal>) -> ToolResult<Value> {
    match host.call(call.clone(), Run::default()) {
        Outcome::Ok(value, _) => Ok(value),
        Outcome::Error(error) => Err(error),
        Outcome::Ask(request)
            if call.approved.is_none() && terminal.is_some_and(|it| it.approves(&request)) =>
        {
            let approved = request["fingerprint"].as_str().map(str::to_owned);
            attended(host, Call { approved, ..call }, terminal)
        }
        Outcome::Ask(request) => Err(unapproved(&request, terminal.is_some())),
        Outcome::Question(questions) if call.answers.is_none() => {
            let answers = terminal.map_or(Answers::NoFrontend, |it| it.answers(&questions));
            attended(host, Call { answers: Some(answers), ..call }, terminal)
        }
        Outcome::Question(_) => Err(ToolError::new(Reason::Crash, "a call asked again what was answered")),
        Outcome::Delegate(delegation) => Err(delegation.nobody()),
        Outcome::Consult(_) => {
            Err(ToolError::new(Reason::Crash, "a call asked for a model that it was not given"))
        }
        Outcome::Defer => Err(ToolError::new(Reason::Crash, "a call without a bound was deferred")),
    }
}

/// The options that would allow what a request asks for.
fn wanted(request: &Value) -> String {
    let own = [request["rule"].clone()];
    let rules = request["wanted"].as_array().map_or(&own[..], Vec::as_slice);
    let options = rules.iter().filter_map(Value::as_str).map(|rule| format!("--allow '{rule}'"));
    options.collect::<Vec<_>>().join(" ")
}

fn unapproved(request: &Value, was_asked: bool) -> ToolError {
    let what = request["message"].as_str().unwrap_or_default();
    let mut error = match was_asked {
        true => ToolError::new(Reason::Denied, format!("{what}: the person at the terminal said no")),
        false => ToolError::new(
            Reason::NeedsApproval,
            format!(
                "{what}: this needs an approval, and there is nobody to ask; allow it with {}",
                wanted(request)
            ),
        ),
    };
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
    let mut sandbox = SandboxSettings::default();
    let (mut mode, mut has_network) = (None, false);
    let mut web = WebSettings::default();
    let mut addresses = Vec::new();
    let mut pretty = false;
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
            Long("settings") => {
                load_settings(&args::text(parser)?, &mut policy, &mut sandbox, &mut web)?;
            }
            Long("allow-address") => addresses.push(address(&args::text(parser)?).map_err(Usage)?),
            Long("pretty") => pretty = true,
            Long("sandbox") => {
                mode = Some(one_of("sandbox", &args::text(parser)?, "required, best_effort, off")?);
            }
            Long("network") => has_network = true,
            Value(value) => names
                .push(value.into_string().map_err(|value| Usage(format!("{value:?} is not valid UTF-8")))?),
            other => return Err(other.unexpected().into()),
        }
    }
    let [tool, json] = <[String; 2]>::try_from(names)
        .map_err(|_| Usage("call takes a tool's name and its arguments as JSON; see --help".into()))?;
    web.allow_addresses.extend(addresses);
    sandbox.mode = mode.unwrap_or(sandbox.mode);
    sandbox.network |= has_network;
    Ok(Some(Options { tool, json, dialect, workspace, policy, sandbox, web, pretty }))
}

fn one_of<T: serde::de::DeserializeOwned>(what: &str, text: &str, known: &str) -> Result<T, Usage> {
    serde_json::from_value(text.into())
        .map_err(|_| Usage(format!("there is no {what} {text:?}; there are: {known}")))
}

/// Has the rules of a settings file added to those of the command line, and takes its sandbox and its settings of the
/// network.
fn load_settings(
    file: &str,
    policy: &mut PolicyText,
    sandbox: &mut SandboxSettings,
    web: &mut WebSettings,
) -> Result<(), Usage> {
    let wrong = |why: String| Usage(format!("settings file {file}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut settings: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let has_rules = ["permissions", "permission"].iter().any(|part| settings.get(part).is_some());
    let [own_sandbox, network] = ["sandbox", "web"].map(|part| settings.get_mut(part).map(Value::take));
    if !has_rules && own_sandbox.is_none() && network.is_none() {
        return Err(wrong("it has none of \"permissions\", \"permission\", \"sandbox\" and \"web\"".into()));
    }
    if let Some(own) = own_sandbox {
        *sandbox = part(own).map_err(wrong)?;
    }
    if let Some(own) = network {
        *web = part(own).map_err(wrong)?;
    }
    if has_rules {
        policy.settings = Some(text);
    }
    Ok(())
}

fn part<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
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
