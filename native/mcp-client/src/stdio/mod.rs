//! Transport over the standard streams of a child process.

mod lines;
mod process;

pub(super) use lines::StdioTransport;
pub(super) use process::{McpServerProcess, start};
