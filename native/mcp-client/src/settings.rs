//! A server as the host states it.

use beamai_isolation::SandboxSettings;
use beamai_tool::web_settings;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

/// A server as the host states it.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpServerSettings {
    /// The host's name for it, a part of the names of its tools.
    pub(super) name: String,
    #[serde(rename = "way")]
    pub(super) transport: TransportSettings,
    /// Milliseconds that it may take until it is ready.
    pub(super) start_timeout: u64,
    /// Milliseconds without a call after which it is ended; absent for never.
    #[serde(default)]
    pub(super) idle_timeout: Option<u64>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TransportSettings {
    /// It is started here, and spoken to over its streams.
    Stdio(StdioSettings),
    /// It is somewhere, and spoken to over HTTP.
    Http(HttpSettings),
}

/// A program to start.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StdioSettings {
    /// Absolute path of the program, or its name on the `PATH`.
    pub(super) command: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    /// Variables besides those that every program gets.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// The directory that it starts in, of the workspace; its top when absent.
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// Instead of the host's.
    #[serde(default)]
    pub(super) sandbox: Option<SandboxSettings>,
}

/// Where a server is.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpSettings {
    pub(super) url: String,
    /// What goes along with every request.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// Addresses that the name in the URL may lead to though they are not public.
    #[serde(default, deserialize_with = "web_settings::addresses")]
    pub(super) allow_addresses: Vec<SocketAddr>,
    /// Whether headers may go to other machines in clear text.
    #[serde(default)]
    pub(super) insecure: bool,
}

/// Variables, headers and addresses may hold secrets: they are not shown.
impl fmt::Debug for McpServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings").field("name", &self.name).finish_non_exhaustive()
    }
}

impl McpServerSettings {
    /// Whether both name the same server, however long it may take and be kept.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.transport == other.transport
    }
}
