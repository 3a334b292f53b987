//! From a destination that a command has named to a connection.

use super::Gate;
use beamai_base::{Destination, Reason};
use beamai_net::{Deadline, Transport, advice};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// The longest that resolving a name and connecting to it may take.
const CONNECTING: Duration = Duration::from_secs(30);

/// What all connections of a command share.
pub(super) struct Upstream {
    pub(super) gate: Arc<dyn Gate>,
    pub(super) transport: Transport,
    /// Changes when the gate has to be asked again.
    pub(super) again: watch::Receiver<()>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// It is not permitted.
    Forbidden(String),
    /// It was tried.
    Failed(String),
    /// Nobody can tell where it was to go.
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
    /// Connects, if that is permitted, and takes note of what came of it.
    pub(super) async fn open(&self, to: &Destination) -> Result<TcpStream, ConnectError> {
        let opened = self.try_open(to).await;
        match &opened {
            Ok(_) => self.gate.reached(to),
            Err(refusal) => self.gate.refused(&to.to_string(), refusal.why()),
        }
        opened
    }

    async fn try_open(&self, to: &Destination) -> Result<TcpStream, ConnectError> {
        self.gate.admit(to).await.map_err(ConnectError::Forbidden)?;
        let url = to.url().ok_or_else(|| ConnectError::Malformed(format!("{to} is no host")))?;
        let opened = self.transport.open(&url, &Deadline::lasting(CONNECTING, &advice::COMMAND)).await;
        let stream = opened.map_err(|error| match error.reason {
            Reason::Denied => ConnectError::Forbidden(error.message),
            _ => ConnectError::Failed(error.message),
        })?;
        _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// Refuses what a command has asked for, and takes note of it.
    pub(super) fn refuse(&self, to: &str, why: &str) -> ConnectError {
        self.gate.refused(to, why);
        ConnectError::Forbidden(why.to_owned())
    }

    /// Waits until a destination is not admitted any more.
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
