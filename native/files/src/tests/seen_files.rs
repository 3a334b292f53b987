//! Files that changed since the session saw them.

use super::*;
use beamai_tool::SeenFiles;

/// A scene of a session with a name of its own.
fn session(content: &str) -> Fixture {
    let mut fixture = Fixture::with(content);
    fixture.cx.seen_files = SeenFiles::of(fixture.dir.path().to_str());
    fixture
}

fn edit(old: &str, new: &str) -> Value {
    json!({"path": "f", "old_string": old, "new_string": new})
}

fn patch(old: &str, new: &str) -> Value {
    json!({"patch": format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-{old}\n+{new}\n")})
}

#[test]
fn a_file_that_somebody_else_changed_since_it_was_read_is_left_alone() {
    let changes = [
        ("file_edit", edit("one", "two")),
        ("file_edit", edit("no such text", "two")),
        ("file_write", json!({"path": "./f", "content": "two\n"})),
        ("file_patch", patch("one", "two")),
        ("file_patch", json!({"patch": "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-more\n"})),
    ];
    for (tool, args) in changes {
        let fixture = session("one\n");
        fixture.read(json!({"path": "f", "limit": 1}));
        fixture.put("f", "one\nmore\n");
        let error = fixture.refused(tool, args);
        assert_eq!((error.reason, &error.details["file"]), (Reason::Stale, &json!("f")), "{tool}");
        assert!(error.message.contains("read it again"), "{error}");
        fixture.read(json!({"path": "f"}));
        fixture.edit(edit("one", "two"));
        assert_eq!(fixture.get("f"), b"two\nmore\n");
    }
}

#[test]
fn what_the_session_did_itself_is_no_change_by_others() {
    let fixture = session("one\n");
    fixture.read(json!({"path": "f"}));
    fixture.edit(edit("one", "two"));
    fixture.edit(edit("two", "three"));
    fixture.call("file_patch", patch("three", "four")).unwrap();
    fixture.write(json!({"path": "f", "content": "added\n", "mode": "append"}));
    fixture.edit(edit("added", "done"));
    fixture.write(json!({"path": "f", "content": "new\n"}));
    let rename = "diff --git a/f b/g\nrename from f\nrename to g\n";
    fixture.call("file_patch", json!({"patch": rename})).unwrap();
    fixture.put("f", "of somebody else\n");
    fixture.write(json!({"path": "f", "content": "mine\n"}));
    assert_eq!((fixture.get("f"), fixture.get("g")), (b"mine\n".to_vec(), b"new\n".to_vec()));
}

#[test]
fn a_file_is_only_checked_where_it_was_seen_and_is_there() {
    let fixture = session("one\n");
    fixture.edit(edit("one", "two"));
    let fixture = session("one\n");
    fixture.write(json!({"path": "f", "content": "two\n"}));
    std::fs::remove_file(fixture.path("f")).unwrap();
    fixture.write(json!({"path": "f", "content": "again\n"}));
    // A session without a name has seen nothing.
    let fixture = Fixture::with("one\n");
    fixture.read(json!({"path": "f"}));
    fixture.put("f", "one more\n");
    fixture.edit(edit("one", "two"));
}

#[test]
fn what_was_only_touched_is_not_stale_and_an_expected_hash_decides() {
    let fixture = session("one\n");
    fixture.read(json!({"path": "f"}));
    std::fs::remove_file(fixture.path("f")).unwrap();
    fixture.put("f", "one\n");
    fixture.edit(edit("one", "two"));
    fixture.put("f", "three\n");
    let mut args = edit("three", "four");
    args["expected_hash"] = hash(b"three\n").into();
    fixture.edit(args);
}

#[test]
fn an_addition_to_a_changed_file_takes_nothing_away_and_shows_nothing_of_it() {
    let fixture = session("one\n");
    fixture.read(json!({"path": "f"}));
    fixture.put("f", "one\nof somebody else\n");
    fixture.write(json!({"path": "f", "content": "added\n", "mode": "append"}));
    assert_eq!(fixture.refused("file_write", json!({"path": "f", "content": "x"})).reason, Reason::Stale);
}

#[test]
fn a_dry_run_or_a_failure_is_not_taken_note_of() {
    let fixture = session("one\n");
    fixture.read(json!({"path": "f"}));
    let mut dry = patch("one", "two");
    dry["dry_run"] = true.into();
    fixture.call("file_patch", dry).unwrap();
    fixture.edit(edit("one", "three"));
    fixture.refused("file_edit", edit("one", "four"));
    fixture.edit(edit("three", "five"));
}

#[test]
fn edits_of_one_session_side_by_side_do_not_refuse_each_other() {
    let lines: String = (0..20).map(|at| format!("line {at};\n")).collect();
    let fixture = session(&lines);
    fixture.read(json!({"path": "f"}));
    std::thread::scope(|scope| {
        for at in 0..20 {
            let fixture = &fixture;
            scope.spawn(move || {
                fixture.read(json!({"path": "f"}));
                fixture.edit(edit(&format!("line {at};"), &format!("LINE {at};")));
                fixture.read(json!({"path": "f"}));
            });
        }
    });
    assert_eq!(fixture.get("f"), lines.to_uppercase().as_bytes());
}
