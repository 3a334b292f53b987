//! Talking to language servers.

mod documents;
mod encoding;
mod files;
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

pub(crate) use encoding::Encoding;
pub(crate) use handshake::Capabilities;
pub(crate) use plan::{Plan, Unavailable};
pub use plan::{Presence, is_served, presence};
pub(crate) use pool::{Lease, lease, running_in};
pub(crate) use server::Server;
pub(crate) use text::Text;
pub(crate) use uri::{path_of, uri_of};
