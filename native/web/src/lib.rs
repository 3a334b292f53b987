//! Fetches pages and asks search engines.
//!
//! A call is validated to a `FetchRequest`. `redirects` sends it, following redirects; every request has a connection
//! of its own (`beamai-net`), whose addresses are checked. The response is decoded and converted to text (`present`).
//! If the call has a prompt, the host's chat model answers it (`pending_consultation`), or, without a model, the text
//! is reduced to the best matching passages (`passages`).

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

/// Registers the web tools' backends.
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
