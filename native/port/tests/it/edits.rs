//! Edits that are interrupted: by a full disk, and by the end of the process. Nothing is half done.
#![cfg(target_os = "linux")]

use crate::common::PROGRAM;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

/// What stands in a directory.
fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

/// Copies a workspace onto a disk of its own size, calls a tool there, and copies what came of it back.
const ON_A_DISK: &str = r#"
mount -t tmpfs -o size="$1" tmpfs "$2" && cp -a "$3/." "$2" && cd "$2" || exit 7
"$5" call "$6" - --default allow; code=$?
cp -a "$2/." "$4" || exit 8
exit $code
"#;

/// Calls a tool over these files on a disk of this size. The answer, and what is there then.
fn on_a_disk(size: &str, files: &Path, tool: &str, args: &Value) -> (Value, BTreeMap<String, Vec<u8>>) {
    let (disk, after) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", ON_A_DISK, "sh", size])
        .args([disk.path(), files, after.path(), Path::new(PROGRAM), Path::new(tool)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(args.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (answer, tree(after.path()))
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let files = TempDir::new().unwrap();
    for name in ["a", "b", "c"] {
        let text = format!("first\n{}", format!("{name}\n").repeat(30_000));
        std::fs::write(files.path().join(name), text).unwrap();
    }
    let more = "more\n".repeat(100_000);
    let added = more.replace("more\n", "+more\n");
    let patch = format!(
        "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-first\n+A\n a\n--- a/b\n+++ b/b\n@@ -1,2 +1,2 @@\n-first\n+B\n b\n\
         --- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+new\n--- a/c\n+++ b/c\n@@ -1,2 +1,100002 @@\n first\n{added} c\n"
    );
    for (tool, args) in [
        ("file_write", json!({"path": "new", "content": more})),
        ("file_write", json!({"path": "a", "content": more})),
        ("file_write", json!({"path": "a", "content": more, "mode": "append"})),
        ("file_edit", json!({"path": "a", "old_string": "first\n", "new_string": more})),
        ("file_patch", json!({"patch": patch})),
    ] {
        let before = tree(files.path());
        let (answer, after) = on_a_disk("400k", files.path(), tool, &args);
        assert_eq!(answer["details"]["reason"], "io", "{tool}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains("no space left"), "{tool}: {answer}");
        assert!(after == before, "{tool} changed {:?}", after.keys());
        let (answer, after) = on_a_disk("16m", files.path(), tool, &args);
        assert!(answer.get("error_type").is_none() && after != before, "{tool} does not even work: {answer}");
    }
}

/// A call of the port program that is not waited for.
fn start(dir: &Path, tool: &str, args: &Value) -> Child {
    let mut child = Command::new(PROGRAM)
        .args(["call", tool, "-", "--default", "allow"])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(args.to_string().as_bytes()).unwrap();
    child
}

#[test]
fn a_process_that_dies_in_the_middle_leaves_a_file_whole() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("f");
    let old = "one line of many\n".repeat(20_000);
    let new = old.replace("many", "few");
    let args = json!({"path": "f", "old_string": "many", "new_string": "few", "replace_all": true});
    std::fs::write(&path, &old).unwrap();
    let begun = Instant::now();
    assert!(start(dir.path(), "file_edit", &args).wait().unwrap().success());
    let takes = begun.elapsed();
    assert!(std::fs::read_to_string(&path).unwrap() == new);
    let mut seen = [0, 0];
    for step in 0..30 {
        std::fs::write(&path, &old).unwrap();
        let mut port = start(dir.path(), "file_edit", &args);
        std::thread::sleep(takes * step / 25);
        port.kill().unwrap();
        port.wait().unwrap();
        let is_new = match std::fs::read_to_string(&path).unwrap() {
            text if text == old => false,
            text if text == new => true,
            text => panic!("{} bytes, neither the old text nor the new one", text.len()),
        };
        seen[usize::from(is_new)] += 1;
    }
    assert!(seen[0] > 0, "it was never killed in time: {takes:?}");
}
