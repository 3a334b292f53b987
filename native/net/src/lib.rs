//! HTTP requests, each over a connection of its own: resolve, check, connect, encrypt, send.
//!
//! There is no connection pool, no cookie jar and no proxy, whatever the environment says, so that no request can
//! affect another. Every address is checked by the guard before a connection is opened.

mod address;
pub mod advice;
mod connect;
mod deadline;
mod decode;
mod exchange;
mod guard;
mod receive;
mod resolve;
mod runtime;
mod tls;

pub use deadline::Deadline;
pub use exchange::{HttpExchange, OutgoingRequest, text_of};
pub use guard::is_localhost;
pub use receive::{BodyEnd, ReceivedBody};
pub use runtime::block_on;

use beamai_base::{Reason, ToolError};
use beamai_tool::WebSettings;
use guard::AddressGuard;
use resolve::SystemResolver;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use url::Url;

pub use resolve::{Addresses, Resolve};

/// A boxed future. The code of an `async fn` is compiled in every crate that awaits it; boxed, it is compiled here, once.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The default `User-Agent`.
const USER_AGENT: &str = concat!("beamai/", env!("CARGO_PKG_VERSION"));

/// Opens connections and sends requests, under the guard of one kind of caller.
#[derive(Clone)]
pub struct Transport {
    guard: AddressGuard,
    resolver: Arc<dyn Resolve>,
    roots: tls::TrustRoots,
    user_agent: String,
}

impl Transport {
    /// For URLs that a caller chooses.
    pub fn of(settings: &WebSettings) -> Self {
        Self {
            guard: AddressGuard::of(settings),
            resolver: Arc::new(SystemResolver),
            roots: tls::TrustRoots::System,
            user_agent: settings.user_agent.clone().unwrap_or_else(|| USER_AGENT.to_owned()),
        }
    }

    /// For a server from the host's own settings.
    pub fn to_own_server(settings: &WebSettings) -> Self {
        Self { guard: AddressGuard::for_own_server(), ..Self::of(settings) }
    }

    /// For an MCP server from the host's settings. A private address is allowed if the URL spells it out, or if it is
    /// one of `allowed`.
    pub fn to_mcp_server(url: &Url, allowed: &[SocketAddr]) -> Self {
        Self { guard: AddressGuard::for_mcp_server(url, allowed), ..Self::of(&WebSettings::default()) }
    }

    /// For connections of commands. Only addresses are checked here: host names are checked by the command's network
    /// rules.
    pub fn for_commands(settings: &WebSettings) -> Self {
        Self { guard: AddressGuard::for_commands(&settings.allow_addresses), ..Self::of(settings) }
    }

    /// Uses another resolver.
    #[must_use]
    pub fn resolving(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// Trusts only this certificate authority, in place of the system's.
    #[must_use]
    pub fn trusting(self, authority: tokio_rustls::rustls::pki_types::CertificateDer<'static>) -> Self {
        Self { roots: tls::TrustRoots::Only(authority), ..self }
    }
}

/// A network error. `kind` is `dns`, `connect`, `tls` or `protocol`.
fn failure(kind: &str, message: String) -> ToolError {
    ToolError::new(Reason::Network, message).with("kind", kind)
}
