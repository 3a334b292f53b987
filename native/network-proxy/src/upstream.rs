//! Connections to the destinations that a command names.

use super::Gate;
use beamai_base::{Destination, Reason};
use beamai_isolation::HostCredentials;
use beamai_net::{Deadline, Transport, advice};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::client::TlsStream;

/// Timeout for resolving a name and connecting.
const CONNECTING: Duration = Duration::from_secs(30);

/// Shared by all connections of a command.
pub(super) struct Upstream {
    pub(super) gate: Arc<dyn Gate>,
    pub(super) transport: Transport,
    /// The headers to add, by destination.
    pub(super) credentials: HostCredentials,
    /// Changes when the gate has to be asked again.
    pub(super) again: watch::Receiver<()>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// Not permitted.
    Forbidden(String),
    /// The attempt failed.
    Failed(String),
    /// The destination is malformed.
    Malformed(String),
}

impl ConnectError {
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Forbidden(why) | Self::Failed(why) | Self::Malformed(why) => why,
        }
    }
}

impl Upstream {
    /// Connects if that is permitted, and records the outcome.
    pub(super) async fn open(&self, to: &Destination) -> Result<TcpStream, ConnectError> {
        let opened = self.try_open(to).await;
        match &opened {
            Ok(_) => self.gate.reached(to),
            Err(refusal) => self.gate.refused(&to.to_string(), refusal.why()),
        }
        opened
    }

    /// The connection for a tunnel if that is permitted; `None` where requests in it get connections of their own because
    /// credentials are added to them.
    pub(super) async fn open_tunnel(&self, to: &Destination) -> Result<Option<TcpStream>, ConnectError> {
        if self.credentials.headers(to, true).is_empty() {
            return self.open(to).await.map(Some);
        }
        self.gate.admit(to).await.map_err(|why| self.refuse(&to.to_string(), &why))?;
        Ok(None)
    }

    async fn try_open(&self, to: &Destination) -> Result<TcpStream, ConnectError> {
        self.gate.admit(to).await.map_err(ConnectError::Forbidden)?;
        let url = to.url().ok_or_else(|| ConnectError::Malformed(format!("{to} is no host")))?;
        let opened = self.transport.open(&url, &Deadline::lasting(CONNECTING, &advice::COMMAND)).await;
        let stream = opened.map_err(|error| {
            if let Some(hint) = error.hint {
                self.gate.advised(&to.to_string(), *hint);
            }
            // Which protocol the command speaks is not known.
            let why = error.message.replacen(url.as_str(), &to.to_string(), 1);
            match error.reason {
                Reason::Denied => ConnectError::Forbidden(why),
                _ => ConnectError::Failed(why),
            }
        })?;
        _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// Starts TLS on a connection, with a server that has a valid certificate, and records a failure.
    pub(super) async fn encrypt(
        &self,
        to: &Destination,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, ConnectError> {
        let url = to.url().ok_or_else(|| ConnectError::Malformed(format!("{to} is no host")))?;
        let deadline = Deadline::lasting(CONNECTING, &advice::COMMAND);
        self.transport.encrypt(&url, stream, true, &deadline).await.map_err(|error| {
            self.gate.refused(&to.to_string(), &error.message);
            ConnectError::Failed(error.message)
        })
    }

    /// Refuses a request, and records it.
    pub(super) fn refuse(&self, to: &str, why: &str) -> ConnectError {
        self.gate.refused(to, why);
        ConnectError::Forbidden(why.to_owned())
    }

    /// Waits until a destination is no longer permitted.
    pub(super) async fn revoked(&self, to: &Destination) {
        let mut again = self.again.clone();
        again.mark_unchanged();
        while self.gate.still_admits(to) {
            if again.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
        self.gate.refused(&to.to_string(), "the connection was closed: it is not allowed any more");
    }
}
