//! All that a port program can do on its operating system: the services of the tools that start processes or open
//! connections.
//!
//! On Linux that is everything. Elsewhere commands, language servers and MCP servers are described and not run, because
//! what isolates them is Linux's own.

#![forbid(unsafe_code)]

use beamai_tool::Services;

/// Every service that this machine's operating system allows.
pub fn services() -> Services {
    let services = beamai_web::serve(beamai_git::serve(Services::without("runs on Linux only")));
    #[cfg(target_os = "linux")]
    let services = beamai_mcp_client::serve(beamai_lsp::serve(beamai_shell::serve(services)));
    services
}

/// Ends what a session has running in this program, and lets nothing be started in it any more. Returns at once, with
/// what waits until it has ended; `None` where nothing was running.
#[cfg(target_os = "linux")]
pub fn end_session(id: &str) -> Option<impl FnOnce() + Send + use<>> {
    let ending = beamai_shell::end_session(id)?;
    Some(move || ending.wait())
}

/// Ends what a session has running in this program, which starts nothing for sessions.
#[cfg(not(target_os = "linux"))]
pub fn end_session(_: &str) -> Option<impl FnOnce() + Send + use<>> {
    None::<fn()>
}
