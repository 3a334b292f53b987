//! What goes through a tunnel: TLS to the server that was named, or HTTP for the host that was named.

use super::hello::{self, ClientHello};
use super::http;
use super::rewind::Rewind;
use super::upstream::Upstream;
use beamai_base::Destination;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What every record of a TLS handshake begins with.
const HANDSHAKE: u8 = 22;
/// Most bytes of the first message of TLS.
const LONGEST_HELLO: usize = 64 << 10;
/// The longest that a program may say nothing once it has its tunnel: where the server is to speak first, nobody could tell
/// what it is about.
const SILENCE: Duration = Duration::from_secs(30);

/// Carries what a program says to the server, once that is something that may be said, until either side has ended.
pub(super) async fn carry<S>(mut client: S, server: TcpStream, to: Destination, upstream: Arc<Upstream>)
where
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
            // Each request has a connection of its own.
            drop(server);
            http::serve(Rewind::new(beginning, client), upstream, Some(to)).await;
        }
        Ok(FirstBytes::Tls(beginning)) => tokio::select! {
            () = relay(client, server, &beginning) => {}
            () = upstream.revoked(&to) => {}
        },
    }
}

async fn relay<S: AsyncRead + AsyncWrite + Unpin>(mut client: S, mut server: TcpStream, beginning: &[u8]) {
    if server.write_all(beginning).await.is_ok() {
        // Either side may break off at any time.
        _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// How a program began to speak.
enum FirstBytes {
    /// Not at all.
    Closed,
    /// With the first message of TLS, for the right server.
    Tls(Vec<u8>),
    /// With something that is to be read as HTTP.
    Http(Vec<u8>),
}

/// Reads as much as tells what it is. The reason where that does not pass.
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

/// Whether TLS is for the server that the tunnel leads to. An address has no name in TLS.
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
