//! The host's sandbox settings, as plain data.

use crate::{HostCredentials, Network};
use beamai_base::{Reason, Result, SettingsMap, ToolError};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::str::FromStr;

/// Which layers are required for a command to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// All layers of the minimum tier; otherwise nothing runs.
    #[default]
    Required,
    /// The available layers; the result lists them.
    BestEffort,
    /// No isolation except for the reaper.
    Off,
}

/// Tiers of isolation, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// All layers: namespaces, mounts, Landlock, system call filters.
    #[default]
    Full,
    /// The layers that need no namespaces: Landlock, system call filters, limits, and the reaper.
    Landlock,
}

/// The sandboxes that a single word names.
pub const SANDBOXES: [&str; 5] = ["required", "required:full", "required:landlock", "best_effort", "off"];

/// Layers that a host may give up while all others are required.
pub const DISPENSABLE: [&str; 4] = ["private_proc", "resource_limits", "landlock", "signal_scope"];

/// When a result reports the isolation of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IsolationReporting {
    /// If a layer was missing or only partly effective.
    #[default]
    WhenOff,
    /// Always.
    Always,
}

/// Minimum memory limit of a command in bytes; with less, a shell does not start.
const LEAST_MEMORY: u64 = 16 << 20;

/// The host's sandbox settings: a mode, or an object with these fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxSettings {
    /// Which layers are required.
    pub mode: SandboxMode,
    /// The minimum tier for the mode `required`. The best tier that the machine supports is used.
    pub tier: Tier,
    /// Layers to give up, from [`DISPENSABLE`].
    pub without: Vec<String>,
    /// Network access. By default commands only have a loopback interface of their own.
    pub network: Network,
    /// Headers that are added to commands' requests to some names.
    pub credentials: HostCredentials,
    /// Whether commands may open UNIX sockets, by which they could reach the machine's services.
    pub unix_sockets: bool,
    /// Paths that are readable although they are hidden by default. Relative to the workspace.
    pub readable: Vec<String>,
    /// Paths that are writable besides the workspace and the temporary directory. A protected path in this list is not
    /// protected. Relative to the workspace.
    pub writable: Vec<String>,
    /// Absolute paths that are hidden besides the known places of secrets: settings files with credentials.
    pub hidden: Vec<String>,
    /// Environment variables of the host that commands see besides the default ones.
    pub env: Vec<String>,
    /// Maximum bytes of memory per process, and in total. Default: half of the machine's memory per process, three
    /// quarters in total.
    pub memory: Option<u64>,
    /// Maximum number of processes and threads; 2,048 by default.
    pub processes: Option<u32>,
    /// Maximum seconds of CPU time per process; no limit by default.
    pub cpu: Option<u64>,
    /// Maximum size of a written file in bytes; no limit by default.
    pub file_size: Option<u64>,
    /// When results report the isolation of their commands.
    pub report: IsolationReporting,
}

impl<'de> Deserialize<'de> for SandboxSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse().map_err(D::Error::custom),
            other => Self::of(other).map_err(D::Error::custom),
        }
    }
}

/// The fields that a host can set.
const FIELDS: [&str; 14] = [
    "mode",
    "tier",
    "without",
    "network",
    "credentials",
    "unix_sockets",
    "readable",
    "writable",
    "env",
    "memory",
    "processes",
    "cpu",
    "file_size",
    "report",
];

impl SandboxSettings {
    fn of(value: Value) -> std::result::Result<Self, String> {
        let mut settings = SettingsMap::new("sandbox", value, &FIELDS)?;
        let (paths, number) = ("a list of paths", "a whole number");
        Ok(Self {
            mode: settings.take("mode", "\"required\", \"best_effort\" or \"off\"")?.unwrap_or_default(),
            tier: settings.take("tier", "\"full\" or \"landlock\"")?.unwrap_or_default(),
            without: settings.take("without", "a list of layers")?.unwrap_or_default(),
            network: settings.take_with("network", named)?.unwrap_or_default(),
            credentials: settings.take_with("credentials", named)?.unwrap_or_default(),
            unix_sockets: settings.take("unix_sockets", "true or false")?.unwrap_or_default(),
            readable: settings.take("readable", paths)?.unwrap_or_default(),
            writable: settings.take("writable", paths)?.unwrap_or_default(),
            hidden: Vec::new(),
            env: settings.take("env", "a list of names of variables")?.unwrap_or_default(),
            memory: settings.take("memory", "a whole number of bytes")?,
            processes: settings.take("processes", number)?,
            cpu: settings.take("cpu", "a whole number of seconds")?,
            file_size: settings.take("file_size", "a whole number of bytes")?,
            report: settings.take("report", "\"when_off\" or \"always\"")?.unwrap_or_default(),
        })
    }
}

/// Reads a field whose type names it in its errors.
fn named<T: DeserializeOwned>(value: Value) -> std::result::Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("sandbox: {error}"))
}

