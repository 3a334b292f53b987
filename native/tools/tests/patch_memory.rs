//! A file much larger than the memory that may be used for it. Alone in its program, so that nothing else is measured.

use beamai_tools::catalogue;
use beamai_tools::context::{CallContext, Stop};
use beamai_tools::workspace::Workspace;
use serde_json::{Value, json};
use std::io::Write;

const LINES: usize = 1_000_000;
const MOST: u64 = 64 << 20;

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the memory of a process is told by /proc")]
fn a_hundred_megabytes_are_patched_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(dir.path().join("f")).unwrap());
    for at in 0..LINES {
        writeln!(out, "{at:>20} {:82}", "one of very many lines").unwrap();
    }
    out.flush().unwrap();
    let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
    let line = |at: usize| format!("{at:>20} {:82}", "one of very many lines");
    let hunk = |at: usize| {
        let (before, gone, after) = (line(at - 1), line(at), line(at + 1));
        // Ten lines below where it really is.
        format!("@@ -{0},3 +{0},3 @@\n {before}\n-{gone}\n+changed\n {after}\n", at - 10)
    };
    let patch = format!("--- a/f\n+++ b/f\n{}{}", hunk(1000), hunk(LINES - 1000));
    let before = peak();
    let value = call(&cx, &patch).unwrap();
    assert_eq!(value["files"][0]["hunks"][1]["offset"], 10);
    let error = call(&cx, &patch).unwrap_err();
    assert!(error.contains("it may have been applied before"), "{error}");
    println!("{} MiB so far", (peak() - before) >> 20);
    let error = call(&cx, &patch.replace("changed", "again")).unwrap_err();
    assert!(error.contains("where the patch has"), "{error}");
    println!("{} MiB so far", (peak() - before) >> 20);
    let error = call(&cx, &patch.replace("one of very many lines", "many").replace("changed", "again")).unwrap_err();
    println!("{error}");
    let used = peak() - before;
    assert!(used < MOST, "{} MiB were used", used >> 20);
    println!("{} MiB", used >> 20);
}

fn call(cx: &CallContext, patch: &str) -> Result<Value, String> {
    let args = json!({"patch": patch}).as_object().unwrap().clone();
    match catalogue::find("file_patch", None).unwrap().execute(args, cx) {
        Ok(value) => Ok(value),
        Err(Stop::Failed(error)) => Err(error.message),
        Err(other) => panic!("{other:?}"),
    }
}
