//! A server that is started here, and spoken to over its streams.

mod lines;
mod process;

pub(super) use lines::StdioTransport;
pub(super) use process::{McpServerProcess, start};
