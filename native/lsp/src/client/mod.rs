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
mod rustup;
mod server;
mod state;
mod text;
mod typescript;
mod uri;
mod watch;
pub mod wire;

pub use encoding::Encoding;
pub use handshake::Capabilities;
pub use plan::{Plan, Unavailable, is_served, program};
pub use plan::{Presence, presence};
pub use pool::{Lease, lease, running_in};
pub use server::Server;
pub use text::Text;
pub use uri::{path_of, uri_of};
