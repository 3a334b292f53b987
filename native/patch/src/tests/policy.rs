//! What a patch asks leave for.

use super::*;
use beamai_engine::{Call, Host, Outcome, Run};

/// Changes `edited` and `gone`, makes `made`, renames `old` to `new`.
const PATCH: &str = "--- a/edited\n+++ b/edited\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+m\n\
    --- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/old b/new\nrename from old\nrename to new\n";

fn scene() -> Scene {
    Scene::with([("edited", "x\n"), ("gone", "x\n"), ("old", "x\n")])
}

fn host(scene: &Scene, permissions: Value) -> Host {
    let settings = json!({"workspace": scene.cx.workspace.id(), "permissions": permissions});
    Host::new(&serde_json::from_value(settings).unwrap(), std::sync::Arc::default()).unwrap()
}

fn call(patch: &str) -> Call {
    serde_json::from_value(json!({"tool": "file_patch", "args": {"patch": patch}})).unwrap()
}

fn asked(scene: &Scene, permissions: Value, patch: &str) -> Option<Value> {
    match host(scene, permissions).call(call(patch), Run::default()) {
        Outcome::Ask(request) => Some(request),
        Outcome::Ok(..) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_request_names_all_files() {
    let scene = scene();
    let before = scene.tree();
    let request = asked(&scene, json!({}), PATCH).unwrap();
    assert_eq!(scene.tree(), before);
    assert_eq!(request["subject"], "Edit(edited), Write(made), Edit(gone), Edit(old), Write(new)");
    assert_eq!(request["files"], json!(["edited", "made", "gone", "old", "new"]));
    assert_eq!(request["rule"], "Edit");
    assert!(request["message"].as_str().unwrap().contains("Write(made)"));
    let mut approved = call(PATCH);
    approved.approved = Some(request["fingerprint"].as_str().unwrap().to_owned());
    let outcome = host(&scene, json!({})).call(approved, Run::default());
    assert!(matches!(outcome, Outcome::Ok(..)), "{outcome:?}");
    assert_eq!(scene.names(), ["edited", "made", "new"]);
    let mut other = call(&PATCH.replace("+y", "+z"));
    other.approved = Some(request["fingerprint"].as_str().unwrap().to_owned());
    assert!(matches!(host(&scene, json!({})).call(other, Run::default()), Outcome::Error(_)));
}

#[test]
fn both_edit_and_write_are_needed_where_files_are_changed_and_made() {
    for (allow, is_asked) in [(vec!["Edit"], true), (vec!["Write"], true), (vec!["Edit", "Write"], false)] {
        assert_eq!(asked(&scene(), json!({"allow": allow}), PATCH).is_some(), is_asked, "{allow:?}");
    }
    let change = "--- a/edited\n+++ b/edited\n@@ -1 +1 @@\n-x\n+y\n";
    assert!(asked(&scene(), json!({"allow": ["Edit"]}), change).is_none());
    let request = asked(&scene(), json!({"allow": ["Write"]}), change).unwrap();
    assert_eq!((&request["subject"], &request["file"]), (&json!("Edit(edited)"), &json!("edited")));
    let made_without_dev_null = "--- a/made\n+++ b/made\n@@ -0,0 +1 @@\n+m\n";
    assert!(asked(&scene(), json!({"allow": ["Write"]}), made_without_dev_null).is_none());
    let made_and_changed =
        "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+m\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-m\n+n\n";
    assert!(asked(&scene(), json!({"allow": ["Write"]}), made_and_changed).is_none());
}

#[test]
fn one_file_that_is_denied_denies_the_patch() {
    for deny in ["Write", "Edit", "Read"] {
        let scene = scene();
        let before = scene.tree();
        let permissions = json!({"allow": ["Edit", "Write"], "deny": [deny], "default": "allow"});
        match host(&scene, permissions).call(call(PATCH), Run::default()) {
            Outcome::Error(error) => {
                assert_eq!((error.reason, &error.details["matched_rule"]), (Reason::Denied, &json!(deny)))
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.tree(), before);
    }
}

#[test]
fn a_copy_reads_what_it_copies() {
    let copy = "diff --git a/old b/new\ncopy from old\ncopy to new\n";
    let request = asked(&scene(), json!({}), copy).unwrap();
    assert_eq!(request["subject"], "Read(old), Write(new)");
    let denied = host(&scene(), json!({"deny": ["Read"]})).call(call(copy), Run::default());
    assert!(matches!(denied, Outcome::Error(error) if error.reason == Reason::Denied));
}

#[test]
fn links_are_followed_before_the_judgement() {
    let scene = scene();
    std::os::unix::fs::symlink("edited", scene.path("link")).unwrap();
    let request = asked(&scene, json!({}), "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-x\n+y\n").unwrap();
    assert_eq!(request["subject"], "Edit(edited)");
}

#[test]
fn what_is_no_patch_asks_nobody() {
    let outcome = host(&scene(), json!({})).call(call("words"), Run::default());
    assert!(matches!(outcome, Outcome::Error(error) if error.reason == Reason::InvalidArgument));
}
