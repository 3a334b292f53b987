//! Results as a model sees them: the rendering of each operation, and the common length limit.

use super::{ToolOrigin, dialects, object_for_model, text_for_model};
use crate::catalogue;
use beamai_tool::for_model::LEAST_LIMIT;
use proptest::prelude::*;
use serde_json::{Value, json};

fn text(dialect: &str, tool: &str, args: Value, result: Value) -> String {
    let args = args.as_object().unwrap();
    text_for_model(ToolOrigin::Dialect(dialect), tool, args, &result, 30_000).unwrap()
}

fn object(dialect: &str, tool: &str, args: Value, result: Value, limit: usize) -> Option<Value> {
    object_for_model(ToolOrigin::Dialect(dialect), tool, args.as_object().unwrap(), &result, limit)
}

#[test]
fn a_file_is_its_text_and_where_it_goes_on() {
    let read = |more: Value| {
        let mut result = json!({"content": "a\n\tb\n", "start_line": 1, "end_line": 2, "total_lines": 2,
            "has_more": false, "encoding": "UTF-8", "line_ending": "lf", "hash": "0", "size": 5});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text("coder", "read", json!({"path": "f", "limit": 2}), result)
    };
    assert_eq!(read(json!({})), "a\n\tb");
    assert_eq!(
        read(json!({"has_more": true, "total_lines": 9})),
        "a\n\tb\n[lines 1 to 2 of 9; continue with \"offset\":3]"
    );
    assert_eq!(read(json!({"start_line": 8, "total_lines": 9})), "a\n\tb\n[lines 8 to 9 of 9]");
    assert_eq!(
        read(json!({"line_ending": "crlf", "encoding": "gbk"})),
        "a\n\tb\n[encoding: gbk]\n[lines end in CR LF]"
    );
    assert_eq!(read(json!({"content": "", "total_lines": 0})), "[the file is empty]");
    let image = json!({"content": "", "media_type": "image/png", "size": 7, "image_base64": null});
    assert_eq!(read(image), "image/png, 7 bytes");
}

#[test]
fn a_file_that_ends_before_the_first_line_is_not_called_empty() {
    let past = |dialect: &str, tool: &str, path: &str, result: Value| {
        text(dialect, tool, json!({path: "f", "offset": 5_000}), result)
    };
    let known = json!({"content": "", "total_lines": 1_720, "has_more": false});
    assert_eq!(
        past("beamai", "file_read", "path", known),
        "[the file has 1720 lines; line 5000 is past its end]"
    );
    let whole = json!({"content": "", "lines": 1_720});
    assert_eq!(
        past("ide", "read_file", "path", whole),
        "[the file has 1720 lines; line 5000 is past its end]"
    );
    let unknown = json!({"content": ""});
    assert_eq!(past("ide", "read_file", "path", unknown), "[line 5000 is past the end of the file]");
}

#[test]
fn a_request_that_has_an_effect_is_not_repeated_for_the_rest_of_its_answer() {
    let result = json!({"content": "x".repeat(56_000), "status_code": 200, "media_type": "text/plain", "size_bytes": 56_000});
    let rest = |method: &str| {
        let shown = text("coder", "fetch", json!({"url": "http://a.b/", "method": method}), result.clone());
        shown[shown.rfind('[').unwrap()..].to_owned()
    };
    assert!(rest("GET").contains("; continue with \"offset\":"), "{}", rest("GET"));
    assert!(
        rest("POST").ends_with("; the rest cannot be shown without sending the request again]"),
        "{}",
        rest("POST")
    );
}

