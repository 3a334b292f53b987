//! Editing.

use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn args(old: &str, new: &str) -> Value {
    json!({"path": "f", "old_string": old, "new_string": new})
}

fn all(old: &str, new: &str) -> Value {
    json!({"path": "f", "old_string": old, "new_string": new, "replace_all": true})
}

#[test]
fn one_occurrence_is_replaced_with_a_diff() {
    let fixture = Fixture::with("1\n2\n3\n");
    let expected = json!({
        "replacements": 1, "diff": "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
        "additions": 1, "deletions": 1, "hash": hash(b"1\ntwo\n3\n"), "encoding": "utf-8",
    });
    assert_eq!(fixture.edit(args("2", "two")), expected);
    assert_eq!(fixture.get("f"), b"1\ntwo\n3\n");
}

#[test]
fn every_occurrence_is_replaced_when_asked() {
    let fixture = Fixture::with("aaa b\naa\n");
    let value = fixture.edit(all("aa", "x"));
    assert_eq!((fixture.get("f"), &value["replacements"]), (b"xa b\nx\n".to_vec(), &json!(2)));
    assert_eq!(fixture.edit(all("b", ""))["replacements"], 1);
    assert_eq!(fixture.get("f"), b"xa \nx\n");
}

#[test]
fn several_occurrences_are_refused_with_their_lines() {
    let fixture = Fixture::with("x\ny\nx x\n");
    let error = fixture.refused("file_edit", args("x", "z"));
    assert_eq!(error.reason, Reason::Ambiguous);
    assert!(error.message.starts_with("old_string occurs 3 times in f, on lines 1, 3; "), "{error}");
    assert_eq!((&error.details["lines"], &error.details["occurrences"]), (&json!([1, 3]), &json!(3)));
    assert_eq!(Fixture::with("aaa").refused_edit("aa", "b").0, Reason::Ambiguous);
    let many = Fixture::with("a".repeat(5000)).refused_edit("aa", "b").1;
    assert!(many.contains("at least 1000 times"), "{many}");
}

#[test]
fn empty_and_equal_texts_are_refused() {
    let fixture = Fixture::with("x");
    assert_eq!(fixture.refused_edit("", "y").0, Reason::InvalidArgument);
    assert_eq!(fixture.refused_edit("x", "x").0, Reason::InvalidArgument);
}

#[test]
fn what_is_not_there_is_refused_with_what_is_near() {
    let fixture = Fixture::with("fn main() {\n\tlet name = \"x\";\n}\n");
    let (reason, message) = fixture.refused_edit("  let name = \"x\";\n}", "y");
    assert_eq!(reason, Reason::NoMatch);
    assert_eq!(
        message,
        "old_string was not found in f. It differs only in whitespace from lines 2 to 3 (line 2 begins with 1 tab where \
         old_string has 2 spaces):\n2:\tlet name = \"x\";\n3:}"
    );
    let (_, message) = fixture.refused_edit("let name = \"xyz\";", "y");
    assert!(
        message.ends_with(
            "The nearest line is (line 2 has \"x\" where old_string has \"xyz\"):\n2:\tlet name = \"x\";"
        ),
        "{message}"
    );
    let (_, message) = fixture.refused_edit("completely different", "y");
    assert!(message.contains("It has no similar text"), "{message}");
    let (_, message) = fixture.refused_edit("fn main() {\\n\tlet", "y");
    assert!(message.contains("a backslash and a letter"), "{message}");
    let (_, message) = fixture.refused_edit("     1\tfn main() {\n     2\t\tlet name = \"x\";\n", "y");
    assert!(
        message.ends_with("line numbers, which are not in the file. Without that, it is there."),
        "{message}"
    );
    let (_, message) = fixture.refused_edit("1→fn main() {\n2→\tlet name = \"y\";", "y");
    assert!(
        message.ends_with("line 2 has \"x\" where old_string has \"y\":\n2:\tlet name = \"x\";"),
        "{message}"
    );
    let (_, message) = fixture.refused_edit("fn main() {\r\n\tlet", "y");
    assert!(
        message.ends_with("end in CR LF, those of the file in LF. Without that, it is there."),
        "{message}"
    );
    assert_eq!(Fixture::with("").refused_edit("a", "b").0, Reason::NoMatch);
    let error = fixture.refused("file_edit", args("let nome", "x"));
    assert_eq!(error.details["nearest"], json!([2]));
}

#[test]
fn of_several_lines_that_are_not_there_those_that_differ_are_shown() {
    let lines: String = (1..=30).map(|n| format!("    line {n} = {}\n", n * 7)).collect();
    let fixture = Fixture::with(&lines);
    let stale = lines.replace("line 9 = 63", "line 9 = 64").replace("line 20 ", "line 20  ");
    let (_, message) = fixture.refused_edit(&stale, "y");
    assert_eq!(
        message,
        "old_string was not found in f. It is nearest to lines 1 to 30, but:\n\
         line 9 has \"63\" where old_string has \"64\":\n9:    line 9 = 63\n\
         line 20 has \"20 =\" where old_string has \"20  =\":\n20:    line 20 = 140"
    );
}

