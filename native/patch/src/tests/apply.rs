//! What patches do.

use super::*;

#[test]
fn a_file_is_changed() {
    let fixture = Fixture::with([("f", "1\n2\n3\n4\n5\n")]);
    let value = fixture.apply("--- a/f\n+++ b/f\n@@ -2,3 +2,4 @@\n 2\n-3\n+three\n+more\n 4\n");
    assert_eq!(fixture.get("f"), "1\n2\nthree\nmore\n4\n5\n");
    let file = &value["files"][0];
    assert_eq!((&file["path"], &file["operation"]), (&json!("f"), &json!("updated")));
    assert_eq!(
        file["hunks"],
        json!([{"patch_line": 3, "line": 2, "new_line": 2, "offset": 0, "additions": 2, "deletions": 1}])
    );
    assert_eq!(file["hash"], blake3::hash(b"1\n2\nthree\nmore\n4\n5\n").to_hex().as_str());
    assert_eq!((&file["additions"], &file["deletions"]), (&json!(2), &json!(1)));
    assert_eq!(file["encoding"], "utf-8");
}

#[test]
fn files_are_made_changed_removed_renamed_and_copied_at_once() {
    let fixture =
        Fixture::with([("change", "a\nb\n"), ("d/gone", "x\n"), ("old", "1\n2\n"), ("model", "m\n")]);
    let patch = "\
diff --git a/change b/change
index 1111111..2222222 100644
--- a/change
+++ b/change
@@ -1,2 +1,2 @@
 a
-b
+B
diff --git a/d/gone b/d/gone
deleted file mode 100644
index 1111111..0000000
--- a/d/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/n/new b/n/new
new file mode 100755
index 0000000..1111111
--- /dev/null
+++ b/n/new
@@ -0,0 +1,2 @@
+#!/bin/sh
+true
diff --git a/old b/sub/moved
similarity index 50%
rename from old
rename to sub/moved
index 1111111..2222222 100644
--- a/old
+++ b/sub/moved
@@ -1,2 +1,2 @@
-1
+one
 2
diff --git a/model b/copy
similarity index 100%
copy from model
copy to copy
";
    let value = fixture.apply(patch);
    let told: Vec<_> =
        value["files"].as_array().unwrap().iter().map(|file| (&file["path"], &file["operation"])).collect();
    let wanted = [
        ("change", "updated"),
        ("d/gone", "deleted"),
        ("n/new", "created"),
        ("sub/moved", "renamed"),
        ("copy", "copied"),
    ];
    assert!(
        told.iter().map(|(path, operation)| (path.as_str().unwrap(), operation.as_str().unwrap())).eq(wanted)
    );
    assert_eq!(
        (&value["files"][3]["old_path"], &value["files"][4]["old_path"]),
        (&json!("old"), &json!("model"))
    );
    assert_eq!(value["files"][2]["executable"], true);
    assert_eq!(fixture.names(), ["change", "copy", "model", "n", "n/new", "sub", "sub/moved"]);
    assert_eq!(
        (fixture.get("sub/moved"), fixture.get("copy"), fixture.get("change")),
        ("one\n2\n".into(), "m\n".into(), "a\nB\n".into())
    );
    assert_eq!(fixture.mode("n/new") & 0o100, 0o100);
}

#[test]
fn a_rename_alone_keeps_the_very_file() {
    let fixture = Fixture::new();
    fixture.put("bytes", [0u8, 159, 146, 150]);
    let inode = fixture.path("bytes").metadata().unwrap().ino();
    let value =
        fixture.apply("diff --git a/bytes b/a/b\nsimilarity index 100%\nrename from bytes\nrename to a/b\n");
    assert_eq!(fixture.path("a/b").metadata().unwrap().ino(), inode);
    assert_eq!((&value["files"][0]["hash"], &value["files"][0]["hunks"]), (&Value::Null, &json!([])));
}

