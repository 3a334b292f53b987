//! A client for language servers.

mod documents;
mod encoding;
mod files;
mod fitting;
mod frame;
mod handshake;
mod inbox;
mod plan;
mod pool;
mod process;
mod server;
mod state;
mod text;
mod typescript;
mod uri;
mod watch;
pub(crate) mod wire;

pub(crate) use encoding::PositionEncoding;
pub use fitting::is_of_use;
pub(crate) use handshake::ServerCapabilities;
pub use plan::{ServerAvailability, availability, is_served};
pub(crate) use plan::{ServerPlan, Unavailable};
pub(crate) use pool::{Lease, lease, running_for};
pub(crate) use server::LanguageServer;
pub(crate) use text::DocumentText;
pub(crate) use uri::{path_of, uri_of};
