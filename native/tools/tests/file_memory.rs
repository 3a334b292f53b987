//! A large file is read and edited in little memory. Alone in its file: the peak is that of the process.

use beamai_tools::catalogue;
use beamai_tools::context::CallContext;
use beamai_tools::workspace::Workspace;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

const SIZE: usize = 100 << 20;
const MOST: u64 = 64 << 20;

/// A line of `/proc/self/status` in bytes.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn call(cx: &CallContext, tool: &str, args: Value) -> Value {
    let tool = catalogue::find(tool, Some("beamai")).unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    let value = tool.execute(args.as_object().unwrap().clone(), cx).expect("the tool works");
    let extra = status("VmHWM:").saturating_sub(before);
    assert!(extra < MOST, "{} took {} MiB", tool.name(), extra >> 20);
    value
}

fn fill(path: &Path) {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let lines = format!("{:99}\n{:99}\n", "one of many lines", "another");
    (0..SIZE / lines.len()).for_each(|_| out.write_all(lines.as_bytes()).unwrap());
    out.write_all(b"the last line\n").unwrap();
    out.flush().unwrap();
}

#[test]
fn a_file_of_100_mib_takes_less_than_64_mib_of_memory() {
    let directory = tempfile::tempdir().unwrap();
    fill(&directory.path().join("f"));
    let cx = CallContext::new(Workspace::open(directory.path()).unwrap());
    let value = call(&cx, "file_read", json!({"path": "f", "offset": 2_000_000}));
    assert_eq!(value["content"], "");
    let value = call(&cx, "file_read", json!({"path": "f", "offset": -1}));
    assert_eq!(value["content"], "the last line\n");
    let edit = json!({"path": "f", "old_string": "the last line", "new_string": "the end"});
    assert_eq!(call(&cx, "file_edit", edit)["additions"], 1);
    let append = json!({"path": "f", "content": "added\n", "mode": "append"});
    assert_eq!(call(&cx, "file_write", append)["bytes_written"], 6);
    let value = call(&cx, "file_read", json!({"path": "f", "offset": -2}));
    assert_eq!(value["content"], "the end\nadded\n");
    let edit = json!({"path": "f", "old_string": "many ", "new_string": "few ", "replace_all": true});
    assert_eq!(call(&cx, "file_edit", edit)["replacements"], SIZE as u64 / 200);
    // In the middle by its line number, at the end by its lines.
    let hunks =
        format!("@@ -500001 +500001 @@\n-{:98}\n+middle\n@@ -7 +7 @@\n-the end\n+over\n", "one of few lines");
    let patch = json!({"patch": format!("--- a/f\n+++ b/f\n{hunks}")});
    let value = call(&cx, "file_patch", patch);
    assert_eq!(value["files"][0]["hunks"][1]["line"], SIZE as u64 / 100 + 1);
}
