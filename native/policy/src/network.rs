//! The host names that commands may connect to: those listed by the host, and rules such as `Network(domain:example.com)`.

use super::pattern::RulePattern;
use super::rule::PermissionRule;
use super::{Policy, PolicyMode};
use beamai_base::{Destination, Domains, HostPattern, Reason, Result, ToolError};
use beamai_isolation::{Network, SandboxMode, SandboxSettings};
use std::sync::Arc;

/// The canonical name of rules about connections of commands.
pub const NETWORK: &str = "Network";

/// Why names cannot be enforced.
const ALL: &str = "the network is switched on as a whole";
const OFF: &str = "the sandbox is off";

/// The host names that commands may connect to.
#[derive(Debug, Clone)]
pub struct NetworkPolicy {
    policy: Arc<Policy>,
    /// The names listed in the sandbox settings.
    names: Vec<HostPattern>,
    /// The addresses that no tool may reach.
    blocked: Domains,
}

/// The decision about a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkVerdict {
    /// It is allowed.
    Allow,
    /// It is refused for this reason. With the rule that would allow it, if there is one.
    Refuse(String, Option<String>),
    /// It needs approval.
    Ask {
        /// The rule that requires approval.
        rule: Option<String>,
        /// The rule that would allow it.
        wanted: String,
    },
}

impl NetworkPolicy {
    /// The names that commands may connect to; `None` if they may connect anywhere, or nowhere.
    ///
    /// # Errors
    /// `invalid_argument` if names, rules or credentials cannot be enforced: with the network open, or without a sandbox.
    pub fn of(policy: &Arc<Policy>, sandbox: &SandboxSettings, blocked: &Domains) -> Result<Option<Self>> {
        let rules = || policy.allow.iter().chain(&policy.ask).chain(&policy.deny);
        if !sandbox.credentials.is_empty() {
            match (&sandbox.network, sandbox.mode) {
                (Network::All, _) => return Err(unenforced("credentials", ALL)),
                (_, SandboxMode::Off) => return Err(unenforced("credentials", OFF)),
                _ => {}
            }
        }
        let rule = rules().find(|rule| rule.tool == NETWORK);
        let opens = policy.allow.iter().chain(&policy.ask).any(|rule| rule.tool == NETWORK);
        let names = match (&sandbox.network, rule) {
            (Network::Off, _) | (Network::ByRules, None) => return Ok(None),
            (Network::All, None) => return Ok(None),
            (Network::All, Some(rule)) => {
                return Err(unenforced(&rule.text, ALL));
            }
            (Network::ByRules, Some(_)) if !opens => return Ok(None),
            (Network::ByRules, Some(rule)) if sandbox.mode == SandboxMode::Off => {
                return Err(unenforced(&rule.text, OFF));
            }
            (Network::Names(_), _) if sandbox.mode == SandboxMode::Off => {
                return Err(unenforced("network", OFF));
            }
            (Network::ByRules, Some(_)) => Vec::new(),
            (Network::Names(names), _) => names.clone(),
        };
        Ok(Some(Self { policy: Arc::clone(policy), names, blocked: blocked.clone() }))
    }

    /// Decides about a connection: deny rules take precedence over ask rules, and these over allow rules. Without a
    /// matching rule it needs approval, even if the default mode is `allow`; with the mode `deny` it is refused. An IP
    /// address that no rule names is always refused.
    pub fn judge(&self, to: &Destination) -> NetworkVerdict {
        let first = |rules: &'_ [PermissionRule]| {
            rules.iter().find(|rule| covers(rule, to)).map(|rule| rule.text.clone())
        };
        let wanted = wanted(to);
        if let Some(rule) = first(&self.policy.deny) {
            return NetworkVerdict::Refuse(format!("the permission rule {rule} denies it"), None);
        }
        if let Some(entry) = to.url().as_ref().and_then(|url| self.blocked.covering(url)) {
            return NetworkVerdict::Refuse(format!("the host blocks {entry}"), None);
        }
        if let Some(rule) = first(&self.policy.ask) {
            return NetworkVerdict::Ask { rule: Some(rule), wanted };
        }
        if first(&self.policy.allow).is_some() || self.names.iter().any(|name| name.covers(to)) {
            return NetworkVerdict::Allow;
        }
        match (to.is_address(), self.policy.default) {
            (true, _) => {
                NetworkVerdict::Refuse("it is an address, and no rule names it".to_owned(), Some(wanted))
            }
            (false, PolicyMode::Deny) => {
                NetworkVerdict::Refuse("the permissions deny what no rule allows".to_owned(), Some(wanted))
            }
            (false, _) => NetworkVerdict::Ask { rule: None, wanted },
        }
    }

    /// The same with a further allow rule.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule and for one that is not about the network.
    pub fn with_rule(&self, rule: &str) -> Result<Self> {
        Ok(Self { policy: Arc::new(self.policy.with_rule_about(NETWORK, rule)?), ..self.clone() })
    }
}

/// A rule without a pattern means every name. IP addresses have to be named explicitly.
fn covers(rule: &PermissionRule, to: &Destination) -> bool {
    rule.tool == NETWORK
        && match &rule.pattern {
            None => !to.is_address(),
            Some(RulePattern::Host(pattern)) => pattern.covers(to),
            Some(_) => false,
        }
}

/// The rule that allows a destination: on the usual ports, every port of the name.
fn wanted(to: &Destination) -> String {
    match to.port() {
        80 | 443 => format!("{NETWORK}(domain:{})", to.host()),
        _ => format!("{NETWORK}(domain:{to})"),
    }
}