#[test]
fn of_a_long_line_the_beginning_is_shown_and_its_length() {
    let result =
        json!({"content": "x".repeat(1_000_000), "start_line": 1, "total_lines": 1, "has_more": false});
    let shown = text("beamai", "file_read", json!({"path": "f"}), result.clone());
    let end = "x… [cut: the line has 1000000 characters]\n[line 1; \
               continue with \"offset\":1,\"column\":2001]";
    assert!(shown.ends_with(end) && shown.len() < 2_300, "{}", shown.len());
    let numbered =
        json!({"content": format!("     1\t{}", "x".repeat(1_000_000)), "start_line": 1, "total_lines": 1});
    let shown = text("microai", "Read", json!({"file_path": "f"}), numbered);
    assert!(shown.ends_with(end) && shown.starts_with("     1\tx"), "{}", shown.len());
    // What the result has is a part of the line, whose length is known or not.
    let part = |length: Value| {
        let mut part = result.clone();
        part["line_is_cut"] = json!(true);
        part["line_length"] = length;
        text("beamai", "file_read", json!({"path": "f"}), part)
    };
    let shown = part(json!(5_000_000));
    assert!(shown.contains("[cut: the line has 5000000 characters]\n[line 1; continue with "));
    let shown = part(Value::Null);
    assert!(
        shown.contains("x… [cut]\n[line 1, characters 1 to 2000 of more than 1000000;"),
        "{}",
        &shown[1_990..]
    );
    let part = json!({"content": "y".repeat(998_000), "start_line": 1, "start_column": 2_001, "total_lines": 1, "has_more": false});
    let shown = text("beamai", "file_read", json!({"path": "f", "offset": 1, "column": 2_001}), part);
    let end = "y\n[line 1, characters 2001 to 22000 of 1000000; continue with \"offset\":1,\"column\":22001]";
    assert!(shown.ends_with(end), "{}", &shown[shown.len() - 200..]);
    let many = json!({"content": format!("a\n{}\nb\n", "x".repeat(3_000)), "start_line": 4, "total_lines": 6, "has_more": false});
    let shown = text("beamai", "file_read", json!({"path": "f", "offset": 4}), many);
    assert!(
        shown.ends_with(
            "\nb\n[lines 4 to 6 of 6]\n[line 5; more of it with \"offset\":5,\"column\":2001,\"limit\":1]"
        ),
        "{shown}"
    );
}

#[test]
fn matches_are_grouped_by_file_and_context_is_merged() {
    let hit = |file: &str, line: u64, before: Value, after: Value| json!({"file": file, "line_number": line, "content": format!("hit {line}"), "before": before, "after": after});
    let matches = json!([
        hit("a.rs", 2, json!(["one"]), json!(["three"])),
        hit("a.rs", 4, json!(["three"]), json!(["five"])),
        hit("a.rs", 9, json!(["eight"]), json!([])),
        hit("b.rs", 1, json!([]), json!([])),
    ]);
    let result = json!({"matches": matches, "total_matches": 4, "files": ["a.rs", "b.rs"], "total_files": 2});
    assert_eq!(
        text("beamai", "file_grep", json!({"pattern": "hit"}), result),
        "a.rs\n1-one\n2:hit 2\n3-three\n4:hit 4\n5-five\n--\n8-eight\n9:hit 9\n\nb.rs\n1:hit 1"
    );
    let coverage = json!({"complete": true, "skipped": {"hidden": 2}, "note": "searched 3 files; left out: 2 hidden (hidden: true includes them)"});
    let none =
        json!({"matches": [], "total_matches": 0, "files": [], "total_files": 0, "coverage": coverage});
    assert_eq!(
        text("beamai", "file_grep", json!({"pattern": "hit"}), none),
        "no matches\n[left out: 2 hidden (hidden: true includes them)]"
    );
    let coverage =
        json!({"complete": true, "skipped": {"binary": 4}, "binary_files": ["a", "b", "c"], "note": ""});
    let found =
        json!({"matches": [], "total_matches": 0, "files": [], "total_files": 0, "coverage": coverage});
    assert_eq!(
        text("coder", "grep", json!({"pattern": "hit"}), found),
        "no matches\n[left out: 4 binary (a, b, c, …)]"
    );
}

