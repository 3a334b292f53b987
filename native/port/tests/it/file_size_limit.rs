//! Under a limit on the size of files (`ulimit -f`), whose signal ends a program that knows nothing of it.

use crate::common::{PROGRAM, required};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Calls a tool of a program that may write files of 8 KiB, with the default disposition of the signal.
fn call(workspace: &Path, tool: &str, arguments: &Value) -> Value {
    let script = "ulimit -f 8; exec env --default-signal=XFSZ \"$0\" \"$@\"";
    let mut program = Command::new("bash");
    program.args(["-c", script, PROGRAM, "call", tool, "--settings", "none", "--sandbox", &required()]);
    program.args(["--default", "allow", "--workspace"]).arg(workspace).arg(arguments.to_string());
    let output = program.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_file_that_would_be_too_large_is_an_error_and_stays_as_it_was() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("f"), "old\n").unwrap();
    for mode in ["write", "append"] {
        let arguments = json!({"path": "f", "content": "x".repeat(20_000), "mode": mode});
        let error = call(dir.path(), "file_write", &arguments);
        assert_eq!(error["details"]["reason"], "io", "{error}");
        assert_eq!(fs::read_to_string(dir.path().join("f")).unwrap(), "old\n", "{mode}");
    }
}

#[test]
fn a_command_is_ended_by_the_signal_and_its_program_cleans_up_after_it() {
    let dir = TempDir::new().unwrap();
    let command = "git init -q n; git -C n config core.fsmonitor ./x; head -c 20000 /dev/zero > f; echo $?; \
                   yes | head -c 40000; git init -q m; git -C m config core.fsmonitor ./x";
    let result = call(dir.path(), "shell_exec", &json!({"command": command}));
    let stdout = result["stdout"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(stdout.starts_with("153\n"), "{}", &stdout[..9]);
    let planted = result["planted"].to_string();
    for name in ["n", "m"] {
        assert!(planted.contains(&format!("{name}/.git/config")), "{planted}");
        let settings = fs::read_to_string(dir.path().join(name).join(".git/config")).unwrap();
        assert!(!settings.contains("fsmonitor"), "{settings}");
    }
}

#[test]
fn settings_that_are_too_large_to_be_written_keep_no_others_in_place() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("large"), "[user]\n".to_owned() + &"; a comment\n".repeat(2_000)).unwrap();
    let command = "for r in a b c; do git init -q $r; git -C $r config core.fsmonitor ./x; done; \
                   printf '[core]\\n fsmonitor = ./x\\n' >> b/.git/config; mv large b/.git/config";
    let result = call(dir.path(), "shell_exec", &json!({"command": command}));
    let planted = result["planted"].as_array().unwrap_or_else(|| panic!("{result}"));
    for path in ["a/.git/config", "c/.git/config"] {
        assert!(planted.iter().any(|planted| planted["path"] == path), "{result}");
    }
}
