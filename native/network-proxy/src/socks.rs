//! SOCKS 5 (RFC 1928): `CONNECT` only, without authentication.

use super::tunnel;
use super::upstream::{ConnectError, Upstream};
use beamai_base::Destination;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
/// Address types.
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
/// Reply codes.
const DONE: u8 = 0;
const FORBIDDEN: u8 = 2;
const UNREACHABLE: u8 = 4;
const NO_SUCH_COMMAND: u8 = 7;

/// Serves one connection.
///
/// # Errors
/// If the client disconnects.
pub(super) async fn serve(mut client: TcpStream, upstream: Arc<Upstream>) -> io::Result<()> {
    let mut head = [0; 2];
    client.read_exact(&mut head).await?;
    let mut methods = vec![0; usize::from(head[1])];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        return client.write_all(&[VERSION, NO_METHOD]).await;
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut request = [0; 4];
    client.read_exact(&mut request).await?;
    let [version, command, _, kind] = request;
    let (host, port) = address(&mut client, kind).await?;
    if version != VERSION || command != CONNECT {
        let why = "only connections are made: SOCKS for listening and for UDP is refused";
        _ = upstream.refuse(&format!("{host}:{port}"), why);
        return answer(&mut client, NO_SUCH_COMMAND).await;
    }
    let Some(to) = Destination::new(&host, port) else {
        _ = upstream.refuse(&format!("{host}:{port}"), "that is no host");
        return answer(&mut client, FORBIDDEN).await;
    };
    match upstream.open_tunnel(&to).await {
        Ok(server) => {
            answer(&mut client, DONE).await?;
            tunnel::carry(client, server, to, upstream).await;
            Ok(())
        }
        Err(ConnectError::Failed(_)) => answer(&mut client, UNREACHABLE).await,
        Err(_) => answer(&mut client, FORBIDDEN).await,
    }
}

/// Host and port of a request, as written.
async fn address(client: &mut TcpStream, kind: u8) -> io::Result<(String, u16)> {
    let host = match kind {
        IPV4 => Ipv4Addr::from_bits(client.read_u32().await?).to_string(),
        IPV6 => format!("[{}]", Ipv6Addr::from_bits(client.read_u128().await?)),
        NAME => {
            let mut name = vec![0; usize::from(client.read_u8().await?)];
            client.read_exact(&mut name).await?;
            String::from_utf8_lossy(&name).into_owned()
        }
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    Ok((host, client.read_u16().await?))
}

/// Sends a reply. The bound address is left zero: clients do not need it.
async fn answer(client: &mut TcpStream, code: u8) -> io::Result<()> {
    client.write_all(&[VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}
