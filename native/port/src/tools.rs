//! `beamai-port tools`: the catalogue as JSON.

use crate::args::{self, UsageError};
use crate::mcp::listing;
use beamai_engine::{self as engine, catalogue};
use beamai_schema::{self as schema, Provider};
use beamai_tool::Tool;
use serde_json::{Value, json};
use std::process::ExitCode;

const HELP: &str = "\
List the tools of a dialect as a JSON array.

usage: beamai-port tools [--dialect D] [--format F] [--strict] [--structured]

  --dialect D   beamai (default), microai, coder, ide or probe
  --format F    native (default): everything that is known of a tool; or as a provider wants it:
                openai, openai_responses, anthropic, gemini; mcp is what beamai-port mcp lists
  --structured  with --format mcp: with output schemas, as beamai-port mcp --structured lists them
  --strict      in the provider's strict mode, where it has one and the tool can be expressed in it
";

struct ToolsArgs {
    dialect: String,
    format: Option<Provider>,
    strict: bool,
    structured: bool,
}

pub(crate) fn main(parser: &mut lexopt::Parser) -> Result<ExitCode, UsageError> {
    let Some(options) = options(parser)? else { return Ok(args::print(HELP)) };
    let registry = catalogue::dialect(&options.dialect).map_err(|error| UsageError(error.message))?;
    let list: Value = match options.format {
        Some(Provider::Mcp) => listing::tools(&options.dialect)
            .into_iter()
            .map(|tool| json!(listing::listed(&**tool, options.structured)))
            .collect(),
        _ => {
            let mut used = schema::StrictUse::default();
            registry.iter().map(|tool| described(&**tool, &options, &mut used)).collect()
        }
    };
    Ok(args::print(&format!("{list:#}\n")))
}

fn options(parser: &mut lexopt::Parser) -> Result<Option<ToolsArgs>, UsageError> {
    use lexopt::prelude::{Long, Short};
    let mut options = ToolsArgs { dialect: "beamai".into(), format: None, strict: false, structured: false };
    while let Some(option) = parser.next()? {
        match option {
            Long("help") | Short('h') => return Ok(None),
            Long("dialect") => options.dialect = args::text(parser)?,
            Long("format") => options.format = format(&args::text(parser)?)?,
            Long("strict") => options.strict = true,
            Long("structured") => options.structured = true,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(options))
}

fn format(name: &str) -> Result<Option<Provider>, UsageError> {
    if name == "native" {
        return Ok(None);
    }
    let known = "native, openai, openai_responses, anthropic, gemini, mcp";
    let unknown = |_| UsageError(format!("there is no format {name:?}; there are: {known}"));
    serde_json::from_value(name.into()).map(Some).map_err(unknown)
}

fn described(tool: &dyn Tool, options: &ToolsArgs, used: &mut schema::StrictUse) -> Value {
    match options.format {
        None => engine::listing(tool),
        Some(provider) => {
            let parameters = schema::for_model(tool.parameters());
            used.render(provider, tool.name(), tool.description(), &parameters, options.strict).schema
        }
    }
}