fn unenforced(what: &str, why: &str) -> ToolError {
    let message = format!(
        "{what} cannot hold: {why}, so nobody looks at the names that commands connect to; list names in the sandbox's \
         network (\"*\" for every name), with the sandbox on"
    );
    ToolError::new(Reason::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicyText;
    use beamai_workspace::Workspace;
    use serde_json::{Value, json};

    fn policy(rules: Value, sandbox: Value) -> Result<Option<NetworkPolicy>> {
        let text: PolicyText = serde_json::from_value(rules).unwrap();
        let sandbox: SandboxSettings = serde_json::from_value(sandbox).unwrap();
        let workspace = Workspace::open(std::path::Path::new("/")).unwrap();
        let policy = Policy::new(&text, &["Bash", NETWORK], &|_| None, &workspace)?;
        NetworkPolicy::of(
            &Arc::new(policy),
            &sandbox,
            &Domains::parse(&["blocked.example".to_owned()]).unwrap(),
        )
    }

    fn verdict(policy: &NetworkPolicy, to: &str) -> &'static str {
        match policy.judge(&Destination::parse(to, None).unwrap()) {
            NetworkVerdict::Allow => "allow",
            NetworkVerdict::Refuse(..) => "refuse",
            NetworkVerdict::Ask { .. } => "ask",
        }
    }

    #[test]
    fn deny_beats_ask_beats_allow_and_what_the_host_lists_is_allowed() {
        let rules = json!({
            "allow": ["Network(domain:a.example)", "Network(domain:b.example)"],
            "ask": ["Network(domain:b.example)", "Network(domain:c.a.example)"],
            "deny": ["Network(domain:d.a.example)", "Network(domain:e.example:80)"], "default": "allow"});
        let sandbox = json!({"network": ["e.example", "blocked.example", "10.0.0.1:80"]});
        let policy = policy(rules, sandbox).unwrap().unwrap();
        for (to, expected) in [
            ("a.example:443", "allow"),
            ("x.a.example:8080", "allow"),
            ("b.example:443", "ask"),
            ("c.a.example:443", "ask"),
            ("d.a.example:443", "refuse"),
            ("e.example:443", "allow"),
            ("e.example:80", "refuse"),
            ("x.e.example:443", "ask"),
            ("blocked.example:443", "refuse"),
            ("other.example:443", "ask"),
            ("10.0.0.1:80", "allow"),
            ("10.0.0.1:81", "refuse"),
            ("1.1.1.1:443", "refuse"),
        ] {
            assert_eq!(verdict(&policy, to), expected, "{to}");
        }
        assert_eq!(
            verdict(&policy.with_rule("Network(domain:other.example)").unwrap(), "other.example:443"),
            "allow"
        );
        assert!(policy.with_rule("Bash(x)").is_err());
    }

    #[test]
    fn a_bare_rule_means_every_name_and_no_address() {
        let open = policy(json!({"allow": ["Network"]}), json!("required")).unwrap().unwrap();
        assert_eq!(verdict(&open, "any.example:443"), "allow");
        assert_eq!(verdict(&open, "1.1.1.1:443"), "refuse");
        let closed = policy(json!({"deny": ["Network"], "allow": ["Network"]}), json!({"network": ["*"]}));
        assert_eq!(verdict(&closed.unwrap().unwrap(), "any.example:443"), "refuse");
        let strict = policy(json!({"default": "deny"}), json!({"network": []})).unwrap().unwrap();
        assert_eq!(verdict(&strict, "any.example:443"), "refuse");
    }

    #[test]
    fn it_is_on_by_names_or_by_rules_that_open_something() {
        let allow = json!({"allow": ["Network(domain:a.example)"]});
        let is_on = |rules: &Value, sandbox: Value| policy(rules.clone(), sandbox).unwrap().is_some();
        assert!(is_on(&allow, json!("required")) && is_on(&json!({}), json!({"network": []})));
        assert!(!is_on(&allow, json!({"network": false})) && !is_on(&json!({}), json!({"network": true})));
        assert!(
            !is_on(&json!({}), json!("required")) && !is_on(&json!({"deny": ["Network"]}), json!("required"))
        );
        for (rules, sandbox) in [
            (json!({"deny": ["Network(domain:a.example)"]}), json!({"network": true})),
            (allow, json!("off")),
            (json!({}), json!({"mode": "off", "network": ["a.example"]})),
            (json!({}), json!({"network": true, "credentials": {"a.example": {"X": "y"}}})),
            (json!({}), json!({"mode": "off", "credentials": {"a.example": {"X": "y"}}})),
        ] {
            let error = policy(rules, sandbox).unwrap_err();
            assert!(error.message.contains("cannot hold"), "{}", error.message);
        }
    }

    #[test]
    fn a_rule_says_what_it_takes() {
        for (rule, part) in [
            ("Network(example.com)", "domain:example.com"),
            ("Network(domain:*.example.com)", "write example.com"),
            ("Network(domain:a b)", "not a domain"),
        ] {
            let error = policy(json!({"allow": [rule]}), json!("required")).unwrap_err();
            assert!(error.message.contains(part), "{}", error.message);
        }
        let examples = json!({"allow": [
            {"rule": "Network(domain:a.example)", "match": ["b.a.example", "a.example:80"], "no_match": ["ba.example"]}]});
        assert!(policy(examples, json!("required")).is_ok());
    }
}