#[test]
fn modes_are_set_and_kept() {
    let fixture = Fixture::with([("f", "x\n")]);
    fixture.set_mode("f", 0o640);
    let value = fixture.apply("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
    assert_eq!((fixture.mode("f"), &value["files"][0]["executable"]), (0o750, &json!(true)));
    fixture.apply("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n");
    assert_eq!((fixture.mode("f"), fixture.get("f")), (0o750, "y\n".into()));
    fixture.apply("diff --git a/f b/g\nold mode 100755\nnew mode 100644\nrename from f\nrename to g\n");
    assert_eq!((fixture.mode("g"), fixture.get("g")), (0o640, "y\n".into()));
}

#[test]
fn empty_files_come_and_go_by_their_header_alone() {
    let fixture = Fixture::with([("full", "x\n")]);
    fixture.apply("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n");
    assert_eq!(fixture.get("e"), "");
    fixture.apply("diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n");
    assert!(!fixture.path("e").exists());
    assert_eq!(
        fixture.refused("diff --git a/full b/full\ndeleted file mode 100644\n").reason,
        Reason::NoMatch
    );
}

#[test]
fn all_content_may_go_and_the_file_stay() {
    let fixture = Fixture::with([("f", "x\n")]);
    fixture.apply("--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-x\n");
    assert_eq!(fixture.get("f"), "");
    fixture.apply("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+y\n");
    assert_eq!(fixture.get("f"), "y\n");
}

#[test]
fn the_end_of_a_file_is_as_the_patch_says() {
    const MARK: &str = "\\ No newline at end of file\n";
    for (before, hunk, after) in [
        ("a\nb", format!(" a\n-b\n{MARK}+c\n{MARK}"), "a\nc"),
        ("a\nb", format!(" a\n-b\n{MARK}+b\n"), "a\nb\n"),
        ("a\nb\n", format!(" a\n-b\n+b\n{MARK}"), "a\nb"),
        ("a\nb", format!("-a\n+A\n b\n{MARK}"), "A\nb"),
    ] {
        let fixture = Fixture::with([("f", before)]);
        let value = fixture.apply(&format!("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n{hunk}"));
        assert_eq!(fixture.get("f"), after, "{hunk}");
        assert_eq!(value["files"][0]["line_endings_adapted"], Value::Null);
    }
}

#[test]
fn a_missing_newline_that_the_patch_does_not_know_of_stays_missing() {
    for (hunk, after) in [
        (" a\n-b\n+c\n", "a\nc"),
        (" a\n b\n+c\n+d\n", "a\nb\nc\nd"),
        (" a\n-b\n", "a\n"),
        ("-a\n b\n", "b"),
        (" a\n-b\n+c\n+d\n", "a\nc\nd"),
    ] {
        let fixture = Fixture::with([("f", "a\nb")]);
        let value = fixture.apply(&format!("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n{hunk}"));
        assert_eq!(fixture.get("f"), after, "{hunk}");
        assert_eq!(value["files"][0]["line_endings_adapted"], true, "{hunk}");
    }
}

#[test]
fn the_line_ends_of_the_file_are_meant() {
    let hunk = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+new\n c\n";
    for (before, after) in [
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nnew\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\r\nB\nnew\nc\r\n"),
        ("a\nb\r\nc\n", "a\nB\r\nnew\r\nc\n"),
        ("a\r\nb\r\nc", "a\r\nB\r\nnew\r\nc"),
    ] {
        let fixture = Fixture::with([("f", before)]);
        let value = fixture.apply(hunk);
        assert_eq!(fixture.get("f"), after, "{before:?}");
        assert_eq!(value["files"][0]["line_endings_adapted"], true);
    }
    // A patch that was converted as a whole, and one whose body alone was.
    for patch in [
        hunk.replace('\n', "\r\n"),
        hunk.replace(" a\n-b\n+B\n+new\n c\n", " a\r\n-b\r\n+B\r\n+new\r\n c\r\n"),
    ] {
        let fixture = Fixture::with([("f", "a\nb\nc\n")]);
        fixture.apply(&patch);
        assert_eq!(fixture.get("f"), "a\nB\nnew\nc\n");
    }
}

#[test]
fn line_ends_change_where_the_patch_says_so() {
    let fixture = Fixture::with([("f", "a\r\nb\r\nc\r\n")]);
    fixture.apply("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+b\n c\r\n");
    assert_eq!(fixture.get("f"), "a\r\nb\nc\r\n");
}

#[test]
fn wrong_line_numbers_are_put_right_and_told() {
    let fixture = Fixture::with([("f", "1\n2\n3\n4\n5\n6\n")]);
    let value = fixture.apply("--- a/f\n+++ b/f\n@@ -1,9 +1,2 @@\n 3\n-4\n+four\n 5\n");
    let hunk = &value["files"][0]["hunks"][0];
    assert_eq!((&hunk["line"], &hunk["offset"]), (&json!(3), &json!(2)));
    assert_eq!(hunk["note"], "its header counts 9 lines before and 2 after; there are 3 and 3");
    let value = fixture.apply("--- a/f\n+++ b/f\n@@ @@\n-2\n+two\n@@ -50 +50 @@\n-6\n+six\n");
    let hunks = &value["files"][0]["hunks"];
    assert_eq!((&hunks[0]["offset"], &hunks[1]["offset"]), (&Value::Null, &json!(-44)));
    assert_eq!(fixture.get("f"), "1\ntwo\n3\nfour\n5\nsix\n");
}

/// Ten blocks that are the same but for their names.
fn blocks() -> String {
    (0..10).map(|at| format!("fn f{at}() {{\n    body();\n}}\n\n")).collect()
}

#[test]
fn the_stated_line_tells_which_of_many_places_is_meant() {
    let fixture = Fixture::with([("f", &blocks())]);
    fixture.apply("--- a/f\n+++ b/f\n@@ -13,3 +13,3 @@\n-fn f3() {\n+fn g() {\n     body();\n }\n");
    fixture.apply("--- a/f\n+++ b/f\n@@ -14,2 +14,3 @@\n     body();\n+    more();\n }\n");
    assert!(fixture.get("f").contains("fn g() {\n    body();\n    more();\n}\n"));
}

#[test]
fn a_neighbour_that_has_moved_tells_where_others_are() {
    let fixture = Fixture::with([("f", &format!("one\ntwo\nthree\n{}", blocks()))]);
    // Made for a file without the first three lines.
    let value = fixture.apply(
        "--- a/f\n+++ b/f\n@@ -9,2 +9,2 @@\n-fn f2() {\n+fn g() {\n     body();\n@@ -14,2 +14,3 @@\n     body();\n+    more();\n }\n",
    );
    assert_eq!(
        (&value["files"][0]["hunks"][1]["line"], &value["files"][0]["hunks"][1]["offset"]),
        (&json!(17), &json!(3))
    );
    assert!(fixture.get("f").contains("fn f3() {\n    body();\n    more();\n}\n"));
}

#[test]
fn hunks_without_numbers_are_in_the_order_of_the_file() {
    let fixture = Fixture::with([("f", "a\nx\nb\nx\nc\n")]);
    fixture.apply("--- a/f\n+++ b/f\n@@ @@\n-a\n+A\n@@ @@\n-x\n+X\n@@ @@\n-b\n+B\n");
    assert_eq!(fixture.get("f"), "A\nX\nB\nx\nc\n");
}

#[test]
fn lines_can_be_added_without_context_where_the_header_is_sure() {
    let fixture = Fixture::with([("f", "a\nb\n")]);
    fixture.apply("--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+new\n@@ -2,0 +4 @@\n+end\n");
    assert_eq!(fixture.get("f"), "a\nnew\nb\nend\n");
    fixture
        .apply("diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+top\n");
    assert_eq!(fixture.get("f"), "top\na\nnew\nb\nend\n");
}

#[test]
fn a_part_that_comes_back_to_a_file_goes_on_from_there() {
    let fixture = Fixture::with([("f", "a\nb\n")]);
    let change = |old: &str, new: &str| format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-{old}\n+{new}\n");
    fixture.apply(&[change("a", "A"), change("A", "AA"), change("b", "B")].concat());
    assert_eq!(fixture.get("f"), "AA\nB\n");
    let made = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-1\n+2\n";
    fixture.apply(made);
    assert_eq!(fixture.get("n"), "2\n");
    let gone = "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-2\n+3\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-3\n";
    fixture.apply(gone);
    assert!(!fixture.path("n").exists());
    fixture.apply(
        "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-AA\n-B\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+anew\n",
    );
    assert_eq!(fixture.get("f"), "anew\n");
}

#[test]
fn renames_of_one_diff_are_about_the_files_before_it() {
    let fixture = Fixture::with([("a", "A\n"), ("b", "B\n"), ("c", "C\n")]);
    let rename =
        |old: &str, new: &str| format!("diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n");
    fixture.apply(&[rename("a", "b"), rename("b", "a")].concat());
    assert_eq!((fixture.get("a"), fixture.get("b")), ("B\n".into(), "A\n".into()));
    fixture.apply(&[rename("a", "b"), rename("b", "c"), rename("c", "d")].concat());
    assert_eq!(
        (fixture.get("b"), fixture.get("c"), fixture.get("d")),
        ("B\n".into(), "A\n".into(), "C\n".into())
    );
    assert!(!fixture.path("a").exists());
    let anew = "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+new\n";
    fixture.apply(&[anew.to_owned(), rename("b", "e")].concat());
    assert_eq!((fixture.get("b"), fixture.get("e")), ("new\n".into(), "B\n".into()));
    let copy = "diff --git a/b b/f\ncopy from b\ncopy to f\n";
    fixture.apply(&["--- a/b\n+++ b/b\n@@ -1 +1 @@\n-new\n+newer\n", copy].concat());
    assert_eq!((fixture.get("b"), fixture.get("f")), ("newer\n".into(), "new\n".into()));
}

#[test]
fn paths_are_understood_with_any_prefix_or_none() {
    let hunk = "@@ -1 +1 @@\n-old\n+new\n";
    for header in [
        "--- a/d/f\n+++ b/d/f\n",
        "--- d/f\n+++ d/f\n",
        "--- a/d/f\n+++ a/d/f\n",
        "--- ./d/f\n+++ ./d/f\n",
        "--- orig/d/f\t2024-01-01 00:00:00 +0000\n+++ new/d/f\t2024-01-02 00:00:00 +0000\n",
        "--- d/f.orig\n+++ d/f\n",
        "--- \"a/d/f\"\n+++ \"b/d/f\"\n",
        "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n",
        "diff --git d/f d/f\nindex 1..2\n--- d/f\n+++ d/f\n",
        "diff --git a/d/f b/d/f\n",
        "Some words.\n\n```diff\n--- a/d/f\n+++ b/d/f\n",
        "Index: d/f\n===================\n--- d/f\t(revision 1)\n+++ d/f\t(working copy)\n",
        "diff -ru x/d/f y/d/f\n--- x/d/f\n+++ y/d/f\n",
    ] {
        let fixture = Fixture::with([("d/f", "old\n")]);
        let end = if header.contains("```") { "```\nMore words.\n" } else { "" };
        let value = fixture.apply(&format!("{header}{hunk}{end}"));
        assert_eq!(
            (fixture.get("d/f").as_str(), &value["files"][0]["path"]),
            ("new\n", &json!("d/f")),
            "{header}"
        );
    }
    let fixture = Fixture::with([("a/f", "old\n"), ("f", "old\n")]);
    fixture.apply(&format!("--- a/f\n+++ a/f\n{hunk}"));
    assert_eq!((fixture.get("a/f"), fixture.get("f")), ("new\n".into(), "old\n".into()));
    let absolute = fixture.path("f").canonicalize().unwrap().into_os_string().into_string().unwrap();
    fixture.apply(&format!("--- {absolute}\n+++ {absolute}\n{hunk}"));
    assert_eq!(fixture.get("f"), "new\n");
    let value = fixture.apply("--- a/f\n+++ b/other\n@@ -1 +1 @@\n-new\n+newer\n");
    assert!(value["files"][0]["note"].as_str().unwrap().contains("nothing is renamed"));
    assert_eq!(fixture.get("f"), "newer\n");
}

#[test]
fn names_of_any_bytes_are_found() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let odd = fixture.dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xE9\t\"x\""));
    std::fs::write(&odd, "old\n").unwrap();
    let name = r#"caf\351\t\"x\""#;
    let value = fixture.apply(&format!("--- \"a/{name}\"\n+++ \"b/{name}\"\n@@ -1 +1 @@\n-old\n+new\n"));
    assert_eq!(std::fs::read_to_string(&odd).unwrap(), "new\n");
    // The result's name for it is one that a patch may use.
    let shown = value["files"][0]["path"]
        .as_str()
        .unwrap()
        .replace('"', "\\\"")
        .replace('\t', "\\t")
        .replace("\\xE9", "\\\\xE9");
    fixture.apply(&format!("--- \"a/{shown}\"\n+++ \"b/{shown}\"\n@@ -1 +1 @@\n-new\n+newer\n"));
    assert_eq!(std::fs::read_to_string(&odd).unwrap(), "newer\n");
}

