//! The host's settings of a server.

use beamai_isolation::SandboxSettings;
use beamai_tool::web_settings;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

/// The host's settings of a server.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpServerSettings {
    /// The host's name for it, which is part of its tools' names.
    pub(super) name: String,
    #[serde(rename = "way")]
    pub(super) transport: TransportSettings,
    /// Milliseconds until which it must be ready.
    pub(super) start_timeout: u64,
    /// Milliseconds without a call after which it is stopped; absent for never.
    #[serde(default)]
    pub(super) idle_timeout: Option<u64>,
}

/// How to reach a server.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TransportSettings {
    /// A child process, over its standard streams.
    Stdio(StdioSettings),
    /// A URL, over HTTP.
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
    /// Environment variables besides the common ones.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Its working directory within the workspace; the workspace itself when absent.
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// Replaces the host's sandbox settings.
    #[serde(default)]
    pub(super) sandbox: Option<Box<SandboxSettings>>,
}

/// A URL and its options.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpSettings {
    pub(super) url: String,
    /// Headers of every request.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// Addresses that the host in the URL may resolve to although they are not public.
    #[serde(default, deserialize_with = "web_settings::addresses")]
    pub(super) allow_addresses: Vec<SocketAddr>,
    /// Whether headers may be sent to other machines in clear text.
    #[serde(default)]
    pub(super) insecure: bool,
}

/// Environment variables, headers and URLs may contain secrets: they are not shown.
impl fmt::Debug for McpServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings").field("name", &self.name).finish_non_exhaustive()
    }
}

impl McpServerSettings {
    /// Whether both are for the same server, apart from timeouts.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.transport == other.transport
    }
}
