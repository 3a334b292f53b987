//! The MCP server over HTTP, for clients on this machine.

use crate::connections::{ConnectionLimit, ConnectionSlot};
use crate::http_sessions::HttpSessions;
use crate::open_messages::OpenMessages;
use crate::server::{ConnectionServer, SharedState};
use beamai_base::json::count_values;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::BoxBody};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use std::borrow::Cow;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The path of the endpoint.
const PATH: &str = "/mcp";
/// Maximum number of connections. Beyond it, the one that has been idle longest is closed.
const MOST_CONNECTIONS: usize = 512;
/// Maximum number of sessions. Beyond it, the one that has been idle longest ends.
const MOST_SESSIONS: usize = 256;
/// The header that names a session.
const SESSION: &str = "mcp-session-id";
/// Maximum size of a request.
const MOST_BYTES: usize = 64 << 20;
/// Maximum size of a request that begins a session, which keeps what it says of the client.
const MOST_BYTES_TO_BEGIN: usize = 64 << 10;
/// Bodies up to this size are read at once, as many as there are connections.
const SMALL_BODY: usize = 1 << 20;
/// Maximum size of all larger bodies that are being read.
const MOST_BYTES_COMING: usize = 256 << 20;
/// Timeouts for the head and for the body of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Idle time after which a session ends.
const IDLE: Duration = Duration::from_secs(3600);

/// What answers requests, for all connections.
#[derive(Clone)]
struct Service {
    shared: Arc<SharedState>,
    mcp: StreamableHttpService<ConnectionServer, LocalSessionManager>,
    sessions: Arc<HttpSessions>,
    messages: OpenMessages,
    /// Bytes of large bodies that may still come, in KiB.
    coming: Arc<Semaphore>,
}

/// An address to listen on that other machines cannot reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopbackAddress(SocketAddr);

impl FromStr for LoopbackAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address: SocketAddr = text.parse().map_err(|_| {
            format!("{text:?} is not an address; write ADDR:PORT, such as 127.0.0.1:8765 or [::1]:0")
        })?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "{address} can be reached from elsewhere, and there is no authentication: listen on 127.0.0.1 or [::1], \
                 and put a proxy in front of it that asks who is there"
            ));
        }
        Ok(Self(address))
    }
}

/// Serves until the program is told to exit.
pub(crate) async fn serve(
    shared: &Arc<SharedState>,
    LoopbackAddress(address): LoopbackAddress,
    tell_url: impl FnOnce(&str),
    is_told_to_end: impl Future<Output = ()>,
) -> Result<(), String> {
    let cannot = |error| format!("cannot listen on {address}: {error}");
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let config = config(bound);
    let ending = config.cancellation_token.clone();
    let service = service(shared, config);
    tell_url(&format!("http://{bound}{PATH}"));
    tokio::select! {
        () = accept(&listener, &service) => {}
        () = is_told_to_end => {}
    }
    ending.cancel();
    Ok(())
}

fn config(bound: SocketAddr) -> StreamableHttpServerConfig {
    let own = bound.ip().to_string();
    let hosts = ["localhost", "127.0.0.1", "::1", &own];
    // Only pages of this server could send these origins. It has none, so requests from web pages are refused.
    let origins = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()]
        .map(|host| format!("http://{host}:{}", bound.port()));
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .with_max_request_body_bytes(MOST_BYTES)
}

fn service(shared: &Arc<SharedState>, config: StreamableHttpServerConfig) -> Service {
    let mut manager = LocalSessionManager::default();
    manager.session_config.keep_alive = Some(IDLE);
    let manager = Arc::new(manager);
    let sessions = HttpSessions::new(MOST_SESSIONS, &manager);
    let (of_server, common) = (Arc::clone(shared), shared.sessions.begin_shared());
    let server = move || Ok(ConnectionServer::of_request(&of_server, &common));
    let mcp = StreamableHttpService::new(server, manager, config);
    let coming = Arc::new(Semaphore::new(MOST_BYTES_COMING >> 10));
    Service { shared: Arc::clone(shared), mcp, sessions, messages: OpenMessages::new(), coming }
}