#[test]
fn a_regular_expression_that_was_taken_as_text_is_told() {
    let none = json!({"matches": [], "count": 0, "total_matches": 0, "truncated": false});
    let found = |query: &str, options: Value| {
        text("ide", "search_code", json!({"query": query, "options": options}), none.clone())
    };
    let told = found("a|b", json!({}));
    assert!(told.starts_with("no matches\n[searched as plain text; \"options\":{\"regex\":true}"), "{told}");
    assert_eq!(found("a|b", json!({"regex": true})), "no matches");
    assert_eq!(found("a.b()", json!(null)), "no matches");
}

#[test]
fn of_many_matches_a_hundred_are_shown_and_the_others_counted() {
    let hit = |number: u64| json!({"file": format!("f{}", number / 75), "line_number": number % 75 + 1, "content": "x", "before": [], "after": []});
    let matches: Vec<Value> = (0..200).map(hit).collect();
    let result =
        json!({"matches": matches, "total_matches": 500, "files": ["f0", "f1", "f2"], "total_files": 7});
    let shown = text("microai", "Grep", json!({"pattern": "x"}), result.clone());
    assert_eq!(shown.matches(":x").count(), 100);
    let end = "x\n[100 of 500 matches in 7 files; continue with \"offset\":100]";
    assert!(shown.ends_with(end), "{shown}");
    let mut whole = result.clone();
    whole["total_matches"] = json!(200);
    let shown = text("microai", "Grep", json!({"pattern": "x"}), whole);
    let end = "[100 of 200 matches in 7 files; the rest: f1: 50, f2: 50; continue with \"offset\":100]";
    assert!(shown.ends_with(end), "{shown}");
    let mut counted = result.clone();
    let by_file = json!([{"path": "f2", "count": 25}, {"path": "g/h", "count": 75}]);
    let by_directory = json!([{"path": "g/", "count": 199}, {"path": "*", "count": 1}]);
    counted["remaining"] = json!({"by_file": by_file, "by_directory": by_directory});
    let shown = text("microai", "Grep", json!({"pattern": "x"}), counted.clone());
    let end = "files; the rest: f2: 75, g/h: 75, f1: 50, g/: 199, ./*: 1; continue with \"offset\":100]";
    assert!(shown.ends_with(end), "{shown}");
    // Each page has less of the rest, so it is counted once.
    let shown = text("microai", "Grep", json!({"pattern": "x", "offset": 100}), counted.clone());
    assert!(shown.ends_with("\n[matches 101 to 200 of 500; continue with \"offset\":200]"), "{shown}");
    // Names do not crowd the call out.
    counted["remaining"]["by_file"] = json!([{"path": "d/".repeat(300), "count": 100}]);
    let shown = text("microai", "Grep", json!({"pattern": "x"}), counted);
    let end = "the rest: f1: 50, f2: 50, g/: 199, ./*: 1, elsewhere: 100; continue with \"offset\":100]";
    assert!(shown.ends_with(end), "{shown}");
    let all = text("microai", "Grep", json!({"pattern": "x", "head_limit": 200}), result.clone());
    assert!(all.ends_with("[200 of 500 matches in 7 files; continue with \"offset\":200]"), "{all}");
    // What a tool lists as its default is what it shows.
    let all = text("coder", "grep", json!({"pattern": "x"}), result);
    assert_eq!(all.matches(":x").count(), 200, "{all}");
}

#[test]
fn the_defaults_that_schemas_list_are_what_is_shown() {
    for (dialect, tool, name, number) in [
        ("beamai", "file_grep", "limit", 100),
        ("beamai", "file_glob", "limit", 200),
        ("coder", "grep", "max_matches", 200),
    ] {
        let param = &catalogue::find(tool, Some(dialect)).unwrap().parameters()[name];
        assert_eq!(param.default, Some(json!(number)), "{tool}");
        let paths: Vec<String> = (0..number).map(|number| format!("f{number}")).collect();
        let found = json!({"files": paths, "count": number, "total_files": number, "total_matches": number,
            "matches": []});
        let args = json!({"pattern": "x", "output_mode": "files_with_matches"});
        assert_eq!(text(dialect, tool, args, found).lines().count(), number, "{tool}");
    }
}

