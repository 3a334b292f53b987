//! Network access of commands: the host's setting, the report in a result, and the service for connections.

use beamai_base::HostPattern;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::io;
use std::os::fd::OwnedFd;

/// The host's setting for network access: `true`, `false`, or a list of names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// Not set: no access, except for names that permission rules allow.
    #[default]
    ByRules,
    /// No access, whatever rules say.
    Off,
    /// Unrestricted access; names are not checked.
    All,
    /// Access to these names, and to those that rules allow.
    Names(Vec<HostPattern>),
}

impl Network {
    /// Whether commands use the machine's own network.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = |what: String| D::Error::custom(format!("network: {what}"));
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(Self::All),
            Value::Bool(false) => Ok(Self::Off),
            Value::Array(names) => {
                let name = |name: &Value| match name {
                    Value::String(text) => HostPattern::parse(text),
                    other => Err(format!("{other} is not the name of a host")),
                };
                names.iter().map(name).collect::<Result<_, _>>().map(Self::Names).map_err(wrong)
            }
            other => Err(wrong(format!("{other} is neither true, false nor a list of names"))),
        }
    }
}

/// A name that a command reached, or was prevented from reaching.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NetworkUse {
    /// Host and port, such as `example.com:443`; the text given by the command if it is neither a name nor an address.
    pub name: String,
    /// Number of connections, or of unencrypted requests.
    pub reached: u32,
    /// Number of refused ones.
    pub refused: u32,
    /// Why the last one was refused or failed; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The permission rule that would allow it; absent if none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// How the host allows it; absent if no rule does, or none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configure: Option<String>,
}

/// Serves the network connections of a command, which arrive at a socket in its network namespace.
pub trait Outlet: Send + Sync {
    /// Serves connections to this listening socket on its own threads, until [`close`](Self::close).
    ///
    /// # Errors
    /// If the system has no threads or descriptors left.
    fn open(&self, listener: OwnedFd) -> io::Result<()>;

    /// Closes all connections; returns when that is done. Later connections are not served.
    fn close(&self);
}

impl std::fmt::Debug for dyn Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outlet")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn it_is_on_off_or_by_name() {
        assert_eq!(from_value::<Network>(json!(true)).unwrap(), Network::All);
        assert_eq!(from_value::<Network>(json!(false)).unwrap(), Network::Off);
        assert_eq!(from_value::<Network>(json!([])).unwrap(), Network::Names(Vec::new()));
        for (value, part) in [
            (json!("all"), "all"),
            (json!(["https://x"]), "https://x"),
            (json!([1]), "1 is not"),
            (json!(null), "null"),
        ] {
            let error = from_value::<Network>(value).unwrap_err().to_string();
            assert!(error.starts_with("network: ") && error.contains(part), "{error}");
        }
    }
}
