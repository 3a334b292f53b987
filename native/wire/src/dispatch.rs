//! Decodes a call, runs it, and encodes the reply.

use crate::etf::decode_members;
use crate::hosts::Hosts;
use crate::reply;
use beamai_base::{Reason, Result, ToolError};
use beamai_engine::catalogue;
use beamai_engine::display::Display;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, listing};
use beamai_schema::{self as schema, Parameters, Provider, StrictUse};
use beamai_tool::ExecutionClass;
use beamai_tool::Services;
use beamai_workspace::Workspace;
use serde::Deserialize;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// Maximum size of a call on a normal scheduler, in bytes.
pub const INSTANT_BYTES: usize = 16 << 10;
/// Maximum size of a file that is read there, in bytes. That takes about 30 microseconds.
const CACHED_BYTES: u64 = 32 << 10;

/// The result of a call for a door.
#[derive(Debug)]
pub enum DispatchResult {
    /// An encoded reply.
    Reply(Vec<u8>),
    /// The call has had no effect and must run as a job.
    Defer,
}

/// Runs the calls of a door.
pub struct Dispatcher {
    hosts: Hosts,
}

impl Dispatcher {
    /// A dispatcher without hosts, for a door with these services.
    pub fn new(services: Services) -> Self {
        Self { hosts: Hosts::new(services) }
    }

    /// Runs one call.
    pub fn call(&self, settings: &[u8], call: &[u8], run: CallOptions) -> DispatchResult {
        match parse_call(call) {
            Ok(call) => self.call_parsed(settings, call, run),
            Err(error) => DispatchResult::Reply(reply::error(&error)),
        }
    }

    /// As [`Dispatcher::call`], of a call that has been [parsed](parse_call).
    pub fn call_parsed(&self, settings: &[u8], call: CallRequest, run: CallOptions) -> DispatchResult {
        match self.hosts.get_or_make(settings) {
            Ok(host) => reply_to(host.call(call, run)).map_or(DispatchResult::Defer, DispatchResult::Reply),
            Err(error) => DispatchResult::Reply(reply::error(&error)),
        }
    }

    /// Runs a call on the current thread if it finishes quickly: the tool is instant, or finds all its data in memory,
    /// the arguments are small, and the settings are prepared. Returns the reply, or `None` if the call must run
    /// elsewhere; it has had no effect then.
    pub fn call_at_once(&self, settings: &[u8], call: &[u8]) -> Option<Vec<u8>> {
        if call.len() > INSTANT_BYTES {
            return None;
        }
        let host = self.hosts.get(settings)?;
        let call = parse_call(call).ok()?;
        let tool = host.find(&call.tool, call.dialect.as_deref()).ok()?;
        let run = || CallOptions {
            inline_bytes: Some(CACHED_BYTES),
            must_not_wait: true,
            ..CallOptions::default()
        };
        match tool.traits().pace {
            ExecutionClass::Instant => reply_to(host.call(call, CallOptions::default())),
            // An error here, such as of a missing temporary directory, may not occur elsewhere.
            ExecutionClass::Cached => match host.call(call, run()) {
                CallOutcome::Error(_) => None,
                outcome => reply_to(outcome),
            },
            ExecutionClass::Bounded | ExecutionClass::Long => None,
        }
    }

    /// How long a call can take. One that is of no known tool, or whose settings are not prepared, counts as long.
    pub fn pace(&self, settings: &[u8], call: &CallRequest) -> ExecutionClass {
        let host = self.hosts.get(settings);
        let tool = host.as_ref().and_then(|host| host.find(&call.tool, call.dialect.as_deref()).ok());
        tool.map_or(ExecutionClass::Long, |tool| tool.traits().pace)
    }

    /// The verdict on a call: `{ok, #{<<"verdict">>, <<"rule">>}}`.
    pub fn explain(&self, settings: &[u8], call: &[u8]) -> Vec<u8> {
        answer(self.prepare(settings, call).and_then(|(host, call)| host.explain(call)))
    }

    /// The verdict on a custom tool, as [`Dispatcher::explain`].
    pub fn explain_own(&self, settings: &[u8], tool: &str, requires_permission: bool) -> Vec<u8> {
        answer(self.hosts.get_or_make(settings).map(|host| host.explain_own(tool, requires_permission)))
    }

    /// Judges a custom tool. `Some(None)` allows it, `Some(Some(reply))` asks or denies; `None` means that the settings
    /// must be [pinned](Self::pin) first.
    pub fn judge(&self, settings: &[u8], tool: &str, requires_permission: bool) -> Option<Option<Vec<u8>>> {
        let host = self.hosts.get(settings)?;
        Some(match host.judge(tool, requires_permission) {
            Ok(None) => None,
            Ok(Some(request)) => Some(reply::ask(&request)),
            Err(error) => Some(reply::error(&error)),
        })
    }

    /// Prepares settings for calls; an error is returned encoded.
    pub fn pin(&self, settings: &[u8]) -> Option<Vec<u8>> {
        self.hosts.get_or_make(settings).err().map(|error| reply::error(&error))
    }

    fn prepare(&self, settings: &[u8], call: &[u8]) -> Result<(Arc<Host>, CallRequest)> {
        let host = self.hosts.get_or_make(settings)?;
        Ok((host, parse_call(call)?))
    }
}

