//! Connects to one of a host's addresses, never to a refused one.

use super::guard::literal;
use super::{BoxFuture, Deadline, Transport, failure};
use beamai_base::{Result, ToolError, excerpt};
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

impl Transport {
    /// Opens a plain TCP connection to the host and port of a URL.
    ///
    /// # Errors
    /// `denied` if every address is refused, `network` if none answers, `timeout`.
    pub fn open<'a>(&'a self, url: &'a Url, deadline: &'a Deadline) -> BoxFuture<'a, Result<TcpStream>> {
        Box::pin(self.connect(url, deadline))
    }

    /// Connects to the host of a URL, trying its addresses in turn.
    ///
    /// # Errors
    /// `denied` if every address is refused, `network` if none answers, `timeout`.
    pub(super) async fn connect(&self, url: &Url, deadline: &Deadline) -> Result<TcpStream> {
        let addresses = self.addresses(url, deadline).await?;
        let mut refused = Vec::new();
        let mut failed = Vec::new();
        let mut tries_left = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        for address in addresses {
            match timeout(deadline.share(tries_left), self.connect_to(address)).await {
                Ok(ConnectAttempt::Connected(stream)) => return Ok(stream),
                Ok(ConnectAttempt::Refused(why)) => refused.push((address, why)),
                Ok(ConnectAttempt::Failed(error)) => failed.push((address, Some(error))),
                Err(_) => failed.push((address, None)),
            }
            tries_left -= 1;
        }
        match failed.iter().all(|(_, error)| error.is_none()) {
            true if failed.is_empty() => Err(self.guard.refused(url, &refused)),
            true => Err(deadline.timed_out(&format!("connecting to {}", listed(&failed)))),
            false => Err(unreachable(url, &failed)),
        }
    }

    /// The only place where a connection is opened.
    async fn connect_to(&self, address: SocketAddr) -> ConnectAttempt {
        if let Err(why) = self.guard.check(address) {
            return ConnectAttempt::Refused(why);
        }
        match TcpStream::connect(address).await {
            Ok(stream) => ConnectAttempt::Connected(stream),
            Err(error) => ConnectAttempt::Failed(error),
        }
    }

    async fn addresses(&self, url: &Url, deadline: &Deadline) -> Result<Vec<SocketAddr>> {
        if let Some(address) = literal(url) {
            return Ok(vec![address]);
        }
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        let looking = self.resolver.resolve(host, port);
        match deadline.within(&format!("looking up the name {}", excerpt(host)), looking).await? {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses),
            Ok(_) => Err(unknown_host(host, "it has no address")),
            Err(error) => Err(unknown_host(host, &error.to_string())),
        }
    }
}

enum ConnectAttempt {
    Connected(TcpStream),
    Refused(&'static str),
    Failed(io::Error),
}

fn unknown_host(host: &str, why: &str) -> ToolError {
    let why = why.strip_prefix("failed to lookup address information: ").unwrap_or(why);
    let host = excerpt(host);
    failure("dns", format!("the host {host} cannot be found ({why}); check its name, or try again later"))
}

fn unreachable(url: &Url, failed: &[(SocketAddr, Option<io::Error>)]) -> ToolError {
    let host = url.host_str().unwrap_or_default();
    let is_refused = |error: &Option<io::Error>| {
        error.as_ref().is_some_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
    };
    let advice = match failed.iter().any(|(_, error)| is_refused(error)) {
        true => "nothing listens there; check the port, or start the server",
        false => "check the address, or try again later",
    };
    failure("connect", format!("no connection to {host}: {}; {advice}", listed(failed)))
}

fn listed(failed: &[(SocketAddr, Option<io::Error>)]) -> String {
    let one = |(address, error): &(SocketAddr, Option<io::Error>)| match error {
        Some(error) => format!("{address}: {}", beamai_base::describe(error)),
        None => format!("{address}: no answer"),
    };
    failed.iter().map(one).collect::<Vec<_>>().join(", ")
}
