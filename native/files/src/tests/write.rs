//! Writing and adding.

use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn a_new_file_is_made_with_its_directories() {
    let fixture = Fixture::new();
    let value = fixture.write(json!({"path": "a/b/f", "content": "one\n"}));
    let expected = json!({
        "operation": "created", "bytes_written": 4,
        "diff": "--- /dev/null\n+++ b/a/b/f\n@@ -0,0 +1 @@\n+one\n",
        "additions": 1, "deletions": 0, "hash": hash(b"one\n"), "encoding": "utf-8",
    });
    assert_eq!(value, expected);
    assert_eq!(fixture.get("a/b/f"), b"one\n");
}

#[test]
fn a_file_is_replaced_with_a_diff() {
    let fixture = Fixture::with("1\n2\n3\n");
    let value = fixture.write(json!({"path": "f", "content": "1\n2b\n3"}));
    assert_eq!(value["operation"], "updated");
    assert_eq!(
        value["diff"],
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n-3\n+2b\n+3\n\\ No newline at end of file\n"
    );
    assert_eq!((&value["additions"], &value["deletions"]), (&json!(2), &json!(2)));
    assert_eq!(fixture.get("f"), b"1\n2b\n3");
}

#[test]
fn an_encoding_and_a_mark_are_kept_where_they_can_hold_the_text() {
    for (label, text) in
        [("utf-16le", "\u{FEFF}alt\n"), ("utf-8", "\u{FEFF}alt\n"), ("windows-1252", "früh\n")]
    {
        let fixture = Fixture::with(encoded(label, text));
        let value = fixture.write(json!({"path": "f", "content": "neü\n"}));
        let mark = if text.starts_with('\u{FEFF}') { "\u{FEFF}" } else { "" };
        assert_eq!(fixture.get("f"), encoded(label, &format!("{mark}neü\n")));
        assert_eq!((&value["encoding"], &value["hash"]), (&json!(label), &json!(hash(&fixture.get("f")))));
        assert!(value["diff"].as_str().unwrap().ends_with("+neü\n"));
    }
}

#[test]
fn a_mark_in_the_text_is_not_written_twice() {
    let fixture = Fixture::with(encoded("utf-8", "\u{FEFF}a"));
    fixture.write(json!({"path": "f", "content": "\u{FEFF}b"}));
    assert_eq!(fixture.get("f"), encoded("utf-8", "\u{FEFF}b"));
}

#[test]
fn text_that_the_old_encoding_cannot_hold_makes_the_file_utf8_and_says_so() {
    let fixture = Fixture::with(b"caf\xE9\n");
    let value = fixture.write(json!({"path": "f", "content": "café → 漢\n"}));
    assert_eq!(fixture.get("f"), "café → 漢\n".as_bytes());
    assert_eq!(value["encoding"], "utf-8");
    assert_eq!(
        value["note"],
        "written as utf-8: windows-1252, in which the file was, cannot hold '→' (U+2192), '漢' (U+6F22)"
    );
}

#[test]
fn a_binary_file_is_replaced_without_a_diff() {
    let fixture = Fixture::with(b"\0\x01\x02");
    let value = fixture.write(json!({"path": "f", "content": "text"}));
    assert_eq!((&value["diff"], &value["additions"]), (&Value::Null, &Value::Null));
    assert_eq!(value["note"], "no diff: the file was not text");
    assert_eq!(fixture.get("f"), b"text");
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let mut fixture = Fixture::new();
    fixture.cx.limits.diff_bytes = 100;
    let value = fixture.write(json!({"path": "f", "content": "line\n".repeat(1000)}));
    assert_eq!((&value["additions"], &value["diff_truncated"]), (&json!(1000), &json!(true)));
    assert!(value["diff"].as_str().unwrap().ends_with("\n[diff truncated: at most 100 bytes are shown]\n"));
}

#[test]
fn texts_too_large_to_compare_are_written_without_a_diff() {
    let fixture = Fixture::new();
    let value = fixture.write(json!({"path": "f", "content": "x".repeat(70_000)}));
    assert_eq!((&value["diff"], &value["bytes_written"]), (&Value::Null, &json!(70_000)));
    assert_eq!(value["note"], "no diff: the texts are too large to be compared");
}

#[test]
fn text_is_added_to_the_end() {
    let fixture = Fixture::with("1\n2");
    let value = fixture.write(json!({"path": "f", "content": "b\n3\n", "mode": "append"}));
    assert_eq!(fixture.get("f"), b"1\n2b\n3\n");
    let expected = json!({
        "operation": "updated", "bytes_written": 4,
        "diff": "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n 1\n-2\n\\ No newline at end of file\n+2b\n+3\n",
        "additions": 2, "deletions": 1, "hash": hash(b"1\n2b\n3\n"), "encoding": "utf-8",
    });
    assert_eq!(value, expected);
    let value = fixture.write(json!({"path": "new", "content": "x", "mode": "append"}));
    assert_eq!(value["operation"], "created");
    assert_eq!(fixture.write(json!({"path": "f", "content": "", "mode": "append"}))["diff"], "");
}

