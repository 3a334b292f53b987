//! Transport over HTTP.
//!
//! ```text
//! HttpTransport ── messages in both directions, until the conversation ends
//!   │ (crate rmcp: sessions, resumption, one POST for each message, the stream for news)
//! HttpClient ── a request, its redirects, the status and type of a response
//!   │  └── stream ── SseParser: server-sent events, bounded
//! RemoteServer ── URL and headers
//!   │
//! beamai_net: one connection for each exchange, checked by the guard
//! ```

mod answer;
mod client;
mod events;
mod failure;
mod remote;
mod stream;
mod transport;

#[cfg(test)]
mod tests;

pub(super) use failure::{HttpFailure, failure_of};
pub(super) use remote::RemoteServer;
pub(super) use transport::HttpTransport;
