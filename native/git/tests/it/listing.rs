//! What hosts see of the git tools before they call them.

use super::repo::Repo;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings, catalogue};
use beamai_tool::{Door, ExecutionClass, Tool};
use beamai_workspace::Workspace;
use serde_json::{Value, json};

fn tool(name: &str) -> &'static dyn Tool {
    &**catalogue::find(name, Some("beamai")).unwrap()
}

pub(crate) fn outcome(repo: &Repo, permissions: Value, name: &str, args: Value) -> CallOutcome {
    let id = Workspace::open(repo.path()).unwrap().id();
    let settings: HostSettings =
        serde_json::from_value(json!({"workspace": id, "permissions": permissions})).unwrap();
    let call: CallRequest = serde_json::from_value(json!({"tool": name, "args": args})).unwrap();
    Host::new(&settings, crate::repo::services()).unwrap().call(call, CallOptions::default())
}

#[test]
fn readers_are_read_only_and_writers_require_permission() {
    for (name, rule, reads) in [
        ("git_status", "GitStatus", true),
        ("git_diff", "GitDiff", true),
        ("git_log", "GitLog", true),
        ("git_add", "GitAdd", false),
        ("git_commit", "GitCommit", false),
    ] {
        let traits = tool(name).traits();
        assert_eq!((traits.door, traits.pace), (Door::Port, ExecutionClass::Long), "{name}");
        assert_eq!((tool(name).rule(), traits.read_only), (rule, reads), "{name}");
        assert_eq!(tool(name).requires_permission(), !reads, "{name}");
        assert!(!traits.open_world && !traits.destructive, "{name}");
    }
}

#[test]
fn parameters_are_those_of_the_specification() {
    let of = |name: &str| serde_json::to_value(tool(name).parameters()).unwrap();
    assert_eq!(of("git_status")["short"]["default"], false);
    assert_eq!(
        (&of("git_diff")["staged"]["type"], &of("git_diff")["path"]["required"]),
        (&json!("boolean"), &json!(false))
    );
    let limit = &of("git_log")["limit"];
    assert_eq!(
        (&limit["default"], &limit["minimum"], &limit["maximum"]),
        (&json!(20), &json!(1), &json!(1000))
    );
    assert_eq!(of("git_log")["oneline"]["required"], false);
    assert_eq!(of("git_add")["path"]["required"], true);
    assert_eq!(of("git_commit").as_object().unwrap().keys().collect::<Vec<_>>(), ["message"]);
}

#[test]
fn by_default_readers_run_and_writers_ask() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("a", "2\n");
    for name in ["git_status", "git_diff", "git_log"] {
        assert!(matches!(outcome(&repo, json!({}), name, json!({})), CallOutcome::Ok(..)), "{name}");
    }
    let CallOutcome::Ask(request) = outcome(&repo, json!({}), "git_add", json!({"path": "./a"})) else {
        panic!()
    };
    assert_eq!((&request["rule"], &request["subject"]), (&json!("GitAdd"), &json!("GitAdd(a)")));
    let message = json!({"message": "it's done"});
    let CallOutcome::Ask(request) = outcome(&repo, json!({}), "git_commit", message) else { panic!() };
    assert_eq!(request["subject"], "GitCommit(git commit -m 'it'\\''s done')");
    assert_eq!(repo.git(&["status", "--short"]), " M a\n");
}

#[test]
fn rules_allow_and_deny() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("a", "2\n");
    let asking = json!({"allow": ["GitAdd"], "ask": ["Read(a)"]});
    assert!(matches!(outcome(&repo, asking, "git_add", json!({"path": "a"})), CallOutcome::Ask(..)));
    let allow = json!({"allow": ["GitAdd"]});
    assert!(matches!(outcome(&repo, allow, "git_add", json!({"path": "a"})), CallOutcome::Ok(..)));
    // A diff and a log tell what is in files, so a rule on reading holds for them.
    for name in ["git_diff", "git_log"] {
        assert!(matches!(outcome(&repo, json!({"deny": ["Read"]}), name, json!({})), CallOutcome::Error(_)));
        let only_read = json!({"allow": ["Read"], "default": "deny"});
        assert!(matches!(outcome(&repo, only_read, name, json!({})), CallOutcome::Ok(..)));
    }
}
