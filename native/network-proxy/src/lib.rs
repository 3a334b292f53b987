//! The way out of a command's network namespace: a proxy that goes by names.
//!
//! A command that may reach some names has a network namespace without any route, and in there one listening socket, which this
//! program holds. What connects to it speaks to a proxy: HTTP with and without `CONNECT`, or SOCKS5. Each name is put to a
//! [`Gate`] before anything is resolved; where it leads is checked when it is connected to (`beamai-net`). Through a tunnel
//! goes TLS whose server name is the one that was asked for, or HTTP whose `Host` is, and nothing else.

#![forbid(unsafe_code)]

mod hello;
mod http;
mod proxy;
mod rewind;
mod socks;
mod tunnel;
mod upstream;

pub use proxy::Proxy;

use beamai_base::Destination;
use std::future::Future;
use std::pin::Pin;

/// A verdict that may have to wait for a person.
pub type Admission<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Decides where one command may connect to, and keeps account of it.
pub trait Gate: Send + Sync {
    /// Whether a connection may be made; the reason where not.
    fn admit<'a>(&'a self, to: &'a Destination) -> Admission<'a>;

    /// Whether one that was admitted may still be there. Asked after [`Proxy::look_again`].
    fn still_admits(&self, to: &Destination) -> bool;

    /// Takes note of a connection, or of a request without encryption.
    fn reached(&self, to: &Destination);

    /// Takes note of one that was refused or failed, and why. `to` is host and port, or what stood in the place of them.
    fn refused(&self, to: &str, why: &str);
}
