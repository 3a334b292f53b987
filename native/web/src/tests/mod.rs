//! Fetches and searches against real servers on loopback addresses, and on no others.

mod attacks;
mod bounds;
mod calls;
mod content;
mod credentials;
mod redirects;
mod searches;
mod tls;

use super::present;
use beamai_base::{Reason, Result, ToolError};
use beamai_net::{Addresses, Resolve, Transport};
use beamai_port_tools::web::{fetch::WebFetch, fetched::WebFetchOutput};
use beamai_schema as schema;
use beamai_testserver::TestServer;
use beamai_tool::{CallContext, Interrupt};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A call that may reach these servers.
fn reaching(servers: &[&TestServer]) -> CallContext {
    let addresses: Vec<String> = servers.iter().map(|server| server.address.to_string()).collect();
    with_settings(json!({"allow_addresses": addresses}))
}

/// A call under these settings.
fn with_settings(settings: Value) -> CallContext {
    let workspace = Workspace::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    CallContext { web: Arc::new(serde_json::from_value(settings).unwrap()), ..CallContext::new(workspace) }
}

/// The arguments as the engine would decode them.
fn call(args: Value) -> WebFetch {
    let Value::Object(args) = args else { panic!("arguments are a map") };
    let checked = schema::check(&schema::parameters_of::<WebFetch>(), args).unwrap();
    serde_json::from_value(Value::Object(checked)).unwrap()
}

fn try_fetch(cx: &CallContext, args: Value) -> Result<WebFetchOutput> {
    without_model(present::fetch(&call(args), cx, Transport::of(&cx.web)))
}

/// What a fetch comes to where there is no model to ask.
fn without_model(ended: Result<WebFetchOutput, Interrupt>) -> Result<WebFetchOutput> {
    ended.map_err(|stop| match stop {
        Interrupt::Failed(error) => error,
        other => panic!("{other:?}"),
    })
}

fn fetch(server: &TestServer, args: Value) -> WebFetchOutput {
    try_fetch(&reaching(&[server]), args).unwrap()
}

fn get(server: &TestServer, path: &str) -> WebFetchOutput {
    fetch(server, json!({"url": server.url(path)}))
}

fn note(fetched: &WebFetchOutput) -> &str {
    fetched.note.as_deref().unwrap_or_default()
}

fn assert_denied(error: &ToolError) {
    assert_eq!(error.reason, Reason::Denied, "{error}");
}

/// A resolver with a list of answers, one for each time it is asked; the last one stays.
struct Script(Mutex<VecDeque<std::result::Result<Vec<SocketAddr>, &'static str>>>, Mutex<usize>);

impl Script {
    fn of(
        answers: impl IntoIterator<Item = std::result::Result<Vec<SocketAddr>, &'static str>>,
    ) -> Arc<Self> {
        Arc::new(Self(Mutex::new(answers.into_iter().collect()), Mutex::new(0)))
    }

    fn asked(&self) -> usize {
        *self.1.lock().unwrap()
    }
}

impl Resolve for Script {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> Addresses<'a> {
        *self.1.lock().unwrap() += 1;
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { answer.unwrap().map_err(std::io::Error::other) })
    }
}
