//! HTTP: `CONNECT` tunnels, requests for absolute URLs, and requests within a tunnel.

use super::proxy::Place;
use super::tunnel;
use super::upstream::{ConnectError, Upstream};
use beamai_base::{Destination, Secret};
use beamai_isolation::{CredentialHeader, HOP_BY_HOP};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

const HTTP: u16 = 80;
const HTTPS: u16 = 443;

type Body = Either<Incoming, Full<Bytes>>;

/// A tunnel with HTTP requests in it.
#[derive(Clone)]
pub(super) struct HttpTunnel {
    /// Where it leads.
    pub(super) to: Destination,
    /// Whether the requests came by TLS.
    pub(super) is_encrypted: bool,
}

impl HttpTunnel {
    /// The port that a request need not name.
    fn default_port(&self) -> u16 {
        if self.is_encrypted { HTTPS } else { HTTP }
    }
}

/// Where requests come from.
#[derive(Clone)]
pub(super) enum HttpClient {
    /// From a program directly. A tunnel that it opens keeps the connection's permits.
    Program(Place),
    /// From a program through a tunnel.
    Tunnel(HttpTunnel),
}

impl HttpClient {
    fn tunnel(&self) -> Option<&HttpTunnel> {
        match self {
            Self::Program(_) => None,
            Self::Tunnel(tunnel) => Some(tunnel),
        }
    }
}

/// Serves HTTP on a stream.
pub(super) async fn serve<S>(stream: S, upstream: Arc<Upstream>, client: HttpClient)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        let (upstream, client) = (Arc::clone(&upstream), client.clone());
        async move { Ok::<_, Infallible>(answer(request, upstream, client).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let (Err(error), Some(within)) = (connection.await, client.tunnel())
        && error.is_parse()
    {
        _ = upstream.refuse(
            &within.to.to_string(),
            "what was sent is neither TLS nor HTTP/1, and nothing else passes",
        );
    }
}

async fn answer(request: Request<Incoming>, upstream: Arc<Upstream>, client: HttpClient) -> Response<Body> {
    let asked = request.uri().to_string();
    let answered = match (request.method() == Method::CONNECT, client) {
        (true, HttpClient::Program(place)) => connect(request, &upstream, place).await,
        (true, HttpClient::Tunnel(HttpTunnel { to, .. })) => {
            Err(upstream.refuse(&asked, &format!("a tunnel through {to} to somewhere else is refused")))
        }
        (false, client) => match target(&request, client.tunnel()) {
            Ok(to) => {
                let is_encrypted = client.tunnel().is_some_and(|within| within.is_encrypted);
                forward(request, HttpTunnel { to, is_encrypted }, upstream).await
            }
            Err(why) => {
                let to = client.tunnel().map_or(asked, |within| within.to.to_string());
                _ = upstream.refuse(&to, &why);
                Err(ConnectError::Malformed(why))
            }
        },
    };
    answered.unwrap_or_else(|refusal| refused(&refusal))
}

/// Opens a tunnel. Its content is checked before it reaches the server.
async fn connect(
    request: Request<Incoming>,
    upstream: &Arc<Upstream>,
    place: Place,
) -> Result<Response<Body>, ConnectError> {
    let asked = request.uri().to_string();
    let Some(to) = request.uri().authority().and_then(|it| Destination::parse(it.as_str(), None)) else {
        let why = format!("{asked:?} is not HOST:PORT");
        upstream.gate.refused(&asked, &why);
        return Err(ConnectError::Malformed(why));
    };
    let server = upstream.open_tunnel(&to).await?;
    dig(request, server, to, Arc::clone(upstream), place);
    Ok(Response::new(Either::Right(Full::default())))
}

/// Starts the tunnel after the response to the request.
fn dig(
    request: Request<Incoming>,
    server: Option<TcpStream>,
    to: Destination,
    upstream: Arc<Upstream>,
    place: Place,
) {
    tokio::spawn(async move {
        if let Ok(client) = hyper::upgrade::on(request).await {
            tunnel::carry(TokioIo::new(client), server, to, upstream).await;
        }
        drop(place);
    });
}

/// The destination of a request, if URL and headers agree on it.
fn target(request: &Request<Incoming>, within: Option<&HttpTunnel>) -> Result<Destination, String> {
    let uri = request.uri();
    let port = within.map_or(HTTP, HttpTunnel::default_port);
    let named = |authority: &str| Destination::parse(authority, Some(port));
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    if hosts.next().is_some() {
        return Err("the request has several Host headers".to_owned());
    }
    let to = match (within.map(|within| &within.to), uri.authority(), uri.scheme()) {
        (None, Some(authority), Some(scheme)) if *scheme == Scheme::HTTP => {
            named(authority.as_str()).ok_or_else(|| format!("{:?} is no host", authority.as_str()))?
        }
        (None, Some(_), _) => return Err("only http goes without CONNECT".to_owned()),
        (None, None, _) => return Err("this is a proxy: ask it for whole addresses".to_owned()),
        (Some(to), None, _) => to.clone(),
        (Some(to), Some(authority), _) if named(authority.as_str()).as_ref() == Some(to) => to.clone(),
        (Some(to), Some(authority), _) => {
            return Err(format!("a request for {authority} in a connection to {to}"));
        }
    };
    match host {
        Some(host) if named(&host).as_ref() == Some(&to) => Ok(to),
        Some(host) => Err(format!("the request is for another host, {host:?}")),
        // An absolute URL is enough.
        None if within.is_none() => Ok(to),
        None => Err("the request does not say for which host it is".to_owned()),
    }
}

/// Forwards a request over a connection of its own, with the host's credentials for where it goes.
async fn forward(
    request: Request<Incoming>,
    on: HttpTunnel,
    upstream: Arc<Upstream>,
) -> Result<Response<Body>, ConnectError> {
    let added = added(&request, &on, &upstream)?;
    let server = upstream.open(&on.to).await?;
    let mut request = forwarded(request, &on);
    for (name, value) in added {
        remove_alike(request.headers_mut(), &name);
        request.headers_mut().insert(name, value);
    }
    match on.is_encrypted {
        true => exchange(upstream.encrypt(&on.to, server).await?, request, on.to, upstream).await,
        false => exchange(server, request, on.to, upstream).await,
    }
}

/// Removes what a program behind the server may take for a header of this name: CGI makes one variable of `x-key` and
/// `x_key` (RFC 3875, 4.1.18).
fn remove_alike(headers: &mut HeaderMap, name: &HeaderName) {
    let plain = |name: &HeaderName| name.as_str().replace('_', "-");
    let alike: Vec<HeaderName> =
        headers.keys().filter(|other| plain(other) == plain(name)).cloned().collect();
    for other in alike {
        headers.remove(other);
    }
}

/// The host's credentials for a request.
fn added(
    request: &Request<Incoming>,
    on: &HttpTunnel,
    upstream: &Upstream,
) -> Result<Vec<(HeaderName, HeaderValue)>, ConnectError> {
    let refuse = |why: &str| upstream.refuse(&on.to.to_string(), why);
    let headers = upstream.credentials.headers(&on.to, on.is_encrypted);
    // Servers may compare methods without case, and one calls it TRACK.
    let is_trace = ["TRACE", "TRACK"].iter().any(|name| request.method().as_str().eq_ignore_ascii_case(name));
    if !headers.is_empty() && is_trace {
        return Err(refuse("the answer to TRACE would show the host's credentials"));
    }
    let read = |header: &CredentialHeader| {
        let mut value = HeaderValue::from_str(header.value.as_ref().map(Secret::reveal)?).ok()?;
        value.set_sensitive(true);
        Some((header.name.parse().ok()?, value))
    };
    let missing = || refuse("the host's credentials for it did not come with the call");
    headers.iter().map(read).collect::<Option<_>>().ok_or_else(missing)
}

/// Sends a request over a connection. The response's body follows as it arrives.
async fn exchange<S>(
    server: S,
    request: Request<Incoming>,
    to: Destination,
    upstream: Arc<Upstream>,
) -> Result<Response<Body>, ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |error: hyper::Error| ConnectError::Failed(format!("no answer from {to}: {error}"));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(server)).await.map_err(failed)?;
    let watched = (Arc::clone(&upstream), to.clone());
    tokio::spawn(async move {
        let (upstream, to) = watched;
        tokio::select! {
            _ = connection => {}
            () = upstream.revoked(&to) => {}
        }
    });
    let answer = sender.send_request(request).await.map_err(failed)?;
    let (mut head, body) = answer.into_parts();
    strip(&mut head.headers);
    Ok(Response::from_parts(head, Either::Left(body)))
}