#[test]
fn a_hash_that_no_text_shows_is_said_to_be_for_programs() {
    for tool in ["file_edit", "file_write"] {
        let tool = catalogue::find(tool, Some("beamai")).unwrap();
        let text = tool.parameters()["expected_hash"].description.clone().unwrap();
        assert!(text.ends_with("For programs: texts show none."), "{text}");
    }
}

#[test]
fn a_name_is_one_line_whatever_is_in_it() {
    let name = "a\n[b]\t.txt";
    let quoted = r#""a\n[b]\t.txt""#;
    let found = json!({"files": [name, "[b].txt"], "count": 2, "truncated": false});
    assert_eq!(text("beamai", "file_glob", json!({"pattern": "*"}), found), format!("{quoted}\n\"[b].txt\""));
    let hit = json!({"file": name, "line_number": 1, "content": "x", "before": [], "after": []});
    let result = json!({"matches": [hit], "total_matches": 1, "files": [name], "total_files": 1});
    assert_eq!(text("beamai", "file_grep", json!({"pattern": "x"}), result), format!("{quoted}\n1:x"));
    let files = json!({"matches": [], "total_matches": 2, "files": [name], "total_files": 1});
    let args = json!({"pattern": "x", "output_mode": "files_with_matches"});
    assert_eq!(text("beamai", "file_grep", args, files.clone()), quoted);
    let mut counts = files;
    counts["counts"] = json!({name: 2});
    let args = json!({"pattern": "x", "output_mode": "count"});
    assert_eq!(text("beamai", "file_grep", args, counts), format!("{quoted}:2"));
    let entries = json!([{"name": name, "path": name, "type": "file", "size": 1}]);
    let listed = json!({"entries": entries, "count": 1, "truncated": false});
    assert_eq!(text("coder", "list", json!({}), listed), quoted);
    let added = text("coder", "git_add", json!({"path": "."}), json!({"ok": true, "files": [name]}));
    assert_eq!(added, format!("staged 1 file:\n{quoted}"));
}

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
fn a_listing_is_names() {
    let entry = |name: &str, kind: &str, size: Value| json!({"name": name, "path": format!("d/{name}"), "type": kind, "size": size});
    let entries = json!([
        entry("a", "directory", Value::Null),
        entry("b", "file", json!(3)),
        entry("c", "file", json!(123_456))
    ]);
    let result = json!({"entries": entries, "count": 3, "truncated": false});
    assert_eq!(text("coder", "list", json!({"path": "d"}), result), "a/\nb\nc (123456 bytes)");
    let found = json!({"files": ["d/a", "d/b"], "count": 9, "truncated": true});
    assert_eq!(
        text("beamai", "file_glob", json!({"pattern": "*"}), found),
        "d/a\nd/b\n[2 of 9 files; continue with \"offset\":2]"
    );
}

