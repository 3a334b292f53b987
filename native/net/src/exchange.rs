//! Sends one request and reads the head of its response.

use super::{BoxFuture, Deadline, Transport, failure};
use beamai_base::{Result, ToolError};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use hyper::http::{Request as HttpRequest, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use url::{Position, Url};

/// The `Accept` header: prefers text formats.
const ACCEPTED: &str =
    "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.7";
/// Maximum size of a response head.
const HEAD_BYTES: usize = 256 << 10;
/// Maximum number of response headers.
const HEADERS: usize = 512;

/// A request for one connection.
pub struct OutgoingRequest<'a> {
    /// The URL.
    pub url: &'a Url,
    /// The method.
    pub method: &'a str,
    /// The headers; names in lower case.
    pub headers: Vec<(&'a str, &'a str)>,
    /// The body.
    pub body: Option<&'a [u8]>,
    /// Whether the server's certificate must be valid.
    pub verify_tls: bool,
    /// The `Accept-Encoding` header; empty for `identity`.
    pub encodings: &'static str,
}

impl OutgoingRequest<'_> {
    /// All supported encodings.
    pub const ENCODINGS: &'static str = "gzip, deflate, br";
}

/// A response whose body has not been read.
#[derive(Debug)]
pub struct HttpExchange {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    pub(super) body: Incoming,
    connection: JoinHandle<()>,
}

impl Drop for HttpExchange {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl HttpExchange {
    /// A header as text; bytes beyond ASCII are read as Latin-1, as in browsers.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).map(text_of)
    }
}

/// A header value as text.
pub fn text_of(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().map(|&byte| char::from(byte)).collect(),
    }
}

impl Transport {
    /// Sends a request and waits for the response head.
    ///
    /// # Errors
    /// `denied`, `network`, `timeout`.
    pub fn exchange<'a>(
        &'a self,
        request: &'a OutgoingRequest<'_>,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<HttpExchange>> {
        self.exchange_at_length(request, deadline, deadline)
    }

    /// As [`Transport::exchange`], with separate deadlines for the connection and for the response.
    ///
    /// # Errors
    /// `denied`, `network`, `timeout`.
    pub fn exchange_at_length<'a>(
        &'a self,
        request: &'a OutgoingRequest<'_>,
        connecting: &'a Deadline,
        answering: &'a Deadline,
    ) -> BoxFuture<'a, Result<HttpExchange>> {
        Box::pin(async move {
            self.guard.admit(request.url)?;
            let message = self.message(request)?;
            let stream = self.connect(request.url, connecting).await?;
            _ = stream.set_nodelay(true);
            let stream: Box<dyn Stream> = match request.url.scheme() {
                "https" => Box::new(self.encrypt(request.url, stream, request.verify_tls, connecting).await?),
                _ => Box::new(stream),
            };
            ask(stream, message, request.url, answering).await
        })
    }

    fn message(&self, request: &OutgoingRequest<'_>) -> Result<HttpRequest<Full<Bytes>>> {
        let body = Full::new(Bytes::copy_from_slice(request.body.unwrap_or_default()));
        let path = &request.url[Position::BeforePath..Position::AfterQuery];
        let mut message =
            HttpRequest::builder().method(request.method).uri(path).body(body).map_err(|error| {
                failure("protocol", format!("{} cannot be asked for: {error}", request.url))
            })?;
        let headers = message.headers_mut();
        headers.insert(HOST, value(&HOST, &host(request.url))?);
        headers.insert(USER_AGENT, value(&USER_AGENT, &self.user_agent)?);
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        for (name, text) in &request.headers {
            let known = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| failure("protocol", format!("{name:?} cannot be the name of a header")))?;
            let text = value(&known, text)?;
            headers.insert(known, text);
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(request.encodings));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        Ok(message)
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The value of a header. It may be a secret, so the error does not show it.
fn value(name: &HeaderName, text: &str) -> Result<HeaderValue> {
    let unsendable = |_| {
        failure("protocol", format!("the value of the header {name} has characters that no header may have"))
    };
    HeaderValue::from_bytes(text.as_bytes()).map_err(unsendable)
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

async fn ask(
    stream: Box<dyn Stream>,
    message: HttpRequest<Full<Bytes>>,
    url: &Url,
    deadline: &Deadline,
) -> Result<HttpExchange> {
    let broken = |error: hyper::Error| no_answer(url, &error);
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    // The connection runs in a task of its own; its errors also reach the exchange.
    let connection = tokio::spawn(async move { _ = connection.await });
    let answer = deadline.within("waiting for the answer", sender.send_request(message)).await;
    let answer: Response<Incoming> = match answer {
        Ok(Ok(answer)) => answer,
        failed => {
            connection.abort();
            return failed?.map_err(broken).map(|_| unreachable!("handled above"));
        }
    };
    let (head, body) = answer.into_parts();
    Ok(HttpExchange { status: head.status.as_u16(), headers: head.headers, body, connection })
}

fn no_answer(url: &Url, error: &hyper::Error) -> ToolError {
    let host = host(url);
    let why = match (error.is_incomplete_message(), error.is_parse()) {
        (true, _) => "the server closed the connection without an answer".to_owned(),
        (_, true) => format!("what it sent is not an answer of HTTP: {error}"),
        _ => chain(error),
    };
    failure("protocol", format!("no answer from {host}: {why}"))
}

/// The message of an error, followed by those of its sources.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
