//! The network: fetching pages and asking search engines.
//!
//! Both operations are described behind every door and run in the port only. What a call asks for is checked
//! into a `request::Plan`; the plan travels hop by hop (`journey`), each hop over a connection of its own
//! (`crate::net`), and no connection is opened to an address that its guard has not seen; what comes back is
//! decoded, turned into text (`present`) and, where the call says what it looks for, handed to the host's chat model
//! (`asked`) or, without one, reduced to the passages that matter (`passages`).

pub mod auth;
pub mod fetch;
pub mod fetched;
mod for_model;
pub(crate) mod request;
pub mod search;

#[cfg(feature = "port")]
mod asked;
#[cfg(feature = "port")]
mod charset;
#[cfg(feature = "port")]
mod engines;
#[cfg(feature = "port")]
mod journey;
#[cfg(feature = "port")]
mod markdown;
#[cfg(feature = "port")]
mod media;
#[cfg(feature = "port")]
mod passages;
#[cfg(feature = "port")]
mod present;

#[cfg(all(test, feature = "port"))]
mod tests;

/// What a door without a network answers.
#[cfg(not(feature = "port"))]
fn needs_port(tool: &str) -> crate::context::Stop {
    let message =
        format!("{tool} uses the network, which only the port program does; call it through the port");
    crate::error::ToolError::new(crate::error::Reason::DoorLost, message).into()
}

#[cfg(all(test, not(feature = "port")))]
mod without_port {
    use crate::catalogue;
    use crate::context::{CallContext, Stop};
    use crate::error::Reason;
    use serde_json::json;

    #[test]
    fn a_door_without_a_network_lists_the_tools_and_names_the_one_that_runs_them() {
        let workspace = crate::workspace::Workspace::open(std::path::Path::new("/")).unwrap();
        let cx = CallContext::new(workspace);
        for (name, args) in
            [("web_fetch", json!({"url": "http://a.example"})), ("web_search", json!({"query": "q"}))]
        {
            let tool = catalogue::find(name, Some("beamai")).unwrap();
            let Err(Stop::Failed(error)) = tool.execute(args.as_object().unwrap().clone(), &cx) else {
                panic!()
            };
            assert_eq!(error.reason, Reason::DoorLost);
            assert!(error.message.contains("port program"), "{error}");
        }
    }
}
