//! `ide`: five tools.

use super::env::{Env, numbered};
use super::signature::{check, names};
use beamai_base::Reason;
use serde_json::{Value, json};

#[test]
fn it_has_the_five_tools_and_no_other() {
    assert_eq!(names("ide"), ["get_diagnostics", "list_files", "read_file", "search_code", "write_file"]);
}

#[test]
fn each_tool_takes_and_gives_what_is_documented() {
    let search = "options:object(case_sensitive:boolean=false context:integer[0..100] glob:string max_results:integer=100[1..100000] \
                  offset:integer=0[0..1000000] regex:boolean=false) query:string!";
    for (tool, parameters, keys) in [
        (
            "read_file",
            "column:integer[1..] limit:integer[1..] offset:integer[1..] path:string!",
            "content lines",
        ),
        ("write_file", "content:string! old_string:string path:string! replace_all:boolean=false", ""),
        ("list_files", "directory:string! offset:integer=0[0..1000000] pattern:string=\"*\"", "files count"),
        ("search_code", search, "matches"),
        ("get_diagnostics", "file:string", "diagnostics"),
    ] {
        check("ide", tool, parameters, keys);
    }
}

#[test]
fn read_file_gives_all_of_it() {
    let text = "{\n  \"name\": \"my-app\",\n  \"version\": \"1.0.0\"\n}";
    let env = Env::files("ide", &[("package.json", text)]);
    let read = env.call("read_file", json!({"path": "package.json"}));
    assert_eq!((&read["content"], &read["lines"]), (&json!(text), &json!(4)));
    let long = numbered(300_000);
    env.file("long", &long);
    let read = env.call("read_file", json!({"path": "long"}));
    assert_eq!((read["content"].as_str().unwrap().len(), &read["lines"]), (long.len(), &json!(300_000)));
}

#[test]
fn a_part_of_a_file_is_read_and_written() {
    let env = Env::new("ide");
    env.file("long", numbered(300_000));
    let read = env.call("read_file", json!({"path": "long", "offset": 250_000, "limit": 2}));
    assert_eq!(read["content"], numbered(250_001).split_inclusive('\n').skip(249_999).collect::<String>());
    assert_eq!(
        (&read["lines"], &read["start_line"], &read["end_line"]),
        (&json!(300_000), &json!(250_000), &json!(250_001))
    );
    let all = env.call("read_file", json!({"path": "long"}));
    assert!(all.get("start_line").is_none() && all.get("has_more").is_none());
    env.file("a", "one\ntwo\ntwo\n");
    env.refuses(&[
        ("write_file", json!({"path": "a", "old_string": "two", "content": "2"}), Reason::Ambiguous),
        ("write_file", json!({"path": "a", "old_string": "four", "content": "2"}), Reason::NoMatch),
        ("write_file", json!({"path": "b", "old_string": "four", "content": "2"}), Reason::NoSuchFile),
    ]);
    // The hints are about its own arguments.
    let refused = |old: &str, content: &str| {
        env.try_call("write_file", &json!({"path": "a", "old_string": old, "content": content}))
            .unwrap_err()
            .message
    };
    let several = "old_string occurs 2 times in a, on lines 2, 3; include more of the text around the one you mean, or set replace_all";
    assert_eq!(refused("two", "2"), several);
    assert_eq!(refused("one", "one"), "old_string and content are the same; there is nothing to change");
    let written = env.call("write_file", json!({"path": "a", "old_string": "one", "content": "1"}));
    assert_eq!(
        (&written["success"], &written["operation"], &written["additions"]),
        (&json!(true), &json!("updated"), &json!(1))
    );
    assert_eq!(env.content("a"), "1\ntwo\ntwo\n");
    env.call("write_file", json!({"path": "a", "old_string": "two", "content": "2", "replace_all": true}));
    assert_eq!(env.content("a"), "1\n2\n2\n");
    let all = json!({"path": "a", "content": "2", "replace_all": true});
    env.refuses(&[("write_file", all, Reason::InvalidArgument)]);
    assert_eq!(env.content("a"), "1\n2\n2\n");
}

#[test]
fn search_code_shows_context_and_speaks_of_a_query_as_text() {
    let env = Env::files("ide", &[("a", "one\nTwo\nthree\n")]);
    let found = env.text("search_code", &json!({"query": "two", "options": {"context": 1}}), 30_000);
    assert_eq!(found, "a\n1-one\n2:Two\n3-three");
    let refused = env.try_call("search_code", &json!({"query": "one\ntwo"})).unwrap_err().message;
    assert!(refused.starts_with("the text \"one\\ntwo\" cannot be searched for: "), "{refused}");
    let open = json!({"query": "f(", "options": {"regex": true}});
    let refused = env.try_call("search_code", &open).unwrap_err().message;
    assert!(refused.ends_with("; write \\ before a character that is meant itself"), "{refused}");
}

#[test]
fn files_of_more_than_ten_mebibytes_are_refused() {
    let env = Env::new("ide");
    let most = 10 << 20;
    env.file("most", "x\n".repeat(most / 2));
    env.file("more", "x\n".repeat(most / 2) + "y");
    env.file("more.fake", "x\n".repeat(most / 2) + "y");
    assert_eq!(env.call("read_file", json!({"path": "most"}))["lines"], most / 2);
    env.refuses(&[
        ("read_file", json!({"path": "more"}), Reason::TooLarge),
        ("write_file", json!({"path": "new", "content": "x".repeat(most + 1)}), Reason::TooLarge),
        ("write_file", json!({"path": "more", "content": "x"}), Reason::TooLarge),
        ("get_diagnostics", json!({"file": "more.fake"}), Reason::TooLarge),
    ]);
    let found = env.call("search_code", json!({"query": "y"}));
    assert_eq!((&found["count"], &found["coverage"]["skipped"]), (&json!(0), &json!({"too_large": 2})));
}

