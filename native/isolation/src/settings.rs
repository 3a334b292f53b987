//! How a host wants what the port starts to be isolated, as plain data.

use crate::Network;
use beamai_base::{Reason, Result, ToolError};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::str::FromStr;

/// How much isolation a command needs before it may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Every layer of the least tier that is accepted, or nothing runs.
    #[default]
    Required,
    /// Whatever layers there are; the result says which.
    BestEffort,
    /// None beyond the reaper.
    Off,
}

/// How far apart from the machine commands are kept, from most to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Every layer: namespaces, mounts, Landlock, filters of system calls.
    #[default]
    Full,
    /// What holds without namespaces: Landlock, filters of system calls, limits, and the reaper.
    Landlock,
}

/// Layers that a host may do without, while the others are required.
pub const DISPENSABLE: [&str; 4] = ["private_proc", "resource_limits", "landlock", "signal_scope"];

/// When a result says what stood between its command and the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IsolationReporting {
    /// Where a layer was off, or did not keep all that it is for.
    #[default]
    WhenOff,
    /// With every command.
    Always,
}

/// Fewest bytes of memory that a command can be given: less, and a shell does not start.
const LEAST_MEMORY: u64 = 16 << 20;

/// The sandbox of a host. Written as a mode alone, or as an object of these fields.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, remote = "Self")]
pub struct SandboxSettings {
    /// How much of it must be there.
    pub mode: SandboxMode,
    /// The least tier that the mode `required` accepts. The best one that the machine has is taken.
    pub tier: Tier,
    /// Layers that are not wanted, of [`DISPENSABLE`].
    pub without: Vec<String>,
    /// What commands reach of the network. Without it, they have a loopback interface of their own and nothing else.
    pub network: Network,
    /// Whether commands may open UNIX sockets, with which the machine's services could be talked to.
    pub unix_sockets: bool,
    /// Paths that can be read although they are hidden by default. Relative ones are taken from the workspace.
    pub readable: Vec<String>,
    /// Paths that can be written besides the workspace and the temporary directory; a protected path that is listed
    /// here is not protected. Relative ones are taken from the workspace.
    pub writable: Vec<String>,
    /// Names of the host's environment variables that commands see besides the usual ones.
    pub env: Vec<String>,
    /// Most bytes of memory of each process, and of all of them together. When absent, each has half of the machine's at
    /// most, and all of them three quarters.
    pub memory: Option<u64>,
    /// Most processes and threads at a time; 2,048 when absent.
    pub processes: Option<u32>,
    /// Most seconds of CPU time of each process; without a limit when absent.
    pub cpu: Option<u64>,
    /// Most bytes of a file that is written; without a limit when absent.
    pub file_size: Option<u64>,
    /// When results say how their commands were isolated.
    pub report: IsolationReporting,
}

impl<'de> Deserialize<'de> for SandboxSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value {
            Value::String(text) => return text.parse().map_err(D::Error::custom),
            // Not this function: what serde derives for the fields.
            other => Self::deserialize(other),
        }
        .map_err(|error| D::Error::custom(format!("sandbox: {error}")))
    }
}

/// A mode, or `required` with the least tier that is accepted: `required:landlock`.
impl FromStr for SandboxSettings {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (mode, tier) = match text {
            "required" | "required:full" => (SandboxMode::Required, Tier::Full),
            "required:landlock" => (SandboxMode::Required, Tier::Landlock),
            "best_effort" => (SandboxMode::BestEffort, Tier::Full),
            "off" => (SandboxMode::Off, Tier::Full),
            other => {
                return Err(format!(
                    "there is no sandbox {other:?}; there are: required, required:full, required:landlock, best_effort, off"
                ));
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
    /// Refuses what can never work.
    ///
    /// # Errors
    /// `invalid_argument` that names the field.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(ToolError::new(Reason::InvalidArgument, message));
        if let Some(path) = self.readable.iter().chain(&self.writable).find(|path| !is_path(path)) {
            return refuse(format!(
                "sandbox: {path:?} in readable or writable is not a path; give an absolute one, or one relative to the \
                 workspace"
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
    fn what_is_wrong_is_named() {
        for (value, part) in [
            (json!("strict"), "strict"),
            (json!("off:landlock"), "off:landlock"),
            (json!({"tier": "none"}), "none"),
            (json!({"netwrok": true}), "netwrok"),
        ] {
            let error = read(value).unwrap_err().to_string();
            assert!(error.contains("sandbox") && error.contains(part), "{error}");
        }
        for (value, part) in [
            (json!({"writable": ["~/x"]}), "~/x"),
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