/// An encoded outcome; `None` to run the call elsewhere.
fn reply_to(outcome: CallOutcome) -> Option<Vec<u8>> {
    match outcome {
        CallOutcome::Ok(value, state) => Some(reply::done(&value, state.as_ref())),
        CallOutcome::Question(questions) => Some(reply::question(&questions)),
        CallOutcome::Delegate(delegation) => Some(reply::delegate(&delegation)),
        CallOutcome::Consult(consultation) => Some(reply::consult(&consultation)),
        CallOutcome::Error(error) => Some(reply::error(&error)),
        CallOutcome::Ask(request) => Some(reply::ask(&request)),
        CallOutcome::Defer => None,
    }
}

/// A call from its binary.
///
/// # Errors
/// `invalid_argument` if it is not one.
pub fn parse_call(call: &[u8]) -> Result<CallRequest> {
    let wrong =
        |why: String| ToolError::new(Reason::InvalidArgument, format!("the call is not valid: {why}"));
    let members = decode_members(call).map_err(|error| wrong(error.to_string()))?;
    CallRequest::deserialize(MapDeserializer::new(members.into_iter()))
        .map_err(|error: serde_json::Error| wrong(error.to_string()))
}

/// The tools of a dialect: `{ok, [Listing]}`.
pub fn tools(dialect: &str) -> Vec<u8> {
    let list = |registry: &beamai_tool::ToolRegistry| registry.iter().map(|tool| listing(&**tool)).collect();
    answer(catalogue::dialect(dialect).map(list))
}

/// Identity of a directory: `{ok, #{<<"path">>, <<"device">>, <<"inode">>, <<"alias">>}}`, the last only if links are
/// on the path.
pub fn workspace(path: &Path) -> Vec<u8> {
    answer(Workspace::open(path).map(|workspace| json!(workspace.named())))
}

/// Whether a directory is a workspace only where the host names it: `{ok, <<"the home directory">>}`, or `{ok, null}`.
pub fn too_wide(path: &Path) -> Vec<u8> {
    answer(Workspace::open(path).map(|workspace| json!(beamai_engine::too_wide(&workspace.named()))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaRequest {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
    /// Used instead of parameters that cannot express it.
    #[serde(default)]
    input_schema: Option<Map<String, Value>>,
    provider: Provider,
    #[serde(default)]
    strict: bool,
    /// Whether it is a tool of the catalogue, whose parameters are shortened for models.
    #[serde(default)]
    built_in: bool,
    /// What the request's tools before this one have used of the provider's strict mode.
    #[serde(default)]
    used: StrictUse,
}

/// A tool in a provider's format: `{ok, #{<<"schema">>, <<"json">>, <<"arguments">>, <<"strict">>, <<"used">>}}`.
/// `arguments` is the schema of the arguments as JSON text, because maps do not keep the order of its properties. Pass
/// `used` with the next tool of the same request.
pub fn schema(request: &[u8]) -> Vec<u8> {
    answer(try_schema(request))
}

/// Where providers have the schema of a tool's arguments.
const ARGUMENTS: [&str; 5] =
    ["/function/parameters", "/parameters", "/input_schema", "/inputSchema", "/parametersJsonSchema"];

fn try_schema(request: &[u8]) -> Result<Value> {
    let wrong =
        |why: String| ToolError::new(Reason::InvalidArgument, format!("the tool cannot be described: {why}"));
    let value = crate::decode(request).map_err(|error| wrong(error.to_string()))?;
    let request: SchemaRequest = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    let SchemaRequest { name, description, parameters, input_schema, provider, strict, built_in, mut used } =
        request;
    let parameters = if built_in { schema::for_model(&parameters) } else { parameters };
    let rendered = match input_schema {
        None => used.render(provider, &name, &description, &parameters, strict),
        Some(schema) => schema::render_any(provider, &name, &description, &schema),
    };
    let arguments = ARGUMENTS.iter().find_map(|place| rendered.schema.pointer(place)).map(Value::to_string);
    Ok(json!({
        "json": rendered.schema.to_string(),
        "arguments": arguments,
        "schema": rendered.schema,
        "strict": rendered.strict,
        "used": used,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DisplayRequest {
    tool: String,
    args: Map<String, Value>,
    result: Option<Value>,
    error: Option<Value>,
}

/// A result, or an error, for people: `{ok, #{<<"summary">>, <<"body">>, <<"text">>}}`, the last with colours.
pub fn display(request: &[u8]) -> Vec<u8> {
    answer(try_display(request))
}

fn try_display(request: &[u8]) -> Result<Value> {
    let wrong =
        |why: String| ToolError::new(Reason::InvalidArgument, format!("the result cannot be shown: {why}"));
    let value = crate::decode(request).map_err(|error| wrong(error.to_string()))?;
    let request: DisplayRequest = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    let DisplayRequest { tool, args, result, error } = request;
    let display = match error {
        Some(error) => Display::of_error(&tool, &args, &error),
        None => Display::of_result(&tool, &args, &result.unwrap_or_default()),
    };
    Ok(json!({"summary": display.summary, "body": display.body, "text": display.text(true)}))
}

fn answer(result: Result<Value>) -> Vec<u8> {
    match result {
        Ok(value) => reply::ok(&value),
        Err(error) => reply::error(&error),
    }
}
