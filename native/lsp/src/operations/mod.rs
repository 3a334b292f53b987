//! Operations on language servers.

mod answer;
mod diagnose;
mod locations;
mod opened;

pub(super) use diagnose::diagnose;

use crate::Unavailable;
use beamai_base::{Result, ToolError};
use beamai_port_tools::lsp::{Lsp, LspOperation, LspOutput};
use beamai_tool::CallContext;
use opened::{ServedFile, TextPosition};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Maximum wait for a server to finish its work before a request is sent anyway.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time reserved for the answer when a wait is given up.
const RESERVE: Duration = Duration::from_secs(1);
/// Maximum number of results in an answer.
const MOST: usize = 500;
/// Error code of a server for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

/// Runs the operation.
pub(super) fn ask(lsp: &Lsp, cx: &CallContext) -> Result<LspOutput> {
    let check = |file: &str, text: &_| lsp.position()?.map(|at| TextPosition::of(file, text, at)).transpose();
    let (opened, point) = match ServedFile::open(cx, &lsp.path, check)? {
        Ok(opened) => opened,
        Err(Unavailable(why, hint)) => {
            let configure = hint.map(|hint| hint.in_terms(cx.services.host_terms()));
            return Ok(LspOutput { configure, ..unavailable(lsp.operation, why) });
        }
    };
    if !opened.can.has(capability(lsp.operation)) {
        return Ok(not_offered(lsp.operation, &opened));
    }
    match answer::answer(lsp, &opened, point) {
        Err(error) if is_unknown_method(&error) => Ok(not_offered(lsp.operation, &opened)),
        other => other,
    }
}

/// The server capability that an operation needs.
fn capability(operation: LspOperation) -> &'static str {
    match operation {
        LspOperation::GoToDefinition => "definitionProvider",
        LspOperation::FindReferences => "referencesProvider",
        LspOperation::Hover => "hoverProvider",
        LspOperation::DocumentSymbol => "documentSymbolProvider",
        LspOperation::WorkspaceSymbol => "workspaceSymbolProvider",
        LspOperation::GoToImplementation => "implementationProvider",
        LspOperation::PrepareCallHierarchy | LspOperation::IncomingCalls | LspOperation::OutgoingCalls => {
            "callHierarchyProvider"
        }
    }
}

/// How long a call waits for a server to finish its work.
fn patience(cx: &CallContext) -> Instant {
    let longest = cx.remaining().map_or(PATIENCE, |left| left.saturating_sub(RESERVE).min(PATIENCE));
    Instant::now() + longest
}

fn is_unknown_method(error: &ToolError) -> bool {
    error.details.get("code").and_then(Value::as_i64) == Some(METHOD_NOT_FOUND)
}

/// An empty answer of that server.
fn empty(operation: LspOperation, server: String) -> LspOutput {
    LspOutput { available: true, server: Some(server), ..unavailable(operation, None) }
}

fn not_offered(operation: LspOperation, opened: &ServedFile<'_>) -> LspOutput {
    let name = serde_json::to_value(operation).unwrap_or_default();
    let server = opened.server.name();
    let Unavailable(why, _) = Unavailable::new(format!("The language server {server} does not offer {name}"));
    LspOutput { server: Some(server), ..unavailable(operation, why) }
}

fn unavailable(operation: LspOperation, message: impl Into<Option<String>>) -> LspOutput {
    LspOutput {
        operation,
        available: false,
        server: None,
        message: message.into(),
        configure: None,
        locations: None,
        contents: None,
        symbols: None,
        items: None,
        calls: None,
        total: 0,
        truncated: false,
    }
}