async fn accept(listener: &TcpListener, service: &Service) {
    let slots = ConnectionLimit::new(MOST_CONNECTIONS);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let slot = slots.take().await;
                tokio::spawn(converse(stream, service.clone(), slot));
            }
            // Too many open files, or the client has already disconnected.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn converse(stream: TcpStream, service: Service, slot: Arc<ConnectionSlot>) {
    let _taken = slot.taken();
    let own = Arc::clone(&slot);
    let answer = service_fn(move |request: Request<Incoming>| {
        let (service, slot) = (service.clone(), Arc::clone(&own));
        async move { Ok::<_, Infallible>(received(&service, &slot, request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    tokio::select! {
        // Connection errors are ignored.
        _ = http.serve_connection(TokioIo::new(stream), answer) => {}
        () = slot.called_up() => {}
    }
}

/// Whether there is at most one `Host`, and it has nothing but a host and a port (RFC 9112, section 3.2).
fn has_plain_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let is_plain = |text: &str| {
        text.parse::<Authority>().is_ok_and(|authority| match authority.port_u16() {
            Some(port) => text == format!("{}:{port}", authority.host()),
            None => text == authority.host(),
        })
    };
    hosts.next().is_none_or(|host| host.to_str().is_ok_and(is_plain)) && hosts.next().is_none()
}

/// Whether there is at most one `Origin`, as browsers send it (RFC 6454, section 7.3).
fn has_one_origin(headers: &HeaderMap) -> bool {
    headers.get_all(ORIGIN).iter().count() <= 1
}

/// Reads a whole request, then answers it. The connection keeps its slot while the answer is sent.
async fn received(
    service: &Service,
    slot: &Arc<ConnectionSlot>,
    request: Request<Incoming>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let (mut head, body) = request.into_parts();
    let target = head.uri.authority().map(Authority::as_str);
    if target.is_some_and(|target| head.headers.get(HOST).is_none_or(|host| host != target)) {
        return plain(
            StatusCode::BAD_REQUEST,
            "the target of a request and its Host are the same\n".to_owned(),
        );
    }
    if !has_plain_host(&head.headers) {
        return plain(
            StatusCode::BAD_REQUEST,
            "a request has one Host, a name or address and a port\n".to_owned(),
        );
    }
    if !has_one_origin(&head.headers) {
        return plain(StatusCode::BAD_REQUEST, "a request has at most one Origin\n".to_owned());
    }
    let (body, room) = match tokio::time::timeout(PATIENCE, whole(service, body)).await {
        Ok(Ok(whole)) => whole,
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            return plain(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("a request has at most {MOST_BYTES} bytes\n"),
            );
        }
        Ok(Err(error)) => return plain(StatusCode::BAD_REQUEST, format!("the request broke off: {error}\n")),
        Err(_) => {
            return plain(StatusCode::REQUEST_TIMEOUT, "the request took too long to come\n".to_owned());
        }
    };
    let is_beginning = begins_session(&body);
    let values = match count_values(&body) {
        Ok(_) if is_beginning && body.len() > MOST_BYTES_TO_BEGIN => {
            return plain(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("a request that begins a session has at most {MOST_BYTES_TO_BEGIN} bytes\n"),
            );
        }
        Ok(values) => values,
        Err(error) if error.is_data() => {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, format!("the message {error}\n"));
        }
        // The library answers other errors.
        Err(_) => 0,
    };
    match service.messages.take(values, body.len()) {
        // The library keeps it with the message.
        Ok(share) => _ = head.extensions.insert(share),
        Err(busy) => return plain(StatusCode::SERVICE_UNAVAILABLE, format!("{busy}\n")),
    }
    drop(room);
    let Some(serving) = slot.serving() else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "too many connections; try again\n".to_owned());
    };
    let response =
        answer_in_session(service, is_beginning, Request::from_parts(head, Full::from(body))).await;
    keep(response, serving)
}

/// Answers a request: one that begins a session if there is room for it, another one as a use of the session that it names.
async fn answer_in_session(
    service: &Service,
    is_beginning: bool,
    request: Request<Full<Bytes>>,
) -> Response<BoxBody<Bytes, Infallible>> {
    if let Some(id) = session_of(request.headers()) {
        let using = service.sessions.request(id);
        return keep(answer(service, request).await, using);
    }
    if !is_beginning {
        return answer(service, request).await;
    }
    let room = match service.sessions.room().await {
        Ok(room) => room,
        Err(full) => return plain(StatusCode::SERVICE_UNAVAILABLE, format!("{full}\n")),
    };
    let response = answer(service, request).await;
    if let Some(id) = session_of(response.headers()) {
        room.fill(id);
    }
    response
}

pub(crate) fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

/// Keeps something until the last byte of a response, which may be an endless stream.
fn keep<T: Send + Sync + 'static>(
    response: Response<BoxBody<Bytes, Infallible>>,
    kept: T,
) -> Response<BoxBody<Bytes, Infallible>> {
    response.map(|body| {
        let keep = move |frame| {
            let _: &T = &kept;
            frame
        };
        body.map_frame(keep).boxed()
    })
}

/// Reads a body. A large one waits until there is room for it.
async fn whole(
    service: &Service,
    body: Incoming,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Box<dyn std::error::Error + Send + Sync>> {
    // Of a body in chunks, nobody knows the size.
    let size =
        body.size_hint().exact().map_or(MOST_BYTES, |size| usize::try_from(size).unwrap_or(MOST_BYTES));
    let room = match u32::try_from(size.min(MOST_BYTES) >> 10) {
        Ok(kibibytes) if size > SMALL_BODY => {
            Some(Arc::clone(&service.coming).acquire_many_owned(kibibytes).await?)
        }
        _ => None,
    };
    Ok((Limited::new(body, MOST_BYTES).collect().await?.to_bytes(), room))
}

/// Whether a message may begin a session.
fn begins_session(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Named<'m> {
        #[serde(borrow)]
        method: Option<Cow<'m, str>>,
    }
    serde_json::from_slice(message)
        .map_or(true, |named: Named<'_>| named.method.as_deref() == Some("initialize"))
}

async fn answer(service: &Service, request: Request<Full<Bytes>>) -> Response<BoxBody<Bytes, Infallible>> {
    if request.uri().path() == PATH {
        let is_end = request.method() == Method::DELETE;
        let ended = session_of(request.headers()).filter(|_| is_end).map(str::to_owned);
        let mut response = service.mcp.handle(request).await;
        if let Some(id) = ended.filter(|_| response.status() == StatusCode::ACCEPTED) {
            *response.status_mut() = StatusCode::NO_CONTENT;
            // The library waits some seconds for calls that run before it drops the session.
            service.shared.sessions.stop(&id);
        }
        return response;
    }
    plain(StatusCode::NOT_FOUND, format!("there is nothing here; use {PATH}\n"))
}

fn plain(status: StatusCode, text: String) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_to() {
        for own in ["127.0.0.1:0", "127.9.9.9:80", "[::1]:8080"] {
            assert_eq!(own.parse::<LoopbackAddress>().unwrap().0.to_string(), own);
        }
        for other in ["0.0.0.0:80", "[::]:80", "192.168.0.1:80", "8080", "localhost:80", "127.0.0.1"] {
            assert!(other.parse::<LoopbackAddress>().is_err(), "{other}");
        }
    }
}
