//! The network: fetching pages and asking search engines.
//!
//! What a call asks for is checked into a `request::Plan`; the plan travels hop by hop (`journey`), each hop over a
//! connection of its own (`beamai-net`), and no connection is opened to an address that its guard has not seen; what comes
//! back is decoded, turned into text (`present`) and, where the call says what it looks for, handed to the host's chat
//! model (`asked`) or, without one, reduced to the passages that matter (`passages`).

mod charset;
mod engines;
mod markdown;
mod media;
mod passages;
mod pending_consultation;
mod present;
mod redirects;
#[cfg(test)]
mod tests;

use beamai_net::Transport;
use beamai_port_tools::web::{
    fetch::WebFetch,
    fetched::WebFetchOutput,
    search::{WebSearch, WebSearchOutput},
};
use beamai_tool::{CallContext, Interrupt, OperationBackend, Services};

/// Adds the work of the web tools.
#[must_use]
pub fn serve(services: Services) -> Services {
    services.with(OperationBackend(fetch)).with(OperationBackend(search))
}

fn fetch(call: WebFetch, cx: &CallContext) -> Result<WebFetchOutput, Interrupt> {
    match &cx.consulted {
        Some(consulted) => Ok(present::answered(&call, consulted)?),
        None => present::fetch(&call, cx, Transport::of(&cx.web)),
    }
}

fn search(call: WebSearch, cx: &CallContext) -> Result<WebSearchOutput, Interrupt> {
    Ok(engines::search(&call, cx)?)
}
