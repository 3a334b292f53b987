//! Files that do not fit in the memory that a call may use.

use super::*;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Numbered lines, about `size` bytes of them, in a file `f`.
fn numbered(size: usize) -> (Fixture, u64) {
    let fixture = Fixture::new();
    let mut out = std::io::BufWriter::new(std::fs::File::create(fixture.path("f")).unwrap());
    let lines = size / 100;
    for n in 1..=lines {
        writeln!(out, "{n:>10} {:88}", "of many lines").unwrap();
    }
    out.flush().unwrap();
    (fixture, lines as u64)
}

#[test]
fn a_line_of_a_huge_file_costs_nothing() {
    let (fixture, lines) = numbered(100_000);
    let file = std::fs::File::options().write(true).open(fixture.path("f")).unwrap();
    file.set_len(10 << 30).unwrap();
    let start = Instant::now();
    let value = fixture.read(json!({"path": "f", "offset": 5, "limit": 2}));
    assert!(start.elapsed() < Duration::from_secs(4));
    assert!(value["content"].as_str().unwrap().starts_with("         5 of"));
    assert_eq!((&value["start_line"], &value["end_line"]), (&json!(5), &json!(6)));
    assert_eq!(
        (&value["has_more"], &value["total_lines"], &value["hash"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    file.write_all_at(b"\nlast but one\nlast\n", (10 << 30) - 19).unwrap();
    let start = Instant::now();
    let value = fixture.read(json!({"path": "f", "offset": -2}));
    assert!(start.elapsed() < Duration::from_secs(4));
    assert_eq!((&value["content"], &value["start_line"]), (&json!("last but one\nlast\n"), &Value::Null));
    assert_eq!((&value["has_more"], &value["total_lines"]), (&json!(false), &Value::Null));
    assert!(lines > 6);
}

#[test]
fn a_file_above_the_memory_bound_is_read_in_pieces_and_counted() {
    let (fixture, lines) = numbered(100_000);
    let bytes = fixture.get("f");
    let value = fixture.read(json!({"path": "f", "offset": 700, "limit": 1}));
    assert!(value["content"].as_str().unwrap().starts_with("       700 of"));
    assert_eq!((&value["total_lines"], &value["hash"]), (&json!(lines), &json!(hash(&bytes))));
    let value = fixture.read(json!({"path": "f", "offset": -3, "limit": 2}));
    assert!(value["content"].as_str().unwrap().starts_with(&format!("{:>10} of", lines - 2)));
    assert_eq!((&value["start_line"], &value["end_line"]), (&json!(lines - 2), &json!(lines - 1)));
    assert_eq!((&value["has_more"], &value["hash"]), (&json!(true), &json!(hash(&bytes))));
    let value = fixture.read(json!({"path": "f", "offset": lines + 1}));
    assert_eq!((&value["content"], &value["start_line"]), (&json!(""), &json!(lines + 1)));
}

#[test]
fn a_long_line_is_cut() {
    let fixture = Fixture::with("x".repeat(3 << 20));
    let value = fixture.read(json!({"path": "f"}));
    assert_eq!(value["content"].as_str().unwrap().len(), fixture.cx.limits.content_bytes);
    assert_eq!((&value["truncated"], &value["total_lines"]), (&json!(true), &json!(1)));
}

#[test]
fn a_file_above_the_memory_bound_is_edited_in_pieces() {
    for label in ["utf-8", "utf-16le", "gbk"] {
        let lead = if label == "utf-16le" { "\u{FEFF}" } else { "中文的文件，内容是文字。\n" };
        let text = format!("{lead}{}中间\n{}", "一二三 abc\n".repeat(3000), "四五六 def\n".repeat(3000));
        let fixture = Fixture::with(encoded(label, &text));
        let value =
            fixture.edit(json!({"path": "f", "old_string": "abc\n中间\n四", "new_string": "ABC\n四"}));
        assert_eq!((&value["replacements"], &value["encoding"]), (&json!(1), &json!(label)));
        assert_eq!((&value["additions"], &value["deletions"]), (&json!(1), &json!(2)));
        let edited = encoded(label, &text.replace("abc\n中间\n四", "ABC\n四"));
        assert!(fixture.get("f") == edited);
        assert_eq!(value["hash"], hash(&edited));
        let value =
            fixture.edit(json!({"path": "f", "old_string": "def", "new_string": "D", "replace_all": true}));
        assert_eq!(value["replacements"], 3000);
        assert!(
            fixture.get("f") == encoded(label, &text.replace("abc\n中间\n四", "ABC\n四").replace("def", "D"))
        );
    }
}

#[test]
fn more_replacements_than_can_be_held_are_refused() {
    let fixture = Fixture::with("ab".repeat(1_000_001));
    let args = json!({"path": "f", "old_string": "a", "new_string": "", "replace_all": true});
    assert_eq!(fixture.refused("file_edit", args).reason, Reason::TooLarge);
}

#[test]
fn a_file_too_large_for_a_hash_is_added_to() {
    let mut fixture = Fixture::with("1\n".repeat(1000));
    fixture.cx.limits.whole_file_bytes = 100;
    let value = fixture.write(json!({"path": "f", "content": "2\n", "mode": "append"}));
    assert_eq!(
        (&value["hash"], &value["diff"], &value["bytes_written"]),
        (&Value::Null, &Value::Null, &json!(2))
    );
    assert!(value["note"].as_str().unwrap().starts_with("no diff and no hash"));
    assert!(fixture.get("f").ends_with(b"1\n2\n"));
}
