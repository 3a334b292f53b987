//! What patches must not do. Every refusal leaves everything as it was.

use super::*;

fn change(file: &str, hunk: &str) -> String {
    format!("--- a/{file}\n+++ b/{file}\n{hunk}")
}

#[test]
fn one_hunk_that_does_not_fit_stops_them_all() {
    let fixture = Fixture::with([("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("b", "x\n")]);
    let patch = [
        change("b", "@@ -1 +1 @@\n-x\n+y\n"),
        "--- /dev/null\n+++ b/new/file\n@@ -0,0 +1 @@\n+n\n".to_owned(),
        change("a", "@@ -1 +1 @@\n-1\n+one\n@@ -4 +4 @@\n-4\n+four\n@@ -8,2 +8,2 @@\n 8\n-nine\n+NINE\n"),
    ];
    let error = fixture.refused(&patch.concat());
    assert_eq!((error.reason, &error.details["file"]), (Reason::NoMatch, &json!("a")));
    assert!(
        error.message.contains("nothing was changed") && error.message.contains("hunk 3 of 3"),
        "{error}"
    );
    let files = &error.details["files"];
    assert_eq!((&error.details["applied"], &files[0]["path"]), (&json!(false), &json!("b")));
    assert_eq!((&files[2]["hunks"][1]["line"], &files[2]["hunks"][2]["line"]), (&json!(4), &Value::Null));
    let problem = &files[2]["hunks"][2]["problem"];
    assert_eq!(problem["reason"], "no_match");
    assert_eq!(problem["nearest"], json!({"line": 8, "differs_at": 9, "expected": "nine", "found": "9"}));
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .ends_with("line 9 has \"9\" where the patch has \"nine\":\n    9:9"),
        "{problem}"
    );
}

#[test]
fn an_ambiguous_place_is_refused_with_its_lines() {
    let fixture = Fixture::with([("f", "a\nx\nb\na\nx\nc\n")]);
    for stated in ["@@ -3,2 +3,2 @@", "@@ -2,2 +2,2 @@", "@@ @@", "@@ -100,2 +100,2 @@"] {
        let error = fixture.refused(&change("f", &format!("{stated}\n a\n-x\n+y\n")));
        assert_eq!(error.reason, Reason::Ambiguous, "{stated}");
        let problem = &error.details["files"][0]["hunks"][0]["problem"];
        assert_eq!((&problem["lines"], &problem["places"]), (&json!([1, 4]), &json!(2)));
        assert!(error.message.contains("at lines 1, 4; give more lines of context"), "{error}");
    }
}

#[test]
fn every_line_that_differs_is_told_up_to_three() {
    let lines: String = (0..10).map(|n| format!("{n}\n")).collect();
    let fixture = Fixture::with([("f", &lines)]);
    let error = fixture.refused(&change("f", "@@ -1,6 +1,5 @@\n 0\n-a\n 2\n b\n c\n d\n"));
    let differ = "line 2 has \"1\" where the patch has \"a\":\n    2:1\n    \
                  line 4 has \"3\" where the patch has \"b\":\n    4:3\n    \
                  line 5 has \"4\" where the patch has \"c\":\n    5:4\n    … and 1 more line";
    assert!(error.message.ends_with(differ), "{error}");
}

#[test]
fn a_file_that_is_taken_is_told_with_the_way_to_change_it() {
    let fixture = Fixture::with([("f", "a\n"), ("g", "b\n")]);
    let refused = |patch: &str| fixture.refused(patch).message;
    assert_eq!(
        refused("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+n\n"),
        "the patch does not apply; nothing was changed\n- f exists already; change it with \"--- a/f\" and lines of it as \
         context, or choose another path"
    );
    assert_eq!(
        refused("diff --git a/g b/f\nrename from g\nrename to f\n"),
        "the patch does not apply; nothing was changed\n- f exists already; choose another path"
    );
}

#[test]
fn a_hunk_of_a_renamed_file_is_told_under_its_old_name() {
    let fixture = Fixture::with([("f", "a\nb\n")]);
    let patch =
        "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1,2 +1,2 @@\n a\n-x\n+y\n";
    assert!(fixture.refused(patch).message.contains("\n- f: its lines"), "{}", fixture.refused(patch));
}

#[test]
fn a_stated_place_that_a_moved_neighbour_contradicts_is_refused() {
    let fixture = Fixture::with([("f", "a\nb\nc\nonly\nx\n1\n2\nx\n")]);
    // The first hunk is three lines below the stated one; by that the second would be at the other x.
    let hunks = "@@ -1 +1 @@\n-only\n+one\n@@ -5 +5 @@\n-x\n+y\n";
    let error = fixture.refused(&change("f", hunks));
    assert!(matches!(error.reason, Reason::Ambiguous), "{error}");
}

#[test]
fn lines_to_add_without_a_certain_place_are_refused() {
    let fixture = Fixture::with([("f", "a\nb\n"), ("open", "a")]);
    for (file, hunk, why) in [
        ("f", "@@ @@\n+x\n", "no line numbers"),
        ("f", "@@ -0,0 +1 @@\n+x\n", "new file"),
        ("f", "@@ -3,0 +4 @@\n+x\n", "beyond the end"),
        ("f", "@@ -1,3 +1,4 @@\n+x\n", "counts lines that are"),
        ("f", "@@ -1,0 +2 @@\n+x\n\\ No newline at end of file\n", "not at the end"),
        ("f", "@@ -1,0 +2 @@\n+x\n@@ -1 +2 @@\n-b\n+B\n", "other hunks are not on the lines"),
        ("open", "@@ -1,0 +2 @@\n+x\n", "does not end with a newline"),
    ] {
        let error = fixture.refused(&change(file, hunk));
        assert!(error.reason == Reason::Ambiguous && error.message.contains(why), "{hunk}: {error}");
    }
}

#[test]
fn overlapping_hunks_are_refused() {
    let fixture = Fixture::with([("f", "a\nb\nc\nd\n")]);
    let error =
        fixture.refused(&change("f", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,2 +3,2 @@\n c\n-d\n+D\n"));
    assert!(
        error.reason == Reason::InvalidArgument && error.message.contains("merge the two hunks"),
        "{error}"
    );
}

#[test]
fn content_is_never_matched_roughly() {
    let fixture = Fixture::with([("f", "fn main() {\n    let x = 1;\n}\n")]);
    for (hunk, why) in [
        (
            "@@ -1,2 +1,2 @@\n fn main() {\n-  let x = 1;\n+  let x = 2;\n",
            "begins with 4 spaces where the patch has 2 spaces",
        ),
        (
            "@@ -1,2 +1,2 @@\n fn main() { \n-    let x = 1;\n+    let x = 2;\n",
            "no white space where the patch has 1 space",
        ),
        ("@@ -2 +2 @@\n-  let x = 1;\n+  let x = 2;\n", "differ only in whitespace"),
        ("@@ -2 +2 @@\n-    let y = 1;\n+    let y = 2;\n", "nearest line"),
        ("@@ -2,3 +2,3 @@\n     let x = 1;\n-}\n+};\n more\n", "the file ends where"),
        ("@@ -7 +7 @@\n-nothing like it whatsoever\n+y\n", "the file has no similar lines"),
        ("@@ -2 +2 @@\n-    let x = 0;\n+    let x = 1;\n", "may have been applied before"),
        ("@@ -3 +3 @@\n-}\n\\ No newline at end of file\n+};\n", "not at the end of the file"),
    ] {
        let error = fixture.refused(&change("f", hunk));
        assert!(error.reason == Reason::NoMatch && error.message.contains(why), "{hunk}: {error}");
    }
}

#[test]
fn files_in_the_way_are_not_overwritten() {
    let fixture = Fixture::with([("f", "mine\n"), ("g", "x\n")]);
    for patch in [
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n",
        "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n",
        "diff --git a/g b/f\nrename from g\nrename to f\n",
        "diff --git a/g b/f\ncopy from g\ncopy to f\n",
        "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+2\n",
        "diff --git a/g b/n\nrename from g\nrename to n\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+2\n",
    ] {
        assert_eq!(fixture.refused(patch).reason, Reason::AlreadyExists, "{patch}");
    }
}

#[test]
fn files_that_are_not_there_are_told_with_the_nearest_names() {
    let fixture = Fixture::with([("src/main.rs", "x\n")]);
    let error = fixture.refused(&change("src/mian.rs", "@@ -1 +1 @@\n-x\n+y\n"));
    assert!(error.reason == Reason::NoSuchFile && error.message.contains("src/main.rs"), "{error}");
    let rename = "diff --git a/nope b/n\nrename from nope\nrename to n\n";
    assert_eq!(fixture.refused(rename).reason, Reason::NoSuchFile);
    let twice = "--- a/src/main.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n".repeat(2);
    assert!(fixture.refused(&twice).message.contains("earlier part"));
    let changed_and_renamed = change("src/main.rs", "@@ -1 +1 @@\n-x\n+y\n")
        + "diff --git a/src/main.rs b/n\nrename from src/main.rs\nrename to n\n";
    assert!(fixture.refused(&changed_and_renamed).message.contains("give two patches"));
}

#[test]
fn a_deletion_names_the_whole_content() {
    let fixture = Fixture::with([("f", "a\nb\n")]);
    let error = fixture.refused("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    assert!(error.reason == Reason::NoMatch && error.message.contains("2 bytes would remain"), "{error}");
    assert_eq!(fixture.refused("--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-x\n").reason, Reason::NoMatch);
}

#[test]
fn nothing_outside_the_workspace_is_touched() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("f"), "x\n").unwrap();
    let out = outside.path().to_str().unwrap();
    let fixture = Fixture::with([("in", "x\n")]);
    std::os::unix::fs::symlink(outside.path(), fixture.path("link")).unwrap();
    let hunk = "@@ -1 +1 @@\n-x\n+y\n";
    let new = "@@ -0,0 +1 @@\n+y\n";
    let up = format!("../{}/f", outside.path().file_name().unwrap().to_str().unwrap());
    for patch in [
        format!("--- {out}/f\n+++ {out}/f\n{hunk}"),
        format!("--- a/{up}\n+++ b/{up}\n{hunk}"),
        change("link/f", hunk),
        format!("--- /dev/null\n+++ b/{up}2\n{new}"),
        format!("--- /dev/null\n+++ b/link/new\n{new}"),
        format!("--- /dev/null\n+++ {out}/new\n{new}"),
        "--- a/link/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n".to_owned(),
        "diff --git a/in b/link/in\nrename from in\nrename to link/in\n".to_owned(),
        "diff --git a/link/f b/f\nrename from link/f\nrename to f\n".to_owned(),
        "diff --git a/link/f b/f\ncopy from link/f\ncopy to f\n".to_owned(),
        format!("--- ~/f\n+++ ~/f\n{hunk}"),
    ] {
        assert_eq!(fixture.refused(&patch).reason, Reason::OutsideWorkspace, "{patch}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(outside.path().join("f")).unwrap(), "x\n");
}

#[test]
fn a_link_that_leads_nowhere_makes_no_file_outside() {
    let outside = tempfile::tempdir().unwrap();
    let fixture = Fixture::new();
    std::os::unix::fs::symlink(outside.path().join("new"), fixture.path("out")).unwrap();
    std::os::unix::fs::symlink("made", fixture.path("in")).unwrap();
    let make = |name: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+y\n");
    assert_eq!(fixture.refused(&make("out")).reason, Reason::OutsideWorkspace);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    fixture.apply(&make("in"));
    assert_eq!((fixture.get("made").as_str(), fixture.path("in").is_symlink()), ("y\n", true));
}

#[test]
fn absurd_line_numbers_change_nothing() {
    let fixture = Fixture::with([("f", "a\nb\n")]);
    for (hunk, reason) in [
        ("@@ -18446744073709551615,0 +18446744073709551615 @@\n+x\n", Reason::InvalidArgument),
        ("@@ -9223372036854775807 +1 @@\n-a\n+x\n", Reason::InvalidArgument),
        ("@@ -281474976710656,0 +1 @@\n+x\n", Reason::Ambiguous),
        ("@@ -0,0 +1 @@\n+x\n", Reason::Ambiguous),
    ] {
        assert_eq!(fixture.refused(&change("f", hunk)).reason, reason, "{hunk}");
    }
    // The lines tell the place.
    fixture.apply(&change("f", "@@ -281474976710656 +281474976710656 @@\n-b\n+c\n"));
    assert_eq!(fixture.get("f"), "a\nc\n");
}

#[test]
fn what_is_no_text_or_no_file_is_refused() {
    let fixture = Fixture::with([("f", "x\n"), ("d/f", "x\n")]);
    fixture.put("binary", b"\x7FELF\0\0\0");
    std::os::unix::fs::symlink("f", fixture.path("link")).unwrap();
    let hunk = "@@ -1 +1 @@\n-x\n+y\n";
    for (patch, reason) in [
        (
            "diff --git a/binary b/binary\nindex 1..2 100644\nGIT binary patch\nliteral 3\n".to_owned(),
            Reason::BinaryFile,
        ),
        (
            "diff --git a/binary b/binary\nindex 1..2 100644\nBinary files a/binary and b/binary differ\n"
                .to_owned(),
            Reason::BinaryFile,
        ),
        ("Binary files x/binary and y/binary differ\n".to_owned(), Reason::BinaryFile),
        (change("binary", hunk), Reason::BinaryFile),
        (change("d", hunk), Reason::IsADirectory),
        ("--- /dev/null\n+++ b/f/n\n@@ -0,0 +1 @@\n+y\n".to_owned(), Reason::NotADirectory),
        ("--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+y\n".to_owned(), Reason::IsADirectory),
        (
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+f\n"
                .to_owned(),
            Reason::InvalidArgument,
        ),
        (
            "diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+f\n"
                .to_owned(),
            Reason::InvalidArgument,
        ),
        (
            "diff --git a/link b/link\nindex 1..2 120000\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-x\n+y\n"
                .to_owned(),
            Reason::InvalidArgument,
        ),
        ("--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n".to_owned(), Reason::NotAFile),
        ("diff --git a/link b/n\nrename from link\nrename to n\n".to_owned(), Reason::NotAFile),
    ] {
        assert_eq!(fixture.refused(&patch).reason, reason, "{patch}");
    }
}

#[test]
fn names_of_one_file_are_not_both_changed() {
    let fixture = Fixture::with([("f", "x\n")]);
    std::fs::hard_link(fixture.path("f"), fixture.path("g")).unwrap();
    let hunk = "@@ -1 +1 @@\n-x\n+y\n";
    let error = fixture.call(json!({"patch": change("f", hunk) + &change("g", hunk)})).unwrap_err();
    assert!(error.message.contains("hard links"), "{error}");
    assert_eq!(fixture.get("g"), "x\n");
}

#[test]
fn characters_that_the_encoding_does_not_have_are_refused() {
    let fixture = Fixture::new();
    fixture.put("f", b"un \xE9t\xE9 \xE0 la plage, o\xF9 les \xE9l\xE8ves r\xEAvent\nb\n");
    let error = fixture.refused(&change("f", "@@ -2 +2 @@\n-b\n+漢\n"));
    assert!(error.reason == Reason::InvalidEncoding && error.message.contains("cannot hold '漢'"), "{error}");
    let error = fixture.refused(&change("f", "@@ -2 +2 @@\n-漢\n+b\n"));
    assert!(error.reason == Reason::NoMatch && error.message.contains("cannot hold '漢'"), "{error}");
}

#[test]
fn what_is_no_patch_is_refused_with_its_line() {
    let fixture = Fixture::with([("f", "x\n")]);
    for (patch, line, why) in [
        ("", 1, "no file in it"),
        ("just words\n", 1, "no file in it"),
        ("@@ -1 +1 @@\n-x\n+y\n", 1, "a hunk without a file"),
        ("--- a/f\n+++ b/f\n", 3, "found the end of the patch"),
        ("--- a/f\n+++ b/f\n-x\n+y\n", 3, "expected \"@@ -1,3 +1,4 @@\", found \"-x\""),
        ("--- a/f\n+++ b/f\n@@ -1 +x @@\n-x\n+y\n", 3, "expected \"@@ -1,3 +1,4 @@\""),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-x\n+y\nz\n", 6, "begins with"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n x\n", 3, "changes nothing"),
        ("--- \n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n", 1, "no file name"),
        ("--- \"a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n", 1, "not closed"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n", 1, "both names"),
        ("--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n", 3, "the file is new"),
        ("--- a/f\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n", 3, "the file is deleted"),
        ("diff --git a/f b/f\nindex 1..2 100644\n", 2, "nothing follows"),
        ("diff --git a/f b/g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n", 1, "rename from"),
        ("diff --git a/f b/g\nrename from f\n", 1, "both \"rename from\""),
        (
            "diff --git a/f b/g\nrename from f\nrename to g\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+y\n",
            1,
            "neither",
        ),
        ("diff --git a/f b/f\nnew mode 10x\n", 2, "not a file mode"),
        ("diff --cc f\nindex 1,2..3\n", 1, "combined diff"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n*** Begin Patch\n", 6, "are mixed"),
        ("*** a/f\n--- b/f\n***************\n", 3, "context diff"),
    ] {
        let error = fixture.refused(patch);
        assert_eq!(
            (error.reason, &error.details["line"]),
            (Reason::InvalidArgument, &json!(line)),
            "{patch}: {error}"
        );
        assert!(
            error.message.contains(why) && error.message.contains(&format!("line {line}")),
            "{patch}: {error}"
        );
    }
}

#[test]
fn a_cancelled_call_leaves_everything_as_it_was() {
    let fixture = Fixture::with([("f", "x\n")]);
    fixture.cx.cancel.cancel();
    let error = fixture.refused(&change("f", "@@ -1 +1 @@\n-x\n+y\n"));
    assert_eq!(error.reason, Reason::Cancelled);
}

#[test]
fn a_call_that_is_cancelled_on_its_way_leaves_everything_as_it_was() {
    let fixture = Fixture::new();
    let line = "a line of some length, of which there are many\n";
    fixture.put("big", line.repeat(200_000) + "end\n");
    let many: String =
        (0..200).map(|at| format!("--- /dev/null\n+++ b/new/{at}\n@@ -0,0 +1 @@\n+{at}\n")).collect();
    let patch = many + &change("big", "@@ -200001 +200001 @@\n-end\n+END\n");
    for wait in [0, 1, 5, 10, 20, 50] {
        let mut fixture = Fixture { dir: tempfile::tempdir().unwrap(), cx: fixture.cx.clone() };
        std::fs::write(fixture.path("big"), line.repeat(200_000) + "end\n").unwrap();
        fixture.cx.workspace = Workspace::open(fixture.dir.path()).unwrap();
        fixture.cx.cancel = beamai_base::CancelToken::new();
        let before = fixture.tree();
        let token = fixture.cx.cancel.clone();
        let result = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(wait));
                token.cancel();
            });
            fixture.call(json!({"patch": patch}))
        });
        match result {
            Ok(_) => assert_eq!(fixture.names().len(), 202),
            Err(error) => assert!(error.reason == Reason::Cancelled && fixture.tree() == before, "{error}"),
        }
    }
}
