//! Diffs, edits, patches and commits.

use super::text;
use serde_json::{Value, json};

#[test]
fn a_diff_names_each_file_once_on_either_side_and_has_no_hashes() {
    let changed =
        "diff --git a/f b/f\nindex 7898192..6178079 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+index b\n";
    let made = "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n";
    let moved = "diff --git a/c b/d\nsimilarity index 100%\nrename from c\nrename to d\n";
    let content = [changed, made, moved].concat();
    let result = json!({"content": content, "available": true, "truncated": false});
    assert_eq!(
        text("beamai", "git_diff", json!({}), result),
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+index b\ndiff --git a/e b/e\nnew file mode 100644\n\
         diff --git a/c b/d\nsimilarity index 100%\nrename from c\nrename to d"
    );
}

#[test]
fn staged_files_are_named_once_and_a_commit_says_how_much_it_changes() {
    let added = |path: &str, files: Value| {
        text("beamai", "git_add", json!({"path": path}), json!({"ok": true, "files": files}))
    };
    assert_eq!(added("src/a.rs", json!(["src/a.rs"])), "staged");
    assert_eq!(
        added(".", json!(["a", "src/a.rs", "src/b.rs", "src/d/c.rs", "x/y", "z"])),
        "staged 6 files:\na\nsrc/: a.rs, b.rs\nsrc/d/c.rs\nx/y\nz"
    );
    assert_eq!(added(".", json!(["a", "b"])), "staged 2 files:\na, b");
    let many: Vec<String> = (0..50).map(|at| format!("d/{at}")).collect();
    assert_eq!(added("d", json!(many)), "staged 50 files:\nd/: 0, 1, 2, 3, 4, 5 and 44 more");
    let committed = |more: Value| {
        let mut result =
            json!({"ok": true, "available": true, "commit": "4b3", "content": "[main 4b3fb7b] First\n"});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text("coder", "git_commit", json!({"message": "First"}), result)
    };
    assert_eq!(
        committed(json!({"files": 3, "additions": 10, "deletions": 2})),
        "[main 4b3fb7b] First, 3 files, +10 -2"
    );
    assert_eq!(committed(json!({"files": 5_000})), "[main 4b3fb7b] First, 5000 files");
    assert_eq!(committed(json!({})), "[main 4b3fb7b] First");
}

#[test]
fn a_write_is_one_line_and_an_edit_its_diff() {
    let written = |operation: &str, more: Value| {
        let mut result = json!({"success": true, "operation": operation, "bytes_written": 9, "diff": "@@\n+a\n", "additions": 3,
            "deletions": 1, "hash": "0", "encoding": "UTF-8"});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text("microai", "Write", json!({"file_path": "a.txt", "content": "a"}), result)
    };
    assert_eq!(written("created", json!({})), "created a.txt, 3 lines");
    assert_eq!(written("updated", json!({})), "updated a.txt, +3 -1 lines");
    assert_eq!(written("updated", json!({"additions": 0, "deletions": 0})), "a.txt is unchanged");
    assert_eq!(
        written("updated", json!({"diff": null, "additions": null, "note": "n"})),
        "updated a.txt, 9 bytes\n[n]"
    );
    // Where no other tool edits files, the change is shown as well, the beginning and the end of a long one.
    let overwritten = |operation: &str, hunks: &str| {
        let result = json!({"success": true, "operation": operation, "bytes_written": 9, "additions": 1, "deletions": 1,
            "diff": format!("--- a/a.txt\n+++ b/a.txt\n{hunks}")});
        text("ide", "write_file", json!({"path": "a.txt", "content": "2"}), result)
    };
    let hunk = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    assert_eq!(overwritten("updated", hunk), format!("updated a.txt, +1 -1 lines\n{}", hunk.trim_end()));
    assert_eq!(overwritten("created", hunk), "created a.txt, 1 line");
    let long: String = (1..200).map(|at| format!("@@ -{at} +{at} @@\n-old {at}\n+new {at}\n")).collect();
    let shown = overwritten("updated", &long);
    assert!(
        shown.contains("\n+new 1\n") && shown.contains("\n+new 199\n[the change is complete;"),
        "{shown}"
    );
    assert!(shown.matches("left out").count() == 1 && shown.chars().count() < 2_200, "{shown}");
    let edited = |replacements: u64| {
        let diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
        text(
            "coder",
            "edit",
            json!({"path": "f"}),
            json!({"replacements": replacements, "diff": diff, "hash": "0"}),
        )
    };
    assert_eq!(edited(1), "@@ -1,2 +1,2 @@\n one\n-two\n+2");
    assert_eq!(edited(2), "2 replacements\n@@ -2 +2 @@\n-two\n+2");
}

#[test]
fn of_many_places_some_are_shown_each_with_both_sides() {
    let hunk = |at: u64| format!("@@ -{at},3 +{at},3 @@\n a\n-old\n+new\n c\n");
    let edited = |places: u64, more: Value| {
        let diff: String = (0..places).map(|place| hunk(place * 10 + 1)).collect();
        let mut result =
            json!({"replacements": places, "diff": format!("--- a/f\n+++ b/f\n{diff}"), "hash": "0"});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text("coder", "edit", json!({"path": "f"}), result)
    };
    let shown = edited(500, json!({}));
    assert!(shown.starts_with("500 replacements\n@@ -2 +2 @@\n-old\n+new\n@@ -12 +12 @@\n"), "{shown}");
    let end = "@@ -492 +492 @@\n-old\n+new\n[all are made; the first 50 places are shown]";
    assert!(shown.ends_with(end) && shown.len() < 1_500, "{shown}");
    assert!(edited(50, json!({})).ends_with("@@ -492 +492 @@\n-old\n+new"));
    let cut = edited(3, json!({"diff_truncated": true}));
    assert!(cut.ends_with("+new\n[all are made; the first 3 places are shown]"), "{cut}");
}

#[test]
fn an_edit_of_a_long_line_says_itself_which_part_is_shown() {
    let diff = format!(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-…a…\n+…b… [characters 9 to 9 of 99999]\n[diff truncated: {}]\n",
        beamai_text::LONG_LINES
    );
    let result = json!({"replacements": 1, "diff": diff, "diff_truncated": true, "hash": "0"});
    let shown = text("coder", "edit", json!({"path": "f"}), result);
    assert_eq!(shown, "@@ -1 +1 @@\n-…a…\n+…b… [characters 9 to 9 of 99999]");
}

#[test]
fn a_patch_is_a_line_for_each_file() {
    let hunk =
        |offset: i64| json!({"patch_line": 3, "line": 9, "offset": offset, "additions": 1, "deletions": 0});
    let files = json!([
        {"path": "a", "operation": "updated", "hunks": [hunk(0), hunk(-3)], "additions": 2, "deletions": 0},
        {"path": "c", "old_path": "b", "operation": "renamed", "hunks": [], "additions": 0, "deletions": 0},
    ]);
    assert_eq!(
        text("beamai", "file_patch", json!({}), json!({"applied": false, "files": files})),
        "not yet updated a, +2 -0 lines\n  hunk 2 at line 9, -3 lines from where the patch says\nnot yet renamed b to c\n\
         [dry run: the patch applies, nothing is changed]"
    );
}
