//! `beamai-port tools`: the catalogue, as a table for people or as JSON for programs.

use crate::args::{self, UsageError};
use crate::call::first_sentence;
use crate::options;
use beamai_engine::{self as engine, catalogue};
use beamai_schema::{self as schema, Provider};
use beamai_tool::{Tool, ToolRegistry};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;
use std::process::ExitCode;

/// The format with all properties of the tools.
const NATIVE: &str = "native";
const FORMATS: [&str; 6] = [NATIVE, "openai", "openai_responses", "anthropic", "gemini", "mcp"];

pub(crate) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("tools")
        .about("List the tools: a table for people, or with --format a JSON array")
        .arg(options::dialect())
        .arg(
            Arg::new("format").long("format").value_name("F").value_parser(PossibleValuesParser::new(FORMATS)).help(
                "Print JSON: native has everything about each tool, the others are the schemas that a provider takes, and mcp is what the command mcp lists",
            ),
        )
        .arg(flag("structured", "With --format mcp: add output schemas, as mcp --structured does"))
        .arg(flag("strict", "Use the provider's strict mode, if it has one and the tool can be expressed in it"))
        .args_override_self(true)
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let dialect = matches.get_one::<String>("dialect").map_or("", String::as_str);
    let registry = catalogue::dialect(dialect).map_err(|error| UsageError(error.message))?;
    let Some(format) = matches.get_one::<String>("format") else {
        return Ok(args::print(table(dialect, registry)));
    };
    let is_strict = matches.get_flag("strict");
    let list: Value = match provider(format)? {
        Some(Provider::Mcp) => beamai_mcp_server::listing(dialect, matches.get_flag("structured")),
        provider => {
            let mut used = schema::StrictUse::default();
            registry.iter().map(|tool| described(&**tool, provider, is_strict, &mut used)).collect()
        }
    };
    Ok(args::print(format!("{list:#}\n")))
}

/// One line per tool: its name, whether it asks for approval, and its description.
fn table(dialect: &str, registry: &ToolRegistry) -> String {
    let width = registry.iter().map(|tool| tool.name().len()).max().unwrap_or_default();
    let line = |tool: &std::sync::Arc<dyn Tool>| {
        let mark = if tool.requires_permission() { '*' } else { ' ' };
        format!("{:width$} {mark} {}\n", tool.name(), first_sentence(tool.description()))
    };
    let lines: String = registry.iter().map(line).collect();
    let option = if dialect == "beamai" { String::new() } else { format!(" --dialect {dialect}") };
    let program = args::program();
    format!(
        "{lines}\n* asks first, unless a rule allows it\n{program} call TOOL --help{option} has a tool's arguments.\n"
    )
}

fn provider(format: &str) -> Result<Option<Provider>, UsageError> {
    if format == NATIVE {
        return Ok(None);
    }
    let unknown = |_| UsageError(format!("there is no format {format:?}; there are: {}", FORMATS.join(", ")));
    serde_json::from_value(format.into()).map(Some).map_err(unknown)
}

fn described(
    tool: &dyn Tool,
    provider: Option<Provider>,
    is_strict: bool,
    used: &mut schema::StrictUse,
) -> Value {
    match provider {
        None => engine::listing(tool),
        Some(provider) => {
            let parameters = schema::for_model(tool.parameters());
            used.render(provider, tool.name(), tool.description(), &parameters, is_strict).schema
        }
    }
}
