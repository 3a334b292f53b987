//! What a patch asks leave for.

use super::*;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host};

/// Changes `edited` and `gone`, makes `made`, renames `old` to `new`.
const PATCH: &str = "--- a/edited\n+++ b/edited\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+m\n\
    --- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/old b/new\nrename from old\nrename to new\n";

fn fixture() -> Fixture {
    Fixture::with([("edited", "x\n"), ("gone", "x\n"), ("old", "x\n")])
}

fn host(fixture: &Fixture, permissions: Value) -> Host {
    let settings = json!({"workspace": fixture.cx.workspace.id(), "permissions": permissions});
    Host::new(&serde_json::from_value(settings).unwrap(), std::sync::Arc::default()).unwrap()
}

fn call(patch: &str) -> CallRequest {
    serde_json::from_value(json!({"tool": "file_patch", "args": {"patch": patch}})).unwrap()
}

fn asked(fixture: &Fixture, permissions: Value, patch: &str) -> Option<Value> {
    match host(fixture, permissions).call(call(patch), CallOptions::default()) {
        CallOutcome::Ask(request) => Some(request),
        CallOutcome::Ok(..) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_request_names_all_files() {
    let fixture = fixture();
    let before = fixture.tree();
    let request = asked(&fixture, json!({}), PATCH).unwrap();
    assert_eq!(fixture.tree(), before);
    assert_eq!(request["subject"], "Edit(edited), Write(made), Edit(gone), Edit(old), Write(new)");
    assert_eq!(request["files"], json!(["edited", "made", "gone", "old", "new"]));
    assert_eq!(request["rule"], "Edit");
    assert!(request["message"].as_str().unwrap().contains("Write(made)"));
    let mut approved = call(PATCH);
    approved.approved = Some(request["fingerprint"].as_str().unwrap().to_owned());
    let outcome = host(&fixture, json!({})).call(approved, CallOptions::default());
    assert!(matches!(outcome, CallOutcome::Ok(..)), "{outcome:?}");
    assert_eq!(fixture.names(), ["edited", "made", "new"]);
    let mut other = call(&PATCH.replace("+y", "+z"));
    other.approved = Some(request["fingerprint"].as_str().unwrap().to_owned());
    assert!(matches!(host(&fixture, json!({})).call(other, CallOptions::default()), CallOutcome::Error(_)));
}

#[test]
fn both_edit_and_write_are_needed_where_files_are_changed_and_made() {
    for (allow, is_asked) in [(vec!["Edit"], true), (vec!["Write"], true), (vec!["Edit", "Write"], false)] {
        assert_eq!(asked(&fixture(), json!({"allow": allow}), PATCH).is_some(), is_asked, "{allow:?}");
    }
    let change = "--- a/edited\n+++ b/edited\n@@ -1 +1 @@\n-x\n+y\n";
    assert!(asked(&fixture(), json!({"allow": ["Edit"]}), change).is_none());
    let request = asked(&fixture(), json!({"allow": ["Write"]}), change).unwrap();
    assert_eq!((&request["subject"], &request["file"]), (&json!("Edit(edited)"), &json!("edited")));
    let made_without_dev_null = "--- a/made\n+++ b/made\n@@ -0,0 +1 @@\n+m\n";
    assert!(asked(&fixture(), json!({"allow": ["Write"]}), made_without_dev_null).is_none());
    let made_and_changed =
        "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+m\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-m\n+n\n";
    assert!(asked(&fixture(), json!({"allow": ["Write"]}), made_and_changed).is_none());
}

#[test]
fn one_file_that_is_denied_denies_the_patch() {
    for deny in ["Write", "Edit", "Read"] {
        let fixture = fixture();
        let before = fixture.tree();
        let permissions = json!({"allow": ["Edit", "Write"], "deny": [deny], "default": "allow"});
        match host(&fixture, permissions).call(call(PATCH), CallOptions::default()) {
            CallOutcome::Error(error) => {
                assert_eq!((error.reason, &error.details["matched_rule"]), (Reason::Denied, &json!(deny)))
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(fixture.tree(), before);
    }
}

#[test]
fn a_copy_reads_what_it_copies() {
    let copy = "diff --git a/old b/new\ncopy from old\ncopy to new\n";
    let request = asked(&fixture(), json!({}), copy).unwrap();
    assert_eq!(request["subject"], "Read(old), Write(new)");
    let denied = host(&fixture(), json!({"deny": ["Read"]})).call(call(copy), CallOptions::default());
    assert!(matches!(denied, CallOutcome::Error(error) if error.reason == Reason::Denied));
}

#[test]
fn links_are_followed_before_the_judgement() {
    let fixture = fixture();
    std::os::unix::fs::symlink("edited", fixture.path("link")).unwrap();
    let request = asked(&fixture, json!({}), "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-x\n+y\n").unwrap();
    assert_eq!(request["subject"], "Edit(edited)");
}

#[test]
fn what_is_no_patch_asks_nobody() {
    let outcome = host(&fixture(), json!({})).call(call("words"), CallOptions::default());
    assert!(matches!(outcome, CallOutcome::Error(error) if error.reason == Reason::InvalidArgument));
}
