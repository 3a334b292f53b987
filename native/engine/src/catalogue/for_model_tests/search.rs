//! Listings, names and matches.

use super::text;
use crate::catalogue;
use serde_json::{Value, json};

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