#[test]
fn a_listing_of_several_levels_is_a_tree() {
    let entry = |path: &str| {
        let kind = if path.contains('.') { "file" } else { "directory" };
        json!({"name": path.rsplit('/').next(), "path": path, "type": kind, "size": 1})
    };
    // "a-b.c" sorts between "a" and "a/x.c".
    let few = ["r/a", "r/a-b.c", "r/a/x.c", "r/a/y", "r/a/y/ z.c", "r/c.c"].map(entry);
    let listed = |entries: &[Value], args: Value| {
        let result = json!({"entries": entries, "count": entries.len(), "truncated": false});
        text("beamai", "file_list", args, result)
    };
    assert_eq!(listed(&few, json!({"path": "r", "depth": 3})), "a/\n x.c\n y/\n  \" z.c\"\na-b.c\nc.c");
    let many: Vec<Value> = ["d".to_owned()]
        .into_iter()
        .chain((100..300).map(|number| format!("d/{number}.csv")))
        .chain(["e.c".to_owned()])
        .map(|path| entry(&path))
        .collect();
    let short = listed(&many, json!({"path": ".", "depth": 2}));
    assert!(short.starts_with("d/\n 100.csv\n"), "{short}");
    let end = " 109.csv\n [190 more entries: \"path\":\"d\",\"depth\":1]\ne.c";
    assert!(short.ends_with(end) && short.lines().count() == 13, "{short}");
    // What is below the entries left out counts as well, and the call lists it.
    let deep: Vec<Value> = ["d".to_owned()]
        .into_iter()
        .chain((100..140).flat_map(|number| [format!("d/{number}"), format!("d/{number}/x.c")]))
        .map(|path| entry(&path))
        .collect();
    let short = listed(&deep, json!({"path": ".", "depth": 3}));
    assert!(short.ends_with(" 109/\n  x.c\n [60 more entries: \"path\":\"d\",\"depth\":2]"), "{short}");
    // If more follow the result, what they are is not known.
    let cut = json!({"entries": many[..150], "count": 202, "truncated": true});
    let short = text("beamai", "file_list", json!({"path": ".", "depth": 2}), cut);
    let end = " [at least 139 more entries: \"path\":\"d\",\"depth\":1]\ne.c\n\
               [150 of 202 entries, 139 of them left out above; continue with \"offset\":150]";
    assert!(short.ends_with(end.replace("\ne.c", "").as_str()), "{short}");
    // A directory without subdirectories, or with a limit, is shown up to the limit.
    assert_eq!(listed(&many, json!({"depth": 2, "limit": 500})).lines().count(), 202);
    assert_eq!(listed(&many[1..201], json!({"path": "d"})).lines().count(), 200);
}

#[test]
fn of_many_files_some_are_shown_and_the_others_counted_by_directory() {
    let path = |number: usize| match number {
        0..250 => format!("src/a/f{number:03}.rs"),
        250..290 => format!("src/b/c/f{number}.rs"),
        _ => format!("src/f{number}.rs"),
    };
    let files: Vec<String> = (0..300).map(path).collect();
    let found = json!({"files": files, "count": 1_200, "truncated": true});
    let shown = text("coder", "glob", json!({"pattern": "**/*.rs"}), found.clone());
    assert_eq!(shown.matches(".rs\n").count(), 200, "{shown}");
    let end =
        "[200 of 1200 files; the rest: src/a/: 50, src/b/: 40, src/*: 10; continue with \"offset\":200]";
    assert!(shown.ends_with(end), "{shown}");
    let all = text("beamai", "file_glob", json!({"pattern": "**/*.rs", "limit": 300}), found);
    assert_eq!(all.matches(".rs\n").count(), 300, "{all}");
}