#[test]
fn lines_that_end_as_on_windows_match_and_stay_so() {
    let fixture = Fixture::with("a\r\nb\r\nc\r\n");
    let value = fixture.edit(args("a\nb", "x\ny\nz"));
    assert_eq!(
        (fixture.get("f"), &value["line_endings_adapted"]),
        (b"x\r\ny\r\nz\r\nc\r\n".to_vec(), &json!(true))
    );
    let value = fixture.edit(args("c", "c\nd"));
    assert_eq!(
        (fixture.get("f"), &value["line_endings_adapted"]),
        (b"x\r\ny\r\nz\r\nc\r\nd\r\n".to_vec(), &json!(true))
    );
    let value = fixture.edit(args("c\r\nd", "e"));
    assert_eq!(
        (fixture.get("f"), &value["line_endings_adapted"]),
        (b"x\r\ny\r\nz\r\ne\r\n".to_vec(), &Value::Null)
    );
}

#[test]
fn in_a_file_with_both_line_ends_the_exact_one_is_taken_first() {
    let fixture = Fixture::with("a\nb\r\na\r\nb\n");
    fixture.edit(args("a\nb", "x\ny"));
    assert_eq!(fixture.get("f"), b"x\ny\r\na\r\nb\n");
    fixture.edit(args("a\nb", "x\ny"));
    assert_eq!(fixture.get("f"), b"x\ny\r\nx\r\ny\n");
}

#[test]
fn a_character_that_the_encoding_cannot_hold_is_named() {
    let fixture = Fixture::with(b"caf\xE9\n");
    let (reason, message) = fixture.refused_edit("café", "thé → ✓");
    assert_eq!(reason, Reason::InvalidEncoding);
    assert_eq!(
        message,
        "the file is in windows-1252, which cannot hold '→' (U+2192), '✓' (U+2713) of new_string"
    );
    let (reason, message) = fixture.refused_edit("漢", "x");
    assert_eq!(reason, Reason::NoMatch);
    assert!(message.contains("windows-1252, which cannot hold '漢' (U+6F22)"), "{message}");
}

#[test]
fn stray_bytes_survive_an_edit_beside_them() {
    let fixture = Fixture::with("äöü \u{1F600}".bytes().chain(*b"\xFF old \xFE\n").collect::<Vec<_>>());
    let value = fixture.edit(args("old", "neü"));
    assert_eq!(fixture.get("f"), ["äöü \u{1F600}".as_bytes(), b"\xFF ne\xC3\xBC \xFE\n"].concat());
    assert_eq!(value["encoding"], "utf-8");
    let (reason, message) = fixture.refused_edit("\u{FFFD} neü", "x");
    assert_eq!(reason, Reason::NoMatch);
    assert!(message.contains("U+FFFD stands for bytes"), "{message}");
}

#[test]
fn an_encoding_with_states_is_refused() {
    let text = "これは日本語のテキストです。\n";
    let fixture = Fixture::with(encoded("iso-2022-jp", text));
    assert_eq!(fixture.refused_edit("日本語", "x").0, Reason::InvalidEncoding);
}

#[test]
fn what_is_no_text_is_refused() {
    let fixture = Fixture::with(b"\0\x01binary");
    assert_eq!(fixture.refused_edit("binary", "x").0, Reason::BinaryFile);
    let error = fixture.refused("file_edit", json!({"path": "g", "old_string": "a", "new_string": "b"}));
    assert_eq!(error.reason, Reason::NoSuchFile);
    let error = fixture.refused("file_edit", json!({"path": ".", "old_string": "a", "new_string": "b"}));
    assert_eq!(error.reason, Reason::IsADirectory);
}

#[test]
fn a_file_that_is_not_the_expected_one_is_not_edited() {
    let fixture = Fixture::with("old");
    let edit = |old: &str, hash: String| json!({"path": "f", "old_string": old, "new_string": "new", "expected_hash": hash});
    for old in ["old", "missing", "漢"] {
        let error = fixture.refused("file_edit", edit(old, hash(b"other")));
        assert_eq!((error.reason, &error.details["hash"]), (Reason::Stale, &json!(hash(b"old"))));
    }
    let value = fixture.edit(edit("old", hash(b"old")));
    assert_eq!(value["hash"], hash(b"new"));
}

#[test]
fn mode_and_symlink_are_kept_and_a_broken_hard_link_is_told() {
    let fixture = Fixture::with("old");
    std::fs::set_permissions(fixture.path("f"), PermissionsExt::from_mode(0o751)).unwrap();
    std::os::unix::fs::symlink("f", fixture.path("link")).unwrap();
    std::fs::hard_link(fixture.path("f"), fixture.path("twin")).unwrap();
    let value = fixture.edit(json!({"path": "link", "old_string": "old", "new_string": "new"}));
    assert_eq!(
        (fixture.get("f"), fixture.get("twin"), &value["link_broken"]),
        (b"new".to_vec(), b"old".to_vec(), &json!(true))
    );
    assert!(std::fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(fixture.path("f")).unwrap().mode() & 0o777, 0o751);
}

#[test]
fn a_change_is_shown_from_its_neighbourhood() {
    let lines: String = (1..=1000).map(|n| format!("line {n}\n")).collect();
    let fixture = Fixture::with(&lines);
    let value = fixture.edit(all("line 50", "LINE 50"));
    let diff = value["diff"].as_str().unwrap();
    assert!(diff.starts_with(
        "--- a/f\n+++ b/f\n@@ -47,7 +47,7 @@\n line 47\n line 48\n line 49\n-line 50\n+LINE 50\n line 51\n"
    ));
    assert!(diff.contains("@@ -497,16 +497,16 @@\n line 497\n"), "{diff}");
    assert_eq!(
        (&value["replacements"], &value["additions"], &value["deletions"]),
        (&json!(11), &json!(11), &json!(11))
    );
}
