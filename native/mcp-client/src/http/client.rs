//! HTTP requests, and the meaning of their responses.

use super::answer;
use super::failure::HttpFailure;
use super::remote::RemoteServer;
use super::stream::{self, EventStream};
use crate::diagnostics::ConversationDiagnostics;
use crate::secrets::Secrets;
use beamai_base::{Reason, ToolError};
use beamai_net::{Deadline, HttpExchange, OutgoingRequest, advice};
use hyper::http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Maximum number of redirects in a row.
const MOST_REDIRECTS: usize = 5;
/// Timeout for deleting a session.
const SHUTDOWN: Duration = Duration::from_millis(1_500);
/// Timeout for detecting the transport of 2024.
const LOOK: Duration = Duration::from_secs(5);

const BOTH_TYPES: &str = "application/json, text/event-stream";

type Headers = HashMap<HeaderName, HeaderValue>;
type Refusal = StreamableHttpError<HttpFailure>;

/// Sends requests to one server.
#[derive(Clone)]
pub(super) struct HttpClient(Arc<HttpClientInner>);

struct HttpClientInner {
    remote: RemoteServer,
    connecting: Duration,
    diagnostics: Arc<ConversationDiagnostics>,
}

/// Headers of a request besides those of the host.
struct ExtraHeaders<'a>(Vec<(&'a str, &'a str)>);

impl<'a> ExtraHeaders<'a> {
    fn of(headers: &'a Headers, own: &[(&'a str, Option<&'a str>)]) -> Result<Self, HttpFailure> {
        let mut all = Vec::new();
        for (name, value) in headers {
            let text = value.to_str().map_err(|_| {
                HttpFailure::answer(format!("the header {name} cannot be sent: its value is not plain text"))
            })?;
            all.push((name.as_str(), text));
        }
        all.extend(own.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
        Ok(Self(all))
    }
}

impl HttpClient {
    pub(super) fn new(
        remote: RemoteServer,
        connecting: Duration,
        diagnostics: Arc<ConversationDiagnostics>,
    ) -> Self {
        Self(Arc::new(HttpClientInner { remote, connecting, diagnostics }))
    }

    /// Sends a request, and follows redirects within the same server.
    async fn ask(
        &self,
        method: &str,
        sent: &ExtraHeaders<'_>,
        body: Option<&[u8]>,
    ) -> Result<HttpExchange, HttpFailure> {
        let mut url = self.0.remote.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let exchange = self.ask_at(&url, method, sent, body).await?;
            match redirect(&exchange, &url, method, &self.0.remote.secrets) {
                None => return Ok(exchange),
                Some(to) => url = to?,
            }
        }
        Err(HttpFailure::answer(format!("it redirects more than {MOST_REDIRECTS} times")))
    }

    async fn ask_at(
        &self,
        url: &Url,
        method: &str,
        sent: &ExtraHeaders<'_>,
        body: Option<&[u8]>,
    ) -> Result<HttpExchange, HttpFailure> {
        let HttpClientInner { remote, connecting, .. } = &*self.0;
        let own = remote.headers.iter().map(|(name, value)| (&**name, &**value));
        let headers = own.chain(sent.0.iter().copied()).collect();
        let request = OutgoingRequest { url, method, headers, body, verify_tls: true, encodings: "identity" };
        let (connecting, answering) =
            (Deadline::lasting(*connecting, &advice::MCP), Deadline::endless(&advice::MCP));
        let exchange = remote.transport.exchange_at_length(&request, &connecting, &answering).await;
        exchange.map_err(HttpFailure)
    }

    /// A failure without secrets, which the server may have repeated.
    fn hidden(&self, refusal: Refusal) -> Refusal {
        match refusal {
            StreamableHttpError::Client(HttpFailure(error)) => {
                HttpFailure(self.0.remote.secrets.hide_in(error)).into()
            }
            other => other,
        }
    }

    async fn post(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: &Headers,
    ) -> Result<StreamableHttpPostResponse, Refusal> {
        let body = serde_json::to_vec(message)?;
        let own = [
            ("accept", Some(BOTH_TYPES)),
            ("content-type", Some("application/json")),
            ("mcp-session-id", session),
        ];
        let exchange = self.ask("POST", &ExtraHeaders::of(headers, &own)?, Some(&body)).await?;
        match exchange.status {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if session.is_some() => Err(self.session_lost(message)),
            200..=299 => Ok(answer::taken(exchange, message, &self.0.diagnostics).await?),
            _ => self.refused(exchange, message, session.is_some()).await,
        }
    }

    /// The server does not know the session: a new one must be started.
    fn session_lost(&self, message: &ClientJsonRpcMessage) -> Refusal {
        if answer::id_of(message).is_some() {
            self.0.diagnostics.renew();
        }
        StreamableHttpError::SessionExpired
    }