#[test]
fn hints_name_the_tools_of_the_dialect() {
    let answer = json!({"available": false, "message": "There is none. Use grep to search for names and read to look at files instead."});
    let args = json!({"operation": "hover", "path": "a.zzz"});
    let shown = text("beamai", "lsp", args.clone(), answer.clone());
    assert_eq!(
        shown,
        "There is none. Use file_grep to search for names and file_read to look at files instead."
    );
    let shown = text("microai", "LSP", args, answer);
    assert_eq!(shown, "There is none. Use Grep to search for names and Read to look at files instead.");
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
fn a_listing_of_files_begins_with_the_directories() {
    let listed = |more: Value| {
        let mut result = json!({"files": ["d/a"], "count": 1, "truncated": false});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text("ide", "list_files", json!({"directory": "d"}), result)
    };
    assert_eq!(listed(json!({"directories": ["d/e", "d/f"]})), "d/e/\nd/f/\nd/a");
    assert_eq!(
        listed(json!({"directories": ["d/e"], "total_directories": 2_000})),
        "d/e/\nd/a\n[1 of 2000 directories]"
    );
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

#[test]
fn a_command_is_its_output_and_what_is_to_be_said() {
    let ran = |more: Value| {
        let mut result =
            json!({"exit_code": 0, "stdout": "out\n", "stderr": "", "truncated": false, "duration_ms": 3});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text("microai", "Bash", json!({"command": "x"}), result)
    };
    assert_eq!(ran(json!({})), "out");
    assert_eq!(ran(json!({"stdout": ""})), "(no output)");
    assert_eq!(ran(json!({"exit_code": 2, "stderr": "bad\n"})), "out\n[stderr]\nbad\n[exit code 2]");
    assert_eq!(
        ran(json!({"exit_code": null, "signal": "SIGSEGV", "killed": 2})),
        "out\n[killed by SIGSEGV]\n[2 processes left running and killed]"
    );
    assert_eq!(
        ran(
            json!({"isolation": {"mode": "best_effort", "on": ["a"], "off": [{"layer": "mounts", "why": "w"}]}})
        ),
        "out\n[isolation is off: mounts]"
    );
    assert_eq!(ran(json!({"isolation": {"mode": "required", "on": ["a"], "off": []}})), "out");
    assert_eq!(
        ran(
            json!({"refused": [{"program": "/bin/nc", "command": "nc x", "by": "bash", "rule": "Bash(nc:*)"}]})
        ),
        "out\n[not started: nc x (Bash(nc:*))]"
    );
    let uses = json!([
        {"name": "a.example:443", "reached": 2, "refused": 0},
        {"name": "b.example:443", "reached": 0, "refused": 1, "why": "not today", "wanted": "Network(domain:b.example)"},
    ]);
    assert_eq!(
        ran(json!({"network": uses})),
        "out\n[network: reached a.example:443 (2 times); refused b.example:443: not today]"
    );
    assert_eq!(ran(json!({"network": []})), "out");
    assert_eq!(
        ran(json!({"exit_code": 6, "network_off": "--network"})),
        "out\n[exit code 6]\n[the command tried to reach the network, which is off here: do without it, or tell the user]"
    );
    assert_eq!(
        ran(json!({"exit_code": 255, "network": [], "network_off": "the proxy"})),
        "out\n[exit code 255]\n[the command tried to connect by itself; here only the proxy in HTTP_PROXY, HTTPS_PROXY and \
         ALL_PROXY leads out]"
    );
    assert_eq!(
        ran(json!({"exit_code": 1, "foreign_files": "chown"})),
        "out\n[exit code 1]\n[files here belong to another user, and commands cannot change them: use the file tools, or tell the user]"
    );
    assert_eq!(
        ran(json!({"id": "b1", "exit_code": null, "stdout": ""})),
        "running in the background as b1; output: BashOutput {\"id\":\"b1\"}; end: KillShell {\"id\":\"b1\"}"
    );
    let polled = json!({"id": "b1", "status": "timed_out", "exit_code": null, "stdout": "", "stderr": "", "truncated": false});
    assert_eq!(text("beamai", "shell_output", json!({"id": "b1"}), polled), "(no new output)\n[timed out]");
}

#[test]
fn tasks_are_a_list_with_boxes() {
    let todos = json!([{"id": 1, "content": "a", "status": "completed"}, {"id": 2, "content": "b", "status": "in_progress"}]);
    let result = json!({"todos": todos, "count": 2, "id": 2});
    assert_eq!(text("beamai", "todo_list", json!({}), result.clone()), "1. [x] a\n2. [>] b");
    assert_eq!(text("beamai", "todo_add", json!({}), result.clone()), "added task 2");
    assert_eq!(text("beamai", "todo_update", json!({"id": 2}), result.clone()), "2. [>] b");
    assert_eq!(text("coder", "todowrite", json!({}), result), "2 tasks: 1 completed, 1 in progress");
}

#[test]
fn what_is_not_the_operations_is_given_as_json() {
    assert_eq!(text("beamai", "file_read", json!({}), json!({"mine": 1})), "{\"mine\":1}");
    assert_eq!(text("beamai", "file_read", json!({}), json!("cached")), "cached");
}

#[test]
fn a_file_that_is_no_object_at_once_is_cut_at_a_line_and_says_how_to_go_on() {
    let lines: String = (1..=2_000).map(|number| format!("line {number}\n")).collect();
    let read = json!({"content": lines, "lines": 2_000});
    let object = object("ide", "read_file", json!({"path": "f"}), read, 5_000).unwrap();
    let content = object["content"].as_str().unwrap();
    let count = content.lines().count();
    assert!(content.ends_with(&format!("line {count}\n")) && count > 200, "{content}");
    let note = format!("lines 1 to {count} of 2000 are given; continue with \"offset\":{}", count + 1);
    assert_eq!(object["cut"]["content"], note);
}

#[test]
fn objects_are_for_the_dialect_of_the_text_protocol() {
    let read = json!({"content": "a\n", "lines": 1, "encoding": "UTF-8", "line_ending": "lf", "hash": "0", "size": 2, "lossy": false});
    let made = |dialect, tool| object(dialect, tool, json!({}), read.clone(), 30_000);
    assert_eq!(made("ide", "read_file"), Some(json!({"content": "a\n", "lines": 1})));
    assert_eq!(made("beamai", "file_read"), None);
}

#[test]
fn parameters_are_listed_in_the_order_in_which_they_are_written() {
    for (dialect, tool, order) in [
        ("beamai", "file_write", ["path", "content"]),
        ("beamai", "file_edit", ["old_string", "new_string"]),
        ("microai", "Edit", ["file_path", "old_string"]),
        ("coder", "read", ["path", "offset"]),
    ] {
        let tool = catalogue::find(tool, Some(dialect)).unwrap();
        let places = order.map(|name| tool.parameters().get_index_of(name).unwrap());
        assert!(places[0] < places[1], "{dialect} {}", tool.name());
    }
}

/// Generates values of an output schema, with long texts and lists.
fn value_of(schema: &Value, size: usize) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return prop::sample::select(values.clone()).boxed();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            return prop::strategy::Union::new(choices.iter().map(|choice| value_of(choice, size))).boxed();
        }
    }
    if let Some(value) = schema.get("const") {
        return Just(value.clone()).boxed();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str().unwrap_or("string").to_owned(),
        kind => kind.as_str().unwrap_or("object").to_owned(),
    };
    match kind.as_str() {
        "string" => (prop::sample::select(vec!["x", "é\n", "@@ -1 +1 @@\n-a\n", "\u{1}", ""]), 0..size)
            .prop_map(|(text, times)| Value::from(text.repeat(times)))
            .boxed(),
        "integer" | "number" => (0..1_000_000_u64).prop_map(Value::from).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "array" => {
            let item = value_of(&schema["items"], size / 40);
            (item, 0..size / 16).prop_map(|(item, times)| Value::from(vec![item; times])).boxed()
        }
        "null" => Just(Value::Null).boxed(),
        _ => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let members: Vec<_> =
                properties.iter().map(|(name, of)| (Just(name.clone()), value_of(of, size))).collect();
            members.prop_map(|members| Value::Object(members.into_iter().collect())).boxed()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_longer_than_its_limit(limit in LEAST_LIMIT..6_000, seed in any::<u32>()) {
        use proptest::strategy::ValueTree;
        use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let path = "p".repeat(3_000);
        let calls = [
            json!({"path": path, "command": "c"}),
            json!({"path": path, "offset": 3, "column": 5, "skip": 2, "depth": 4, "limit": 50, "options": {"offset": 3}}),
        ];
        for dialect in dialects() {
            for tool in catalogue::dialect(dialect).unwrap().iter() {
                let value = value_of(tool.output_schema(), 8_000).new_tree(&mut runner).unwrap().current();
                for args in &calls {
                    let text = text_for_model(ToolOrigin::Dialect(dialect), tool.name(), args.as_object().unwrap(), &value, limit).unwrap();
                    prop_assert!(text.chars().count() <= limit, "{} {}: {}", dialect, tool.name(), text.chars().count());
                    prop_assert!(!text.is_empty(), "{} {}", dialect, tool.name());
                    if let Some(object) = object(dialect, tool.name(), args.clone(), value.clone(), limit) {
                        prop_assert!(object.to_string().chars().count() <= limit, "{}", tool.name());
                    }
                }
            }
        }
    }
}