#[test]
fn a_link_stays_and_its_target_is_changed() {
    let fixture = Fixture::with([("d/f", "old\n")]);
    std::os::unix::fs::symlink("d/f", fixture.path("link")).unwrap();
    fixture.apply("--- a/link\n+++ b/link\n@@ -1 +1 @@\n-old\n+new\n");
    assert!(fixture.path("link").is_symlink());
    assert_eq!(fixture.get("d/f"), "new\n");
}

#[test]
fn a_broken_hard_link_is_told() {
    let fixture = Fixture::with([("f", "old\n")]);
    std::fs::hard_link(fixture.path("f"), fixture.path("g")).unwrap();
    let value = fixture.apply("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n");
    assert_eq!((value["files"][0]["link_broken"].clone(), fixture.get("g")), (json!(true), "old\n".into()));
}

#[test]
fn the_mark_of_a_file_stays_whether_the_patch_shows_it_or_not() {
    for (hunk, after) in [
        ("-a\n+A\n b\n", "\u{FEFF}A\nb\n"),
        ("-\u{FEFF}a\n+\u{FEFF}A\n b\n", "\u{FEFF}A\nb\n"),
        ("-\u{FEFF}a\n+a\n b\n", "a\nb\n"),
        ("+\u{FEFF}new\n a\n b\n", "\u{FEFF}new\na\nb\n"),
        ("+\u{FEFF}new\n-\u{FEFF}a\n+a\n b\n", "\u{FEFF}new\na\nb\n"),
    ] {
        let fixture = Fixture::with([("f", "\u{FEFF}a\nb\n")]);
        fixture.apply(&format!("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n{hunk}"));
        assert_eq!(fixture.get("f"), after, "{hunk:?}");
    }
    let fixture = Fixture::with([("f", "\u{FEFF}a\n")]);
    fixture.apply("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    assert!(!fixture.path("f").exists());
}

#[test]
fn a_diff_of_the_other_tools_can_be_applied() {
    let fixture = Fixture::with([("f", &"line\n".repeat(20))]);
    let args = json!({"path": "f", "content": "first\n".to_owned() + &"line\n".repeat(19) + "last"});
    let tool = ToolBinding::<beamai_files::FileWrite>::new("file_write", "");
    let Ok(written) = tool.execute(args.as_object().unwrap().clone(), &fixture.cx) else {
        panic!("not written")
    };
    let after = fixture.get("f");
    fixture.put("f", "line\n".repeat(20));
    fixture.apply(written["diff"].as_str().unwrap());
    assert_eq!(fixture.get("f"), after);
}

#[test]
fn a_header_that_is_complete_by_itself_leaves_the_next_file_alone() {
    let plain = "--- a/other\n+++ b/other\n@@ -1 +1 @@\n-x\n+y\n";
    for (header, names) in [
        ("diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n", &["g", "other"][..]),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", &["f", "g", "other"]),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", &["f", "other"]),
        ("diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n", &["f", "n", "other"]),
    ] {
        let fixture = Fixture::with([("f", "x\n"), ("other", "x\n")]);
        let value = fixture.apply(&format!("{header}{plain}"));
        assert_eq!(
            (fixture.names(), fixture.get("other").as_str()),
            (names.iter().map(|name| (*name).to_owned()).collect(), "y\n")
        );
        assert_eq!(value["files"][1]["path"], "other");
    }
    let fixture = Fixture::with([("f", "x\n"), ("other", "x\n")]);
    let error = fixture.refused(&format!("diff --git a/f b/f\nindex 1..2 100644\n{plain}"));
    assert!(error.message.contains("nothing follows the header"), "{error}");
}
