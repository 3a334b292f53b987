//! Rules that keep a directory from tools, each in its own way.

use super::fixture::Fixture;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings};
use beamai_workspace::Workspace;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Rules deny it, and all else is allowed.
    Deny,
    /// Rules allow all else.
    Allow,
    /// Rules ask about it, and the person who is asked refuses.
    AskRule,
    /// A person is asked about everything, and allows what is shown to be elsewhere.
    AskAll,
}

const TOOLS: [&str; 5] = ["Read", "Edit", "Write", "Glob", "Grep"];
// One rule has to cover the path as it is written and the one where it leads.
const ELSEWHERE: [&str; 3] = ["./f", "./g", "{d,e,p,q,open}/**"];

impl Policy {
    pub(crate) const ALL: [Self; 4] = [Self::Deny, Self::Allow, Self::AskRule, Self::AskAll];

    pub(crate) fn host(self, fixture: &Fixture) -> Host {
        let rules = |paths: &[&str]| -> Vec<String> {
            paths.iter().flat_map(|path| TOOLS.map(|tool| format!("{tool}({path})"))).collect()
        };
        let permissions = match self {
            Self::Deny => json!({"default": "allow", "deny": rules(&["kept/**"])}),
            Self::Allow => json!({"default": "deny", "allow": rules(&ELSEWHERE)}),
            Self::AskRule => json!({"default": "allow", "ask": rules(&["kept/**"])}),
            Self::AskAll => json!({"default": "ask"}),
        };
        let id = Workspace::open(fixture.root()).unwrap().id();
        let settings: HostSettings =
            serde_json::from_value(json!({"workspace": id, "permissions": permissions})).unwrap();
        Host::new(&settings, std::sync::Arc::default()).unwrap()
    }

    /// The result as text, or why there is none.
    pub(crate) fn call(self, host: &Host, tool: &str, args: Value) -> Result<String, String> {
        let mut call: CallRequest = serde_json::from_value(json!({"tool": tool, "args": args})).unwrap();
        let mut asked = host.call(call.clone(), CallOptions::default());
        if let CallOutcome::Ask(request) = &asked {
            let is_elsewhere = !request["subject"].as_str().unwrap().contains("kept");
            if !is_elsewhere || self == Self::AskRule {
                return Err("refused".into());
            }
            call.approved = Some(request["fingerprint"].as_str().unwrap().to_owned());
            asked = host.call(call, CallOptions::default());
        }
        match asked {
            CallOutcome::Ok(value, _) => Ok(value.to_string()),
            CallOutcome::Error(error) => Err(error.to_value().to_string()),
            other => Err(format!("{other:?}")),
        }
    }
}
