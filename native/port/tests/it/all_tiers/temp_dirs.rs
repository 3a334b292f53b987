//! Temporary directories of other sessions and of language servers, and a `TMPDIR` that is empty or relative.

use super::{docker, no_user_namespaces, under};
use crate::common::PROGRAM;
use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

#[test]
fn other_sessions_are_hidden_wherever_temporary_files_are() {
    let (dir, temp) = (TempDir::new().unwrap(), TempDir::new_in("/var/tmp").unwrap());
    let other = temp.path().join("beamai-other/tmp");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("note"), "theirs").unwrap();
    let command = format!(
        "cat {}/note 2>/dev/null; echo own > \"${{TMPDIR:-/tmp}}/x\"; cat \"${{TMPDIR:-/tmp}}/x\"",
        other.display()
    );
    for (filters, sandbox, expected) in [
        (no_user_namespaces(), "off", "theirsown\n"),
        (Vec::new(), "required", "own\n"),
        (docker(), "required:landlock", "own\n"),
    ] {
        let mut port = under(Command::new(PROGRAM), filters);
        port.args(["call", "--default", "allow", "--sandbox", sandbox, "--workspace"]).arg(dir.path());
        port.args(["shell_exec", &json!({"command": command}).to_string()]).env("TMPDIR", temp.path());
        let output = port.output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(result["stdout"], expected, "{sandbox} {result}");
    }
}

#[test]
fn a_language_server_has_a_temporary_directory_and_leaves_nothing_in_it() {
    let (dir, temp) = (TempDir::new().unwrap(), TempDir::new_in("/var/tmp").unwrap());
    std::fs::write(dir.path().join("go.mod"), "module x\ngo 1.19\n").unwrap();
    std::fs::write(
        dir.path().join("a.go"),
        "package main\n\nfunc foo(a int) int { return a }\n\nfunc main() { foo(1) }\n",
    )
    .unwrap();
    let mut port = under(Command::new(PROGRAM), docker());
    let args = json!({"operation": "hover", "path": "a.go", "line": 3, "character": 6});
    port.args(["call", "--sandbox", "required:landlock", "lsp", &args.to_string()]);
    let output = port.current_dir(dir.path()).env("TMPDIR", temp.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("func foo(a int) int"), "{said}");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
}

#[test]
fn a_temporary_directory_without_a_path_is_not_the_workspace() {
    let dir = TempDir::new().unwrap();
    for named in ["", "relative"] {
        let mut port = under(Command::new(PROGRAM), docker());
        port.args(["call", "--default", "allow", "--sandbox", "required:landlock", "shell_exec"]);
        port.arg(json!({"command": "echo $TMPDIR; ls -A"}).to_string());
        let output = port.current_dir(dir.path()).env("TMPDIR", named).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let said = result["stdout"].as_str().unwrap();
        assert!(said.starts_with("/tmp/beamai-") && said.lines().count() == 1, "{named:?} {result}");
    }
}
