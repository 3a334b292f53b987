//! The server's response to a message.

use super::failure::HttpFailure;
use super::remote::RemoteServer;
use super::stream;
use crate::diagnostics::{ConversationDiagnostics, LONGEST};
use crate::secrets::Secrets;
use beamai_base::json::parse_bounded;
use beamai_base::{HostHint, Reason, ToolError};
use beamai_net::{BodyEnd, Deadline, HttpExchange, ReceivedBody, advice};
use hyper::http::StatusCode;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::StreamableHttpPostResponse;
use std::sync::Arc;
use std::time::Duration;

/// Maximum size of an error body, in bytes.
const LONGEST_ERROR: usize = 64 << 10;
/// Timeout for reading an error body.
const ERROR_TIME: Duration = Duration::from_secs(10);

/// The media type of a response, without parameters.
pub(super) fn media_type(exchange: &HttpExchange) -> String {
    without_parameters(&exchange.header("content-type").unwrap_or_default())
}

fn without_parameters(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The id of a message that needs a response.
pub(super) fn id_of(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

/// Whether a message starts a conversation.
pub(super) fn is_first(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

/// Interprets the response to a message that the server has accepted.
pub(super) async fn taken(
    exchange: HttpExchange,
    message: &ClientJsonRpcMessage,
    diagnostics: &Arc<ConversationDiagnostics>,
) -> Result<StreamableHttpPostResponse, HttpFailure> {
    let Some(id) = id_of(message) else { return Ok(StreamableHttpPostResponse::Accepted) };
    let (session, secrets) = (exchange.header("mcp-session-id"), &diagnostics.secrets);
    match media_type(&exchange).as_str() {
        "text/event-stream" => {
            Ok(StreamableHttpPostResponse::Sse(stream::events(exchange, diagnostics)?, session))
        }
        "application/json" => {
            Ok(StreamableHttpPostResponse::Json(read(exchange, id, secrets).await?, session))
        }
        _ => Err(other_type(&exchange, secrets)),
    }
}

fn other_type(exchange: &HttpExchange, secrets: &Secrets) -> HttpFailure {
    // A secret in lower case could not be recognised.
    let kind = secrets.excerpt(exchange.header("content-type").unwrap_or_default().as_bytes());
    HttpFailure::answer(format!(
        "it responded with the content type {:?}, which is neither JSON nor an event stream; is this the address of an \
         MCP server?",
        without_parameters(&kind)
    ))
}

async fn read(
    exchange: HttpExchange,
    id: &RequestId,
    secrets: &Secrets,
) -> Result<ServerJsonRpcMessage, HttpFailure> {
    let body = exchange.receive(LONGEST, &Deadline::endless(&advice::MCP)).await.map_err(HttpFailure)?;
    match body.end {
        BodyEnd::Complete => {}
        BodyEnd::Capped => {
            return Err(HttpFailure::answer(format!("it sent a message of more than {LONGEST} bytes")));
        }
        BodyEnd::TimedOut => return Err(HttpFailure::answer("its response did not end in time")),
        BodyEnd::Broken(why) => {
            return Err(HttpFailure::answer(format!("its response broke off: {why}")));
        }
    }
    let message = parse_bounded(&body.bytes).map_err(|error| {
        HttpFailure::answer(format!(
            "it responded with something that is not a message: {error}: {:?}",
            secrets.excerpt(&body.bytes)
        ))
    })?;
    match &message {
        JsonRpcMessage::Response(response) if is_same(&response.id, id) => Ok(message),
        JsonRpcMessage::Error(error) if error.id.as_ref().is_none_or(|of| is_same(of, id)) => {
            Ok(ServerJsonRpcMessage::error(error.error.clone(), Some(id.clone())))
        }
        _ => Err(HttpFailure::answer(format!(
            "it responded with another message: {:?}",
            secrets.excerpt(&body.bytes)
        ))),
    }
}

/// Some servers send numeric ids as strings.
fn is_same(one: &RequestId, other: &RequestId) -> bool {
    one.to_string() == other.to_string()
}

/// The body of an error response, cut to a limit.
pub(super) async fn error_body(exchange: HttpExchange) -> ReceivedBody {
    let deadline = Deadline::lasting(ERROR_TIME, &advice::MCP);
    let none = |_| ReceivedBody { bytes: Vec::new(), end: BodyEnd::Complete };
    exchange.receive(LONGEST_ERROR, &deadline).await.unwrap_or_else(none)
}

/// The JSON-RPC error in a body, as a response to the message; and whether the body itself claims to be one.
pub(super) fn protocol_error(
    body: &[u8],
    message: &ClientJsonRpcMessage,
) -> Option<(ServerJsonRpcMessage, bool)> {
    let id = id_of(message)?;
    let JsonRpcMessage::Error(error) = parse_bounded::<ServerJsonRpcMessage>(body).ok()? else {
        return None;
    };
    let is_of_this = error.id.as_ref().is_some_and(|of| is_same(of, id));
    Some((ServerJsonRpcMessage::error(error.error, Some(id.clone())), is_of_this))
}

/// Whether an error is about the session rather than the message. Servers derived from a widespread example report it
/// with this text and status 400, not 404.
pub(super) fn is_about_session(body: &[u8]) -> bool {
    memchr::memmem::find(&body.to_ascii_lowercase(), b"session id").is_some()
}

/// The server denies access.
pub(super) fn access_denied(exchange: &HttpExchange, remote: &RemoteServer) -> HttpFailure {
    let status = exchange.status;
    let asked = exchange.header("www-authenticate").map(|text| remote.secrets.excerpt(text.as_bytes()));
    let wants = asked.as_ref().map(|asked| format!(" ({asked})")).unwrap_or_default();
    let message = match (status, remote.has_credentials()) {
        (401, false) => format!("it requires authentication (HTTP 401){wants}"),
        (401, true) => format!(
            "it rejects the authorization in headers (HTTP 401){wants}; it may have expired, or be for another server"
        ),
        _ => format!(
            "it does not permit this (HTTP {status}){wants}; see what the credentials in headers may do"
        ),
    };
    let mut error = ToolError::new(Reason::McpServer, message).with("status_code", status);
    if (status, remote.has_credentials()) == (401, false) {
        let give = "Give headers, such as #{<<\"authorization\">> => <<\"Bearer …\">>}";
        error = error.hint(HostHint::new(give, give));
    }
    HttpFailure(match asked {
        Some(asked) => error.with("www_authenticate", asked),
        None => error,
    })
}

/// The server supports only the obsolete transport.
pub(super) fn sse_transport() -> HttpFailure {
    HttpFailure::answer(
        "it uses the transport HTTP+SSE of revision 2024-11-05, which is not supported; ask for the server's address for \
         Streamable HTTP, which often ends in /mcp in place of /sse",
    )
}

/// The server responds with an error status, and perhaps a body.
pub(super) fn status(
    status: u16,
    retry_after: Option<&str>,
    body: &ReceivedBody,
    secrets: &Secrets,
) -> HttpFailure {
    let name = StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason()).unwrap_or("");
    let said = match body.end {
        BodyEnd::Complete => secrets.excerpt(&body.bytes),
        _ => secrets.excerpt_of_beginning(&body.bytes),
    };
    let text = match said {
        text if text.is_empty() => String::new(),
        text => format!(": {text}"),
    };
    let advice = match (status, retry_after) {
        (404, _) => "; check the path of the url, which is often /mcp".to_owned(),
        (_, Some(after)) => {
            format!("; it says to try again after {}", secrets.excerpt(after.as_bytes()))
        }
        _ => String::new(),
    };
    let message = format!("it responded with HTTP {status} {name}{text}{advice}");
    HttpFailure(ToolError::new(Reason::McpServer, message).with("status_code", status))
}
