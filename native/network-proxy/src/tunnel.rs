//! The content of a tunnel: TLS to the named server, or HTTP for the named host.

use super::certificates;
use super::hello::{self, ClientHello};
use super::http::{self, HttpClient, HttpTunnel};
use super::rewind::Rewind;
use super::upstream::Upstream;
use beamai_base::Destination;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// First byte of a TLS handshake record.
const HANDSHAKE: u8 = 22;
/// Maximum size of a ClientHello.
const LONGEST_HELLO: usize = 64 << 10;
/// How long a client may stay silent after opening a tunnel. Protocols in which the server speaks first cannot be
/// checked.
const SILENCE: Duration = Duration::from_secs(30);
/// Why a program does not accept the proxy as the server.
const NOT_TRUSTED: &str = "the host's credentials are added to requests there, for which the program has to trust the \
                           authorities in the file that SSL_CERT_FILE names, and speak HTTP/1.1; it does not";

/// Relays between client and server until either ends, or serves HTTP requests, once the client's first bytes have passed
/// the check. Without a connection to the server, TLS ends here.
pub(super) async fn carry<S>(
    mut client: S,
    server: Option<TcpStream>,
    to: Destination,
    upstream: Arc<Upstream>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let begun = match timeout(SILENCE, begin(&mut client, &to)).await {
        Ok(begun) => begun,
        Err(_) => {
            Err("the program said nothing; only TLS and HTTP pass, in which the program speaks first"
                .to_owned())
        }
    };
    match begun {
        Err(why) => _ = upstream.refuse(&to.to_string(), &why),
        Ok(FirstBytes::Closed) => {}
        Ok(FirstBytes::Http(beginning)) => {
            // Each request gets a connection of its own.
            drop(server);
            let within = HttpTunnel { to, is_encrypted: false };
            http::serve(Rewind::new(beginning, client), upstream, HttpClient::Tunnel(within)).await;
        }
        Ok(FirstBytes::Tls(beginning)) => match server {
            None => decrypt(Rewind::new(beginning, client), to, upstream).await,
            Some(server) => tokio::select! {
                () = relay(client, server, &beginning) => {}
                () = upstream.revoked(&to) => {}
            },
        },
    }
}

/// Ends TLS here, in the server's name, and serves the HTTP requests in it.
async fn decrypt<S>(client: S, to: Destination, upstream: Arc<Upstream>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let identity = match certificates::identity(&to) {
        Ok(identity) => identity,
        Err(why) => {
            upstream.refuse(&to.to_string(), &why);
            return;
        }
    };
    match timeout(SILENCE, TlsAcceptor::from(identity).accept(client)).await {
        Ok(Ok(stream)) => {
            http::serve(stream, upstream, HttpClient::Tunnel(HttpTunnel { to, is_encrypted: true })).await;
        }
        Ok(Err(error)) => _ = upstream.refuse(&to.to_string(), &format!("{NOT_TRUSTED} ({error})")),
        Err(_) => _ = upstream.refuse(&to.to_string(), NOT_TRUSTED),
    }
}

async fn relay<S: AsyncRead + AsyncWrite + Unpin>(mut client: S, mut server: TcpStream, beginning: &[u8]) {
    if server.write_all(beginning).await.is_ok() {
        // Either side may disconnect at any time.
        _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// The client's first bytes.
enum FirstBytes {
    /// None: it disconnected.
    Closed,
    /// A ClientHello for the right server.
    Tls(Vec<u8>),
    /// Something to be parsed as HTTP.
    Http(Vec<u8>),
}

/// Reads until the protocol is known. The error is the reason for a refusal.
async fn begin<S: AsyncRead + Unpin>(client: &mut S, to: &Destination) -> Result<FirstBytes, String> {
    let mut bytes = Vec::new();
    loop {
        match client.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return Ok(FirstBytes::Closed),
            Ok(_) => {}
        }
        if bytes[0] != HANDSHAKE {
            return Ok(FirstBytes::Http(bytes));
        }
        match hello::read(&bytes) {
            ClientHello::Incomplete if bytes.len() < LONGEST_HELLO => {}
            ClientHello::Incomplete => return Err("the first message of TLS is too long".to_owned()),
            ClientHello::Broken(why) => {
                return Err(format!("the first message of TLS cannot be read: {why}"));
            }
            ClientHello::For(name) => return named(name, to).map(|()| FirstBytes::Tls(bytes)),
        }
    }
}

/// Whether the ClientHello is for the tunnel's server. TLS has no server names for IP addresses.
fn named(name: Option<String>, to: &Destination) -> Result<(), String> {
    match name {
        None if to.is_address() => Ok(()),
        None => Err("TLS names no server there".to_owned()),
        Some(name) => match Destination::new(&name, to.port()) {
            Some(named) if named == *to => Ok(()),
            _ => Err(format!("TLS is for another server, {name}")),
        },
    }
}
