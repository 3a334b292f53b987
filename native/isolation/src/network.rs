//! What commands reach of the network: what a host says of it, what a result tells of it, and who lets it through.

use beamai_base::HostPattern;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::io;
use std::os::fd::OwnedFd;

/// What commands reach of the network, as a host states it: `true`, `false`, or a list of names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// The host has said nothing: nothing is reached, unless a permission rule names something.
    #[default]
    ByRules,
    /// Nothing, whatever rules say.
    Off,
    /// Everything, without a look at names.
    All,
    /// These names, and what rules name besides.
    Names(Vec<HostPattern>),
}

impl Network {
    /// Whether commands have the machine's own network.
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

/// What a command reached under a name, or was kept from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NetworkUse {
    /// Host and port, such as `example.com:443`; as the command had it where that is neither a name nor an address.
    pub name: String,
    /// Connections, or requests without encryption, that were made.
    pub reached: u32,
    /// Those that were refused.
    pub refused: u32,
    /// Why the last one was refused or failed; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The permission rule that would allow it; absent where none is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

/// The way out of the network namespace of a command: what connects to a socket in there is served by it.
pub trait Outlet: Send + Sync {
    /// Serves who connects to this listening socket, on threads of its own, until [`close`](Self::close).
    ///
    /// # Errors
    /// The system has no thread or descriptor left.
    fn open(&self, listener: OwnedFd) -> io::Result<()>;

    /// Ends every connection, and returns when that is done. Whoever connects after that is not served.
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
