//! Large files are read, edited and patched in little memory.
//!
//! Each test is a process: what is counted is all memory of the process that is allocated at once, beyond what was when
//! the call began. The other tests of this program have the counting allocator as well, and nobody looks at it. Freed
//! memory that the allocator keeps does not hide anything that way. The resident set is looked at as well, for what does
//! not come from the allocator.
//!
//! Where an operation cannot: `file_write` holds the text that it was given, and once more in an encoding other than
//! UTF-8; an image comes whole; an answer holds the lines asked for, up to the limit for content.

use crate::own_process::is_own_process;
use beamai_base::{Reason, ToolError};
use beamai_engine::catalogue;
use beamai_tool::{CallContext, Interrupt};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SIZE: usize = 100 << 20;
const MOST: usize = 64 << 20;

/// The system's allocator, with a count of what it has given out.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn took(size: usize) {
    PEAK.fetch_max(NOW.fetch_add(size, Relaxed) + size, Relaxed);
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while the content is moved.
        took(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A line of `/proc/self/status` in bytes.
fn status(key: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

struct Fixture {
    dir: tempfile::TempDir,
    cx: CallContext,
}

impl Fixture {
    /// A directory with a large file `f`: these bytes, again and again, and others at the end.
    fn with(lines: &[u8], end: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        fill(&dir.path().join("f"), lines, end);
        Self { dir, cx }
    }

    fn size(&self) -> u64 {
        std::fs::metadata(self.dir.path().join("f")).unwrap().len()
    }

    fn try_call(&self, name: &str, args: Value) -> Result<Value, ToolError> {
        let tool = catalogue::find(name, Some("beamai")).unwrap();
        let args = args.as_object().unwrap().clone();
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let (heap, resident) = (NOW.load(Relaxed), status("VmRSS:"));
        PEAK.store(heap, Relaxed);
        let result = tool.execute(args, &self.cx);
        let (heap, resident) = (PEAK.load(Relaxed) - heap, status("VmHWM:").saturating_sub(resident));
        println!("{name}: {} MiB allocated at once, {} MiB more resident", heap >> 20, resident >> 20);
        assert!(heap < MOST && resident < MOST, "{name} took {} and {} MiB", heap >> 20, resident >> 20);
        match result {
            Ok(value) => Ok(value),
            Err(Interrupt::Failed(error)) => Err(error),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn call(&self, name: &str, args: Value) -> Value {
        self.try_call(name, args).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(&self, name: &str, args: Value) -> Reason {
        self.try_call(name, args).unwrap_err().reason
    }
}

fn fill(path: &Path, lines: &[u8], end: &[u8]) {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    (0..SIZE / lines.len()).for_each(|_| out.write_all(lines).unwrap());
    out.write_all(end).unwrap();
    out.flush().unwrap();
}

/// 200 bytes.
fn lines() -> String {
    format!("{:99}\n{:99}\n", "one of many lines", "another")
}

#[test]
fn a_file_of_100_mib_is_read() {
    if !is_own_process(module_path!(), "a_file_of_100_mib_is_read") {
        return;
    }
    let fixture = Fixture::with(lines().as_bytes(), b"the last line\n");
    assert_eq!(fixture.call("file_read", json!({"path": "f"}))["end_line"], 2000);
    assert_eq!(fixture.call("file_read", json!({"path": "f", "offset": 500_000}))["start_line"], 500_000);
    assert_eq!(fixture.call("file_read", json!({"path": "f", "offset": 2_000_000}))["content"], "");
    assert_eq!(fixture.call("file_read", json!({"path": "f", "offset": -1}))["content"], "the last line\n");
    let all = fixture.call("file_read", json!({"path": "f", "limit": 10_000_000}));
    assert_eq!(all["truncated"], true);
}

#[test]
fn a_file_of_100_mib_is_edited() {
    if !is_own_process(module_path!(), "a_file_of_100_mib_is_edited") {
        return;
    }
    let fixture = Fixture::with(lines().as_bytes(), b"the last line\n");
    let edit = |old: &str, new: &str| json!({"path": "f", "old_string": old, "new_string": new});
    assert_eq!(fixture.call("file_edit", edit("the last line", "the end"))["additions"], 1);
    let append = json!({"path": "f", "content": "added\n", "mode": "append"});
    assert_eq!(fixture.call("file_write", append)["bytes_written"], 6);
    assert_eq!(fixture.refused("file_edit", edit("another", "x")), Reason::Ambiguous);
    assert_eq!(fixture.refused("file_edit", edit("one of mani lines", "x")), Reason::NoMatch);
    let mut all = edit("many ", "few ");
    all["replace_all"] = true.into();
    assert_eq!(fixture.call("file_edit", all)["replacements"], SIZE as u64 / 200);
    assert_eq!(fixture.call("file_write", json!({"path": "f", "content": "new\n"}))["bytes_written"], 4);
}

#[test]
fn a_file_of_100_mib_is_patched() {
    if !is_own_process(module_path!(), "a_file_of_100_mib_is_patched") {
        return;
    }
    let fixture = Fixture::with(lines().as_bytes(), b"the last line\n");
    let patch = |hunks: &str| json!({"patch": format!("--- a/f\n+++ b/f\n{hunks}")});
    // In the middle by its line number, at the end by its lines.
    let hunks = format!(
        "@@ -500001 +500001 @@\n-{:99}\n+middle\n@@ -7 +7 @@\n-the last line\n+over\n",
        "one of many lines"
    );
    let value = fixture.call("file_patch", patch(&hunks));
    assert_eq!(value["files"][0]["hunks"][1]["line"], SIZE as u64 / 100 + 1);
    assert_eq!(fixture.refused("file_patch", patch("@@ -9 +9 @@\n-nothing like it\n+x\n")), Reason::NoMatch);
    assert_eq!(fixture.refused("file_patch", patch("@@ -9,2 +9 @@\n one of many\n-x\n")), Reason::NoMatch);
    let ambiguous = format!("@@ @@\n-{:99}\n+x\n", "another");
    assert_eq!(fixture.refused("file_patch", patch(&ambiguous)), Reason::Ambiguous);
    let size = fixture.size();
    fixture.call("file_patch", json!({"patch": "diff --git a/f b/f\nrename from f\nrename to g\n"}));
    fixture.call("file_patch", json!({"patch": "diff --git a/g b/f\ncopy from g\ncopy to f\n"}));
    assert_eq!(fixture.size(), size);
}

#[test]
fn a_file_of_100_mib_in_utf_16_is_read_edited_and_patched() {
    if !is_own_process(module_path!(), "a_file_of_100_mib_in_utf_16_is_read_edited_and_patched") {
        return;
    }
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let fixture = Fixture::with(&wide(&format!("{:49}\r\n", "ein Ä und ein 漢")), &wide("das Ende"));
    let file = fixture.dir.path().join("f");
    let mut marked = std::fs::File::create(fixture.dir.path().join("g")).unwrap();
    marked.write_all(b"\xFE\xFF").unwrap();
    std::io::copy(&mut std::fs::File::open(&file).unwrap(), &mut marked).unwrap();
    std::fs::rename(fixture.dir.path().join("g"), &file).unwrap();
    let read = fixture.call("file_read", json!({"path": "f", "offset": -1}));
    assert_eq!((&read["content"], &read["encoding"]), (&json!("das Ende"), &json!("utf-16be")));
    fixture.call("file_edit", json!({"path": "f", "old_string": "das Ende", "new_string": "der Schluß"}));
    let patch = "--- a/f\n+++ b/f\n@@ @@\n-der Schluß\n+aus\n";
    assert_eq!(fixture.call("file_patch", json!({"patch": patch}))["files"][0]["encoding"], "utf-16be");
    assert_eq!(fixture.call("file_read", json!({"path": "f", "offset": -1}))["content"], "aus");
}

#[test]
fn a_line_of_100_mib_is_no_obstacle() {
    if !is_own_process(module_path!(), "a_line_of_100_mib_is_no_obstacle") {
        return;
    }
    let fixture = Fixture::with(b"no line ends here, ", b"\nthe last line\n");
    assert_eq!(fixture.call("file_read", json!({"path": "f"}))["truncated"], true);
    let last = json!({"path": "f", "offset": 2});
    assert_eq!(fixture.call("file_read", last)["content"], "the last line\n");
    assert_eq!(fixture.call("file_read", json!({"path": "f", "offset": -1}))["content"], "the last line\n");
    let edit = json!({"path": "f", "old_string": "here, \nthe last", "new_string": "here\nthe very last"});
    assert_eq!(fixture.call("file_edit", edit)["replacements"], 1);
    let edit = json!({"path": "f", "old_string": "very last line", "new_string": "last line"});
    fixture.call("file_edit", edit);
    let patch = "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-the last line\n+the end\n";
    assert_eq!(fixture.call("file_patch", json!({"patch": patch}))["applied"], true);
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n no line\n-the end\n+x\n";
    assert_eq!(fixture.refused("file_patch", json!({"patch": patch})), Reason::NoMatch);
}
