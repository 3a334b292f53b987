//! A proxy through which a command in a network namespace reaches permitted host names.
//!
//! The command's network namespace has no route, only one listening socket, which this program holds. Clients speak
//! HTTP with or without `CONNECT`, or SOCKS5. A [`Gate`] decides about each host name before it is resolved; the
//! addresses that it resolves to are checked on connecting (`beamai-net`). A tunnel passes only TLS whose server name
//! is the one that was asked for, and HTTP whose `Host` is.
//!
//! To some requests the host has headers added (`HostCredentials`, in `beamai-isolation`). Only for these, TLS ends in the
//! proxy, which identifies itself by certificates of an [`authority`] of its own and encrypts again towards the server.

#![forbid(unsafe_code)]

mod certificates;
mod hello;
mod http;
mod proxy;
mod rewind;
mod socks;
mod tunnel;
mod upstream;

pub use certificates::authority;
pub use proxy::Proxy;

use beamai_base::{Destination, HostHint};
use std::future::Future;
use std::pin::Pin;

/// A decision that may have to wait for a person.
pub type Admission<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Decides where one command may connect to, and records it.
pub trait Gate: Send + Sync {
    /// Decides about a connection; the error is the reason for a refusal.
    fn admit<'a>(&'a self, to: &'a Destination) -> Admission<'a>;

    /// Whether an earlier connection is still permitted. Asked after [`Proxy::look_again`].
    fn still_admits(&self, to: &Destination) -> bool;

    /// Records a connection, or an unencrypted request.
    fn reached(&self, to: &Destination);

    /// Records a refused or failed connection, with the reason. `to` is host and port, or the text that was given
    /// instead.
    fn refused(&self, to: &str, why: &str);

    /// Notes what the host can configure so that a destination is connected to.
    fn advised(&self, to: &str, hint: HostHint);
}
