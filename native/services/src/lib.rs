//! All services of a port program: the implementations of tools that start processes or open connections.
//!
//! On Linux, all are available. Elsewhere commands, language servers and MCP servers are described but not run, because
//! their sandbox needs Linux.

#![forbid(unsafe_code)]

use beamai_tool::Services;

/// Every service that this operating system supports.
pub fn services() -> Services {
    let services = beamai_web::serve(beamai_git::serve(Services::without("runs on Linux only")));
    #[cfg(target_os = "linux")]
    let services = beamai_mcp_client::serve(beamai_lsp::serve(beamai_shell::serve(services)));
    services
}

/// Stops everything that a session runs in this program, and prevents it from starting more. Returns immediately with a
/// function that waits until all has exited; `None` if nothing was running.
#[cfg(target_os = "linux")]
pub fn end_session(id: &str) -> Option<impl FnOnce() + Send + use<>> {
    let ending = beamai_shell::end_session(id)?;
    Some(move || ending.wait())
}

/// Does nothing: here, the program runs nothing for sessions.
#[cfg(not(target_os = "linux"))]
pub fn end_session(_: &str) -> Option<impl FnOnce() + Send + use<>> {
    None::<fn()>
}
