//! A server that is spoken to over HTTP.
//!
//! ```text
//! HttpTransport ── messages in both directions, until the conversation is given up
//!   │ (crate rmcp: sessions, resumption, one POST for each message, the stream for news)
//! HttpClient ── a request, its redirects, what an answer's status and type mean
//!   │  └── stream ── SseParser: server-sent events, bounded
//! RemoteServer ── where it is, and what goes along
//!   │
//! beamai_net: one connection for each exchange, past the guard
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
