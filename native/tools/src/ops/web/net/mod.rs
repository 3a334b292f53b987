//! One request over one connection of its own: resolve, check, connect, encrypt, ask.
//!
//! There is no pool, no cookie jar and no proxy, whatever the environment says: nothing that one fetch leaves behind
//! can reach another.

mod clock;
mod connect;
mod decode;
mod exchange;
mod receive;
mod resolve;
mod runtime;
mod tls;

pub(super) use clock::Clock;
pub(super) use exchange::{Exchange, Request, text_of};
pub(super) use receive::{Body, End};
pub(super) use runtime::block_on;

use super::guard::Guard;
use crate::error::{Reason, ToolError};
use crate::web_settings::WebSettings;
use resolve::{Resolve, SystemResolver};
use std::sync::Arc;

#[cfg(test)]
pub(super) use resolve::{Addresses, Resolve as ResolveNames};

/// How requests named their sender before hosts gave them another name.
const USER_AGENT: &str = concat!("beamai/", env!("CARGO_PKG_VERSION"));

/// The way to servers.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) guard: Guard,
    resolver: Arc<dyn Resolve>,
    roots: tls::Roots,
    user_agent: String,
}

impl Transport {
    /// The way to addresses that a caller chooses.
    pub(super) fn of(settings: &WebSettings) -> Self {
        Self {
            guard: Guard::of(settings),
            resolver: Arc::new(SystemResolver),
            roots: tls::Roots::System,
            user_agent: settings.user_agent.clone().unwrap_or_else(|| USER_AGENT.to_owned()),
        }
    }

    /// The way to a server of the host's own choice.
    pub(super) fn to_own_server(settings: &WebSettings) -> Self {
        Self { guard: Guard::for_own_server(), ..Self::of(settings) }
    }

    /// The same with other names, as a test needs them.
    #[cfg(test)]
    pub(super) fn resolving(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// The same with one more authority that vouches for servers, as a test needs it.
    #[cfg(test)]
    pub(super) fn trusting(
        self,
        authority: tokio_rustls::rustls::pki_types::CertificateDer<'static>,
    ) -> Self {
        Self { roots: tls::Roots::Only(authority), ..self }
    }
}

/// Something between here and the server, or the server itself, failed. `kind` says what: `dns`, `connect`, `tls` or
/// `protocol`.
fn failure(kind: &str, message: String) -> ToolError {
    ToolError::new(Reason::Network, message).with("kind", kind)
}