#[test]
fn no_path_may_have_a_component_of_two_dots() {
    let env = Env::files("ide", &[("a/b.fake", "x\n"), ("c..d", "x\n")]);
    env.refuses(&[
        ("read_file", json!({"path": "a/../c..d"}), Reason::OutsideWorkspace),
        ("write_file", json!({"path": "..", "content": ""}), Reason::OutsideWorkspace),
        ("list_files", json!({"directory": "a/.."}), Reason::OutsideWorkspace),
        ("list_files", json!({"directory": ".", "pattern": "a/../*"}), Reason::OutsideWorkspace),
        ("search_code", json!({"query": "x", "options": {"glob": "../*"}}), Reason::OutsideWorkspace),
        ("get_diagnostics", json!({"file": "../x.fake"}), Reason::OutsideWorkspace),
    ]);
    assert_eq!(env.call("read_file", json!({"path": "c..d"}))["content"], "x\n");
}

#[test]
fn write_file_makes_the_content_the_file() {
    let env = Env::new("ide");
    let written = env.call("write_file", json!({"path": "src/a.ts", "content": "let a;\n"}));
    assert_eq!((&written["success"], &written["operation"]), (&json!(true), &json!("created")));
    assert_eq!(env.content("src/a.ts"), "let a;\n");
}

#[test]
fn list_files_lists_a_directory_or_what_matches_below_it() {
    let env =
        Env::files("ide", &[("src/index.ts", ""), ("src/utils.ts", ""), ("test/test.ts", ""), ("a.md", "")]);
    let listed = env.call("list_files", json!({"directory": ".", "pattern": "**/*.ts"}));
    assert_eq!(listed["files"], json!(["src/index.ts", "src/utils.ts", "test/test.ts"]));
    assert_eq!(listed["count"], 3);
    assert!(listed.get("directories").is_none(), "{listed}");
    env.file("node/.ignore", "out/\n");
    env.file("node/out/x.js", "");
    env.file("node/lib/.hidden/x.js", "");
    let whole = env.call("list_files", json!({"directory": "."}));
    assert_eq!((&whole["files"], &whole["count"]), (&json!(["a.md"]), &json!(1)));
    assert_eq!(whole["directories"], json!(["node", "src", "test"]));
    let beyond = env.call("list_files", json!({"directory": ".", "offset": 1}));
    assert!(beyond.get("directories").is_none(), "{beyond}");
    let node = env.call("list_files", json!({"directory": "node"}));
    assert_eq!((&node["count"], &node["directories"]), (&json!(0), &json!(["node/lib"])));
    assert!(env.call("list_files", json!({"directory": "node/lib"})).get("directories").is_none());
    assert_eq!(env.call("list_files", json!({"directory": "src"}))["count"], 2);
}

#[test]
fn search_code_has_four_options() {
    let env = Env::files("ide", &[("a.ts", "Foo(1)\nfoo(2)\n"), ("b.md", "foo(3)\n")]);
    let count = |options: Value| {
        let found = env.call("search_code", json!({"query": "foo(", "options": options}));
        (found["count"].as_u64().unwrap(), found["total_matches"].as_u64().unwrap())
    };
    assert_eq!(count(Value::Null), (3, 3));
    assert_eq!(count(json!({"case_sensitive": true})), (2, 2));
    assert_eq!(count(json!({"glob": "*.ts"})), (2, 2));
    assert_eq!(count(json!({"max_results": 1})), (1, 3));
    let found = env.call("search_code", json!({"query": "foo.2", "options": {"regex": true}}));
    assert_eq!(
        (&found["matches"][0]["file"], &found["matches"][0]["line_number"]),
        (&json!("a.ts"), &json!(2))
    );
}

#[test]
fn get_diagnostics_tells_of_one_file_or_of_all_that_are_known() {
    let env = Env::files("ide", &[("a.fake", "x\n")]);
    let none = env.call("get_diagnostics", json!({}));
    assert_eq!((&none["diagnostics"], &none["available"]), (&json!([]), &json!(false)));
    let one = env.call("get_diagnostics", json!({"file": "a.fake"}));
    assert_eq!(
        (&one["diagnostics"][0]["path"], &one["diagnostics"][0]["message"]),
        (&json!("a.fake"), &json!("it is wrong"))
    );
    assert_eq!(env.call("get_diagnostics", json!({}))["diagnostics"], one["diagnostics"]);
}

#[test]
fn bad_input_is_refused_by_each_tool() {
    let env = Env::files("ide", &[("a", "x\n")]);
    env.refuses(&[
        ("read_file", json!({}), Reason::InvalidArgument),
        ("read_file", json!({"path": "missing-file.txt"}), Reason::NoSuchFile),
        ("read_file", json!({"path": "/etc/passwd"}), Reason::OutsideWorkspace),
        ("write_file", json!({"path": "b"}), Reason::InvalidArgument),
        ("list_files", json!({}), Reason::InvalidArgument),
        ("list_files", json!({"directory": "a"}), Reason::NotADirectory),
        ("search_code", json!({"query": ""}), Reason::InvalidPattern),
        ("search_code", json!({"query": "(", "options": {"regex": true}}), Reason::InvalidPattern),
        ("search_code", json!({"query": "x", "options": {"limit": 3}}), Reason::InvalidArgument),
        ("get_diagnostics", json!({"file": "b.fake"}), Reason::NoSuchFile),
    ]);
}
