//! One request over one connection of its own: resolve, check, connect, encrypt, ask.
//!
//! There is no pool, no cookie jar and no proxy, whatever the environment says: nothing that one exchange leaves behind
//! can reach another. No connection is opened to an address that the guard has not seen.

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
use std::net::SocketAddr;
use std::sync::Arc;
use url::Url;

pub use resolve::{Addresses, Resolve};

/// How requests named their sender before hosts gave them another name.
const USER_AGENT: &str = concat!("beamai/", env!("CARGO_PKG_VERSION"));

/// The way to servers.
#[derive(Clone)]
pub struct Transport {
    guard: AddressGuard,
    resolver: Arc<dyn Resolve>,
    roots: tls::TrustRoots,
    user_agent: String,
}

impl Transport {
    /// The way to addresses that a caller chooses.
    pub fn of(settings: &WebSettings) -> Self {
        Self {
            guard: AddressGuard::of(settings),
            resolver: Arc::new(SystemResolver),
            roots: tls::TrustRoots::System,
            user_agent: settings.user_agent.clone().unwrap_or_else(|| USER_AGENT.to_owned()),
        }
    }

    /// The way to a server of the host's own choice.
    pub fn to_own_server(settings: &WebSettings) -> Self {
        Self { guard: AddressGuard::for_own_server(), ..Self::of(settings) }
    }

    /// The way to an MCP server of the host's own choice, at this address: a private one where the address itself says
    /// so, or where it is one of `allowed`.
    pub fn to_mcp_server(url: &Url, allowed: &[SocketAddr]) -> Self {
        Self { guard: AddressGuard::for_mcp_server(url, allowed), ..Self::of(&WebSettings::default()) }
    }

    /// The way to what commands connect to: by the addresses alone, for names are judged by rules of their own.
    pub fn for_commands(settings: &WebSettings) -> Self {
        Self { guard: AddressGuard::for_commands(&settings.allow_addresses), ..Self::of(settings) }
    }

    /// The same with names resolved by somebody else.
    #[must_use]
    pub fn resolving(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// The same with this authority alone vouching for servers, instead of those that the system trusts.
    #[must_use]
    pub fn trusting(self, authority: tokio_rustls::rustls::pki_types::CertificateDer<'static>) -> Self {
        Self { roots: tls::TrustRoots::Only(authority), ..self }
    }
}

/// Something between here and the server, or the server itself, failed. `kind` says what: `dns`, `connect`, `tls` or
/// `protocol`.
fn failure(kind: &str, message: String) -> ToolError {
    ToolError::new(Reason::Network, message).with("kind", kind)
}