/// The request as it is sent to the server.
fn forwarded(request: Request<Incoming>, on: &HttpTunnel) -> Request<Incoming> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().cloned();
    head.uri = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    head.version = Version::HTTP_11;
    strip(&mut head.headers);
    let host = if on.to.port() == on.default_port() { on.to.host() } else { on.to.to_string() };
    if let Ok(host) = HeaderValue::from_str(&host) {
        head.headers.insert(HOST, host);
    }
    Request::from_parts(head, body)
}

/// Removes hop-by-hop headers.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all("connection")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| *name != HOST)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

fn refused(refusal: &ConnectError) -> Response<Body> {
    let status = match refusal {
        ConnectError::Forbidden(_) => StatusCode::FORBIDDEN,
        ConnectError::Failed(_) => StatusCode::BAD_GATEWAY,
        ConnectError::Malformed(_) => StatusCode::BAD_REQUEST,
    };
    let mut response = Response::new(Either::Right(Full::from(format!("{}\n", refusal.why()))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::http::uri::Authority;

    #[test]
    fn authorities_keep_what_would_mislead() {
        // The URI parser accepts these; they must be refused because they are not hosts.
        for text in ["user@example.com:443", "example.com:443@evil.example:443"] {
            let kept = text.parse::<Authority>().map(|it| Destination::parse(it.as_str(), None));
            assert!(!matches!(kept, Ok(Some(_))), "{text}");
        }
    }

    #[test]
    fn what_is_for_neighbours_stays_with_them() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-mine, host"),
            ("x-mine", "1"),
            ("host", "a.example"),
            ("proxy-authorization", "secret"),
            ("accept", "*/*"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        strip(&mut headers);
        headers.insert("x_key", HeaderValue::from_static("1"));
        remove_alike(&mut headers, &HeaderName::from_static("x-key"));
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["host", "accept"]);
    }
}