/// A mode, or `required` with a minimum tier: `required:landlock`.
impl FromStr for SandboxSettings {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (mode, tier) = match text {
            "required" | "required:full" => (SandboxMode::Required, Tier::Full),
            "required:landlock" => (SandboxMode::Required, Tier::Landlock),
            "best_effort" => (SandboxMode::BestEffort, Tier::Full),
            "off" => (SandboxMode::Off, Tier::Full),
            other => {
                return Err(format!("there is no sandbox {other:?}; there are: {}", SANDBOXES.join(", ")));
            }
        };
        Ok(Self { mode, tier, ..Self::default() })
    }
}

impl From<SandboxMode> for SandboxSettings {
    fn from(mode: SandboxMode) -> Self {
        Self { mode, ..Self::default() }
    }
}

impl SandboxSettings {
    /// Rejects settings that can never work.
    ///
    /// # Errors
    /// `invalid_argument`, naming the field.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(ToolError::new(Reason::InvalidArgument, message));
        if let Some(path) = self.readable.iter().chain(&self.writable).find(|path| !is_path(path)) {
            return refuse(format!(
                "sandbox: {path:?} in readable or writable is not a path; give an absolute one, or one relative to the \
                 workspace"
            ));
        }
        if let Some(path) = self.readable.iter().chain(&self.writable).find(|path| is_root(path)) {
            return refuse(format!(
                "sandbox: {path:?} in readable or writable is the whole machine; name the directories that commands need"
            ));
        }
        if let Some(name) = self.without.iter().find(|name| !DISPENSABLE.contains(&name.as_str())) {
            return refuse(format!(
                "sandbox: {name:?} in without is not a layer that can be done without; these can: {}",
                DISPENSABLE.join(", ")
            ));
        }
        if let Some(name) = self.env.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return refuse(format!("sandbox: {name:?} in env is not the name of a variable"));
        }
        if let Some(memory) = self.memory.filter(|memory| *memory < LEAST_MEMORY) {
            return refuse(format!("sandbox: memory is {memory} bytes and must be {LEAST_MEMORY} or more"));
        }
        for (name, value) in
            [("processes", self.processes.map(u64::from)), ("cpu", self.cpu), ("file_size", self.file_size)]
        {
            if value == Some(0) {
                return refuse(format!("sandbox: {name} is 0 and must be above it"));
            }
        }
        Ok(())
    }
}

/// Whether an absolute path leads to `/` by its names.
fn is_root(text: &str) -> bool {
    text.starts_with('/') && text.split('/').all(|name| matches!(name, "" | "." | ".."))
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('~') && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<SandboxSettings, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn a_mode_alone_is_a_sandbox_and_required_is_the_default() {
        assert_eq!(read(json!("off")).unwrap().mode, SandboxMode::Off);
        let whole = read(json!({"network": true, "memory": 1 << 30})).unwrap();
        assert_eq!(
            (whole.mode, whole.network, whole.memory),
            (SandboxMode::Required, Network::All, Some(1 << 30))
        );
        assert_eq!(SandboxSettings::default().network, Network::ByRules);
    }

    #[test]
    fn the_least_tier_is_part_of_the_mode_or_a_field() {
        for value in [json!("required:landlock"), json!({"tier": "landlock"})] {
            let settings = read(value).unwrap();
            assert_eq!((settings.mode, settings.tier), (SandboxMode::Required, Tier::Landlock));
        }
        assert_eq!(read(json!("required:full")).unwrap(), SandboxSettings::default());
        assert!(read(json!({"without": ["private_proc"]})).unwrap().check().is_ok());
    }

    #[test]
    fn every_named_sandbox_is_one() {
        assert!(SANDBOXES.iter().all(|name| name.parse::<SandboxSettings>().is_ok()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (value, part) in [
            (json!("strict"), "strict"),
            (json!("off:landlock"), "off:landlock"),
            (json!({"tier": "none"}), r#"sandbox.tier must be "full" or "landlock", not "none""#),
            (json!({"netwrok": true}), "sandbox.netwrok is not a setting; did you mean network?"),
            (json!({"env": "HOME"}), r#"sandbox.env must be a list of names of variables, not "HOME""#),
            (json!({"memory": -1}), "sandbox.memory must be a whole number of bytes, not -1"),
            (json!({"network": 5}), "sandbox: network: 5 is neither true, false nor a list of names"),
            (json!(7), "sandbox must be an object of mode"),
            (json!({"credentials": {"a b": {"X": "y"}}}), "a b"),
        ] {
            let error = read(value).unwrap_err().to_string();
            assert!(error.contains("sandbox") && error.contains(part), "{error}");
        }
        for (value, part) in [
            (json!({"writable": ["~/x"]}), "~/x"),
            (json!({"readable": ["/./"]}), "the whole machine"),
            (json!({"env": ["A=B"]}), "A=B"),
            (json!({"without": ["seccomp"]}), "seccomp"),
            (json!({"memory": 5}), "memory"),
            (json!({"cpu": 0}), "cpu"),
        ] {
            let error = read(value).unwrap().check().unwrap_err();
            assert!(error.message.contains(part), "{}", error.message);
        }
    }
}