#[test]
fn text_is_added_in_the_files_encoding() {
    let fixture = Fixture::with(encoded("utf-16be", "\u{FEFF}eins\n"));
    let value = fixture.write(json!({"path": "f", "content": "zwei\n", "mode": "append"}));
    assert_eq!(fixture.get("f"), encoded("utf-16be", "\u{FEFF}eins\nzwei\n"));
    assert_eq!(value["diff"], "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n eins\n+zwei\n");
    let fixture = Fixture::with(b"caf\xE9\n");
    let error = fixture.refused("file_write", json!({"path": "f", "content": "→", "mode": "append"}));
    assert_eq!(error.reason, Reason::InvalidEncoding);
    assert!(error.message.contains("'→' (U+2192)"));
    let fixture = Fixture::with(b"\0\x01\x02");
    let error = fixture.refused("file_write", json!({"path": "f", "content": "x", "mode": "append"}));
    assert_eq!(error.reason, Reason::BinaryFile);
}

#[test]
fn an_addition_that_fails_half_way_is_taken_back() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::io::Write;
    // A bound on file sizes stands in for a full disk. It holds for the whole process and would kill it by a
    // signal that other tests do not expect, so a process of its own tries it.
    if std::env::var_os("BEAMAI_APPEND_CHILD").is_none() {
        let name = "tests::write::an_addition_that_fails_half_way_is_taken_back";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env("BEAMAI_APPEND_CHILD", "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        let stdout = String::from_utf8_lossy(&child.stdout);
        assert!(stdout.contains("1 passed"), "{stdout}");
        return;
    }
    let fixture = Fixture::with("1\n".repeat(40_000));
    let limit = Rlimit { current: Some(100_000), maximum: getrlimit(Resource::Fsize).maximum };
    setrlimit(Resource::Fsize, limit).unwrap();
    ignore_file_size_signal();
    let content = "2\n".repeat(40_000);
    assert!(std::fs::File::create(fixture.path("probe")).unwrap().write_all(&[0; 200_000]).is_err());
    let error = fixture.refused("file_write", json!({"path": "f", "content": content, "mode": "append"}));
    assert_eq!(error.reason, Reason::Io);
    let error = fixture.refused("file_write", json!({"path": "f", "content": content.repeat(2)}));
    assert_eq!(error.reason, Reason::Io);
}

/// With SIGXFSZ ignored, a write beyond the bound fails like one on a full disk.
fn ignore_file_size_signal() {
    const SIGXFSZ: i32 = 25;
    const SIG_IGN: usize = 1;
    unsafe extern "C" {
        fn signal(signal: i32, handler: usize) -> usize;
    }
    // SAFETY: ignoring a signal installs no handler, so nothing runs at a bad moment.
    unsafe { signal(SIGXFSZ, SIG_IGN) };
}

#[test]
fn a_file_that_is_not_the_expected_one_is_left_alone() {
    for mode in ["write", "append"] {
        let fixture = Fixture::with("old");
        let args = |hash: &str| json!({"path": "f", "content": "new", "mode": mode, "expected_hash": hash});
        assert_eq!(fixture.refused("file_write", args(&hash(b"other"))).reason, Reason::Stale);
        assert_eq!(fixture.refused("file_write", args("abc")).reason, Reason::InvalidArgument);
        fixture.write(args(&hash(b"old").to_uppercase()));
        assert_ne!(fixture.get("f"), b"old");
        std::fs::remove_file(fixture.path("f")).unwrap();
        assert_eq!(fixture.refused("file_write", args(&hash(b"old"))).reason, Reason::Stale);
    }
}

#[test]
fn mode_and_symlink_are_kept_and_a_broken_hard_link_is_told() {
    let fixture = Fixture::with("old");
    std::fs::set_permissions(fixture.path("f"), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("f", fixture.path("link")).unwrap();
    let value = fixture.write(json!({"path": "link", "content": "new"}));
    assert_eq!((fixture.get("f"), &value["link_broken"]), (b"new".to_vec(), &Value::Null));
    assert!(std::fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(fixture.path("f")).unwrap().mode() & 0o777, 0o755);
    std::fs::hard_link(fixture.path("f"), fixture.path("twin")).unwrap();
    assert_eq!(fixture.write(json!({"path": "f", "content": "newer"}))["link_broken"], true);
    assert_eq!(fixture.get("twin"), b"new");
}

#[test]
fn what_cannot_be_written_is_refused_and_changes_nothing() {
    let fixture = Fixture::with("old");
    let reason = |args| fixture.refused("file_write", args).reason;
    assert_eq!(reason(json!({"path": ".", "content": "x"})), Reason::IsADirectory);
    assert_eq!(reason(json!({"path": "new/", "content": "x"})), Reason::IsADirectory);
    assert_eq!(reason(json!({"path": "f/x", "content": "x"})), Reason::NotADirectory);
    assert_eq!(reason(json!({"path": "../x", "content": "x"})), Reason::OutsideWorkspace);
    assert_eq!(reason(json!({"path": "f", "content": "x", "mode": "truncate"})), Reason::InvalidArgument);
    assert_eq!(reason(json!({"path": "f"})), Reason::InvalidArgument);
    assert_eq!(std::fs::read_dir(fixture.dir.path()).unwrap().count(), 1);
}
