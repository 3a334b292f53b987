//! Name resolution.

use super::BoxFuture;
use std::io;
use std::net::SocketAddr;

/// The pending result of a lookup.
pub type Addresses<'a> = BoxFuture<'a, io::Result<Vec<SocketAddr>>>;

/// A name resolver.
pub trait Resolve: Send + Sync {
    /// The addresses of a host, with this port.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Addresses<'a>;
}

/// The system's resolver.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Addresses<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}
