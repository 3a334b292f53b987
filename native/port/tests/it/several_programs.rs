//! Commands of several port programs in one workspace, and the placeholders that keep files from being made.

use crate::common::{PROGRAM, required, wait_until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A workspace with a directory, and with a repository without settings and hooks.
fn workspace() -> TempDir {
    let dir = TempDir::new().unwrap();
    for path in ["d", "r/.git/objects", "r/.git/refs"] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    fs::write(dir.path().join("r/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    // Names in a command are judged; so these are in a file.
    let make = "for f in d/new far/away/new r/.git/config r/.git/hooks/x; do mkdir -p ${f%/*}; echo > $f && echo $f; done 2> /dev/null";
    fs::write(dir.path().join("make"), make).unwrap();
    dir
}

/// What a command would make, and must not.
const KEPT: [&str; 4] = ["d/new", "far", "r/.git/config", "r/.git/hooks"];

fn are_there(dir: &Path) -> [bool; 4] {
    KEPT.map(|path| dir.join(path).symlink_metadata().is_ok())
}

/// A port program with a command that says when it has started, waits for a file, and then tries to make the files.
fn started(dir: &Path, name: &str) -> Child {
    let command =
        format!("touch {name}.started; until test -e {name}.go; do sleep 0.01; done; bash make; true");
    let mut program = Command::new(PROGRAM);
    program.args(["call", "shell_exec", "--settings", "none", "--sandbox", &required(), "--workspace"]);
    program.arg(dir).args(["--allow", "Bash", "--deny", "Edit(d/new)", "--deny", "Edit(far/away/new)"]);
    let child = program.args(["--command", &command]).stdout(Stdio::piped()).spawn().unwrap();
    wait_until(|| dir.join(format!("{name}.started")).exists());
    child
}

/// Lets a command go on; what it made.
fn ended(dir: &Path, name: &str, program: Child) -> String {
    fs::write(dir.join(format!("{name}.go")), "").unwrap();
    let output = program.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["exit_code"], 0, "{result}");
    result["stdout"].as_str().unwrap().to_owned()
}

#[test]
fn what_one_keeps_from_being_made_stays_so_when_another_one_ends() {
    let dir = workspace();
    let first = started(dir.path(), "first");
    let second = started(dir.path(), "second");
    let third = started(dir.path(), "third");
    assert_eq!(are_there(dir.path()), [true; 4]);
    assert_eq!(ended(dir.path(), "first", first), "");
    // Programs clean up after they have answered.
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(ended(dir.path(), "third", third), "");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(are_there(dir.path()), [true; 4]);
    assert_eq!(ended(dir.path(), "second", second), "");
    wait_until(|| are_there(dir.path()) == [false; 4]);
}

#[test]
fn what_a_killed_one_has_left_is_removed_by_the_next_one() {
    let dir = workspace();
    let mut first = started(dir.path(), "first");
    first.kill().unwrap();
    first.wait().unwrap();
    let second = started(dir.path(), "second");
    assert_eq!(ended(dir.path(), "second", second), "");
    wait_until(|| are_there(dir.path()) == [false; 4]);
}

#[test]
fn what_a_person_puts_in_place_meanwhile_stays() {
    let dir = workspace();
    let program = started(dir.path(), "first");
    fs::write(dir.path().join("d/new"), "").unwrap();
    fs::remove_file(dir.path().join("r/.git/config")).unwrap();
    fs::write(dir.path().join("r/.git/config"), "").unwrap();
    fs::write(dir.path().join("r/.git/hooks/own"), "").unwrap();
    ended(dir.path(), "first", program);
    wait_until(|| !dir.path().join("far").exists());
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(are_there(dir.path()), [true, false, true, true]);
}
