//! The scenarios of the tool system's requirements that concern single files, by their names.

use beamai_base::Reason;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// A host with the default permissions and a directory for it.
fn host() -> (TempDir, Host) {
    let directory = tempfile::tempdir().unwrap();
    let id = Workspace::open(directory.path()).unwrap().id();
    let settings: HostSettings = serde_json::from_value(json!({"workspace": id})).unwrap();
    (directory, Host::new(&settings, std::sync::Arc::default()).unwrap())
}

fn call(tool: &str, args: &Value, approved: Option<&str>) -> CallRequest {
    serde_json::from_value(json!({"tool": tool, "args": args, "approved": approved})).unwrap()
}

/// Makes a call for which a person is asked, and says yes; nobody is asked for what must fail.
fn confirmed(host: &Host, tool: &str, args: &Value) -> CallOutcome {
    let request = match host.call(call(tool, args, None), CallOptions::default()) {
        CallOutcome::Ask(request) => request,
        failed @ CallOutcome::Error(_) => return failed,
        other => panic!("nobody was asked: {other:?}"),
    };
    assert_eq!(request["file"], args["path"]);
    host.call(call(tool, args, request["fingerprint"].as_str()), CallOptions::default())
}

#[test]
fn read_file() {
    let (directory, host) = host();
    fs::write(directory.path().join("f"), "content\n").unwrap();
    let absolute = directory.path().canonicalize().unwrap().join("f");
    for path in ["f", absolute.to_str().unwrap()] {
        let CallOutcome::Ok(value, _) =
            host.call(call("file_read", &json!({"path": path}), None), CallOptions::default())
        else {
            panic!("it failed")
        };
        assert_eq!(value["content"], "content\n");
    }
    let CallOutcome::Error(error) =
        host.call(call("file_read", &json!({"path": "g"}), None), CallOptions::default())
    else {
        panic!("it read nothing")
    };
    assert_eq!((error.reason, error.kind().as_str()), (Reason::NoSuchFile, "not_found"));
}

#[test]
fn write_file() {
    let (directory, host) = host();
    let args = |content| json!({"path": "new/directory/f", "content": content});
    assert!(matches!(confirmed(&host, "file_write", &args("created")), CallOutcome::Ok(..)));
    let path = directory.path().join("new/directory/f");
    assert_eq!(fs::read_to_string(&path).unwrap(), "created");
    assert!(matches!(confirmed(&host, "file_write", &args("overwritten")), CallOutcome::Ok(..)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "overwritten");
}

#[test]
fn edit_file() {
    let (directory, host) = host();
    let path = directory.path().join("f");
    fs::write(&path, "one two three").unwrap();
    let args = |old| json!({"path": "f", "old_string": old, "new_string": "2"});
    assert!(matches!(confirmed(&host, "file_edit", &args("two")), CallOutcome::Ok(..)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one 2 three");
    let CallOutcome::Error(error) = confirmed(&host, "file_edit", &args("four")) else {
        panic!("it edited nothing")
    };
    assert_eq!(error.reason, Reason::NoMatch);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one 2 three");
}

#[test]
fn nobody_is_asked_about_a_write_that_would_be_refused() {
    let (directory, host) = host();
    std::os::unix::fs::symlink("/etc", directory.path().join("link")).unwrap();
    for path in ["../f", "/etc/f", "link/f", "link/new/f", "new/../../f", "~/f"] {
        for (tool, args) in [
            ("file_write", json!({"path": path, "content": "x"})),
            ("file_edit", json!({"path": path, "old_string": "x", "new_string": "y"})),
        ] {
            let CallOutcome::Error(error) = host.call(call(tool, &args, None), CallOptions::default()) else {
                panic!("{tool} {path} was not refused")
            };
            assert_eq!(error.reason, Reason::OutsideWorkspace, "{tool} {path}");
        }
    }
}

#[test]
fn a_person_is_asked_about_the_file_that_a_link_leads_to() {
    let (directory, host) = host();
    fs::create_dir(directory.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
    let args = json!({"path": "link/new/f", "content": "x"});
    let CallOutcome::Ask(request) = host.call(call("file_write", &args, None), CallOptions::default()) else {
        panic!("nobody was asked")
    };
    assert_eq!(request["subject"], "Write(real/new/f)");
    assert!(!directory.path().join("real/new").exists());
}

/// A patch that changes `f` and makes `new/g`.
const PATCH: &str =
    "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- /dev/null\n+++ b/new/g\n@@ -0,0 +1 @@\n+g\n";

#[test]
fn patch_files() {
    let (directory, host) = host();
    fs::write(directory.path().join("f"), "one\ntwo\n").unwrap();
    let args = json!({"patch": PATCH});
    let CallOutcome::Ask(request) = host.call(call("file_patch", &args, None), CallOptions::default()) else {
        panic!("nobody was asked")
    };
    assert_eq!((&request["subject"], &request["rule"]), (&json!("Edit(f), Write(new/g)"), &json!("Edit")));
    assert_eq!(fs::read_to_string(directory.path().join("f")).unwrap(), "one\ntwo\n");
    let approved = call("file_patch", &args, request["fingerprint"].as_str());
    let CallOutcome::Ok(value, _) = host.call(approved, CallOptions::default()) else { panic!("it failed") };
    assert_eq!((&value["applied"], &value["files"][0]["hunks"][0]["line"]), (&json!(true), &json!(1)));
    assert_eq!(fs::read_to_string(directory.path().join("f")).unwrap(), "one\n2\n");
    assert_eq!(fs::read_to_string(directory.path().join("new/g")).unwrap(), "g\n");
}

#[test]
fn a_patch_that_does_not_fit_changes_none_of_its_files() {
    let (directory, host) = host();
    fs::write(directory.path().join("f"), "other\n").unwrap();
    let args = json!({"patch": PATCH});
    // It is tried before anybody is asked.
    let CallOutcome::Error(error) = host.call(call("file_patch", &args, None), CallOptions::default()) else {
        panic!("it was applied, or somebody was asked")
    };
    assert_eq!((error.reason, error.tool.as_str()), (Reason::NoMatch, "file_patch"));
    assert!(error.message.contains("\n- f: its lines"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn the_advice_about_a_binary_file_names_the_encoding_only_where_there_is_such_an_argument() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("f"), b"\0\x01binary").unwrap();
    let cx = beamai_tool::CallContext::new(beamai_workspace::Workspace::open(directory.path()).unwrap());
    let said = |tool, dialect| {
        let args = json!({"path": "f"}).as_object().unwrap().clone();
        match beamai_engine::catalogue::find(tool, Some(dialect)).unwrap().execute(args, &cx) {
            Err(beamai_tool::Interrupt::Failed(error)) => error.message,
            other => panic!("{other:?}"),
        }
    };
    assert!(said("file_read", "beamai").contains("or give an encoding"));
    assert!(said("read", "coder").ends_with("with a program that knows it"));
    assert!(said("read_file", "ide").ends_with("with a program that knows it"));
}
