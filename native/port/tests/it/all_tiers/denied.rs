//! What rules deny under the tier `landlock`, where the tests of `sandbox_paths` expect what mounts alone can show.

use super::{no_user_namespaces, under};
use crate::common::PROGRAM;
use serde_json::Value;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// A workspace in which these files have the text `OLD`.
fn workspace() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("secrets/deep")).unwrap();
    for file in ["key.pem", "secrets/a", "secrets/deep/b", "plain"] {
        fs::write(dir.path().join(file), "OLD").unwrap();
    }
    dir
}

/// Runs a script, whose text rules do not see, and gives its result.
fn run(dir: &TempDir, denied: &[&str], script: &str) -> Value {
    fs::write(dir.path().join("script"), script).unwrap();
    let mut port = under(Command::new(PROGRAM), no_user_namespaces());
    port.args([
        "call",
        "--default",
        "allow",
        "--allow",
        "Bash(bash script)",
        "--sandbox",
        "required:landlock",
    ]);
    port.args(denied.iter().flat_map(|rule| ["--deny", rule])).arg("--workspace").arg(dir.path());
    let output = port.args(["shell_exec", r#"{"command": "bash script"}"#]).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(result["isolation"]["tier"], "landlock", "{result}");
    result
}

fn text(dir: &TempDir, file: &str) -> String {
    fs::read_to_string(dir.path().join(file)).unwrap_or_default()
}

#[test]
fn bare_rules_hold_for_every_file() {
    let script = "echo NEW > plain; echo NEW > new; mkdir d; cat key.pem";
    for (rules, plain) in
        [(&[][..], "NEW\n"), (&["Write"], "OLD"), (&["Edit"], "OLD"), (&["Write(**)"], "OLD")]
    {
        let dir = workspace();
        assert_eq!(run(&dir, rules, script)["stdout"], "OLD", "{rules:?}");
        assert_eq!(text(&dir, "plain"), plain, "{rules:?}");
        assert_eq!(dir.path().join("new").exists(), rules.is_empty(), "{rules:?}");
        assert_eq!(dir.path().join("d").exists(), rules.is_empty(), "{rules:?}");
    }
}

#[test]
fn a_name_that_is_denied_does_not_come_to_be_and_nothing_stands_in_for_it() {
    let script = "test -e new.conf && echo covered; echo x > new.conf; mv plain new.conf; ln key.pem new.conf; \
                  ln -s plain new.conf; mkdir new.conf; true";
    let dir = workspace();
    let result = run(&dir, &["Write(new.conf)"], script);
    assert_eq!(result["stdout"], "");
    assert!(dir.path().join("new.conf").symlink_metadata().is_err(), "{result}");
    let partly = result["isolation"]["partly"].as_array().unwrap();
    assert!(partly.iter().any(|partly| partly["layer"] == "landlock"), "{result}");
    run(&dir, &[], "echo x > new.conf");
    assert_eq!(text(&dir, "new.conf"), "x\n");
}

#[test]
fn of_what_is_hidden_names_are_seen_and_texts_neither_read_nor_changed() {
    let dir = workspace();
    let denied = ["Read(key.pem)", "Read(secrets/**)"];
    let show = "cat key.pem secrets/a secrets/deep/b plain 2>/dev/null";
    assert_eq!(run(&dir, &[], show)["stdout"], "OLDOLDOLDOLD");
    assert_eq!(run(&dir, &denied, show)["stdout"], "OLD");
    let change = "rm -rf key.pem secrets; for f in key.pem secrets/a secrets/deep/b; do echo NEW > $f; done; \
                  cp plain p; mv p key.pem; mv secrets s; ln key.pem open; cat open s/a";
    assert_eq!(run(&dir, &denied, change)["stdout"], "");
    for file in ["key.pem", "secrets/a", "secrets/deep/b"] {
        assert_eq!(text(&dir, file), "OLD", "{file}");
    }
}