    /// Handles the rejection of a message.
    async fn refused(
        &self,
        exchange: HttpExchange,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Refusal> {
        let status = exchange.status;
        if matches!(status, 401 | 403) {
            return Err(answer::access_denied(&exchange, &self.0.remote).into());
        }
        let retry_after = exchange.header("retry-after");
        let body = answer::error_body(exchange).await;
        if let Some((error, of_this)) = answer::protocol_error(&body.bytes, message)
            && (of_this || !has_session)
        {
            return Ok(StreamableHttpPostResponse::Json(error, None));
        }
        if has_session && status == 400 && answer::is_about_session(&body.bytes) {
            return Err(self.session_lost(message));
        }
        if answer::is_first(message) && (400..500).contains(&status) && self.is_sse_transport().await {
            return Err(answer::sse_transport().into());
        }
        let failure = answer::status(status, retry_after.as_deref(), &body, &self.0.remote.secrets);
        if has_session && answer::id_of(message).is_some() && !matches!(status, 408 | 429 | 500..) {
            // A new conversation may succeed, whatever became of this session.
            self.0.diagnostics.give_up(&failure.to_string());
        }
        Err(failure.into())
    }

    /// Whether a server uses the transport of 2024: an event stream that begins with the URL for messages.
    async fn is_sse_transport(&self) -> bool {
        let look = async {
            let sent = ExtraHeaders(vec![("accept", "text/event-stream")]);
            let exchange = self.ask("GET", &sent, None).await.ok()?;
            if exchange.status != 200 || answer::media_type(&exchange) != "text/event-stream" {
                return None;
            }
            stream::first_event(exchange, &self.0.diagnostics).await
        };
        let first = tokio::time::timeout(LOOK, look).await;
        first.is_ok_and(|event| event.is_some_and(|event| event.event.as_deref() == Some("endpoint")))
    }

    async fn get(
        &self,
        session: Option<&str>,
        last_event: Option<&str>,
        headers: &Headers,
    ) -> Result<EventStream, Refusal> {
        let own = [
            ("accept", Some("text/event-stream")),
            ("mcp-session-id", session),
            ("last-event-id", last_event),
        ];
        let exchange = self.ask("GET", &ExtraHeaders::of(headers, &own)?, None).await?;
        match exchange.status {
            200 if answer::media_type(&exchange) == "text/event-stream" => {
                Ok(stream::events(exchange, &self.0.diagnostics)?)
            }
            status @ 500.. => Err(HttpFailure::answer(format!("it responded with HTTP {status}")).into()),
            // A retry would not help.
            status => {
                if last_event.is_some() {
                    self.0
                        .diagnostics
                        .note_trouble(&format!("it does not resume the stream (HTTP {status})"));
                }
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
        }
    }
}

/// The target of a redirect. Credentials of a request must reach one server only, and a POST must stay a POST.
fn redirect(
    exchange: &HttpExchange,
    from: &Url,
    method: &str,
    secrets: &Secrets,
) -> Option<Result<Url, HttpFailure>> {
    let status = exchange.status;
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = exchange.header("location");
    let to = location.as_ref().and_then(|location| from.join(location).ok());
    let (Some(location), Some(to)) = (location, to) else {
        return Some(Err(HttpFailure::answer(format!(
            "it redirects (HTTP {status}) and does not say where to"
        ))));
    };
    let is_same = to.origin() == from.origin() && (matches!(status, 307 | 308) || method == "GET");
    Some(match is_same {
        true => Ok(to),
        false => Err(other_server(status, &target(&location, from, secrets))),
    })
}

/// The target of a redirect without secrets. Within a URL, they may be written in another way.
fn target(location: &str, from: &Url, secrets: &Secrets) -> String {
    let hidden = secrets.hide(location);
    from.join(&hidden).map_or(hidden, String::from)
}

fn other_server(status: u16, to: &str) -> HttpFailure {
    let message = format!(
        "it redirects to {to} (HTTP {status}), which is not followed; give that as url if it is the server that you mean"
    );
    HttpFailure(ToolError::new(Reason::McpServer, message).with("location", to))
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Refusal> {
        self.post(&message, session_id.as_deref(), &headers).await.map_err(|refusal| self.hidden(refusal))
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<EventStream, Refusal> {
        let got = self.get(session_id.as_deref(), last_event_id.as_deref(), &headers).await;
        if let (Err(StreamableHttpError::Client(failure)), Some(_)) = (&got, &last_event_id) {
            self.0.diagnostics.note_trouble(&failure.to_string());
        }
        got.map_err(|refusal| self.hidden(refusal))
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), Refusal> {
        let own = [("mcp-session-id", Some(&*session_id))];
        let sent = ExtraHeaders::of(&headers, &own)?;
        // A server may refuse to delete sessions, or be gone; nothing can be done then.
        _ = tokio::time::timeout(SHUTDOWN, self.ask("DELETE", &sent, None)).await;
        Ok(())
    }
}
