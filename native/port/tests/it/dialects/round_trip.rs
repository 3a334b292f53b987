//! What one tool returns, the other accepts: paths, hashes, ids, tasks, patches, places.

use super::env::Env;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names of files that are hard to write: spaces, quotation marks, signs of patterns, bytes that are no UTF-8.
fn names() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let part = prop::sample::select(vec![
        &b"a"[..],
        b" ",
        b"'",
        b"\"",
        b"\\",
        b"*",
        b"[x]",
        b"{y}",
        b"!",
        b"#",
        b"-",
        b"\xc3\xa9",
        b"\xff",
        b"\t",
        b"$x",
        b"~",
    ]);
    let name = prop::collection::vec(part, 1..5).prop_map(|parts| [b"n", parts.concat().as_slice()].concat());
    prop::collection::btree_set(name, 1..4).prop_map(|names| names.into_iter().collect())
}

fn text() -> impl Strategy<Value = String> {
    "([a-z]{1,6} ?){1,3}(\n([a-z\"\\\\\t]{1,6} ?){0,3}){0,6}\n".prop_map(|text| text)
}

/// Makes files in a directory of their own.
fn place(env: &Env, names: &[Vec<u8>], text: &str) {
    _ = std::fs::remove_dir_all(env.path("d"));
    std::fs::create_dir(env.path("d")).unwrap();
    for name in names {
        let path = env.path("d").join(Path::new(std::ffi::OsStr::from_bytes(name)));
        std::fs::write(path, text).unwrap();
    }
}

fn strings<'v>(list: &'v Value, key: Option<&str>) -> Vec<&'v str> {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| key.map_or(item, |key| &item[key]).as_str().expect("text")).collect()
}

/// The tools of a dialect that find and read files, and the name of the path.
struct Tools {
    dialect: &'static str,
    read: &'static str,
    find: (&'static str, Value, &'static str),
    list: Option<&'static str>,
    grep: (&'static str, Value),
    path: &'static str,
}

fn all() -> [Tools; 4] {
    let beamai = Tools {
        dialect: "beamai",
        read: "file_read",
        find: ("file_glob", json!({"pattern": "d/*"}), "files"),
        list: Some("file_list"),
        grep: ("file_grep", json!({"pattern": "^", "path": "d"})),
        path: "path",
    };
    let microai = Tools {
        dialect: "microai",
        read: "Read",
        find: ("Glob", json!({"pattern": "d/*"}), "files"),
        list: None,
        grep: ("Grep", json!({"pattern": "^", "path": "d"})),
        path: "file_path",
    };
    let coder = Tools {
        dialect: "coder",
        read: "read",
        find: ("glob", json!({"pattern": "d/*"}), "matches"),
        list: Some("list"),
        grep: ("grep", json!({"pattern": "^", "path": "d"})),
        path: "path",
    };
    let ide = Tools {
        dialect: "ide",
        read: "read_file",
        find: ("list_files", json!({"directory": "d"}), "files"),
        list: None,
        grep: ("search_code", json!({"query": "^", "options": {"regex": true}})),
        path: "path",
    };
    [beamai, microai, coder, ide]
}

/// Every path that a tool gives is the path of a file for the tool that reads.
fn paths_are_read(tools: &Tools, env: &Env, names: &[Vec<u8>], text: &str) {
    place(env, names, text);
    let (find, args, key) = &tools.find;
    let found = env.call(find, args.clone());
    let mut paths = strings(&found[key], None);
    assert_eq!(paths.len(), names.len(), "{} {found}", tools.dialect);
    let listed = tools.list.map(|list| env.call(list, json!({"path": "d"})));
    listed.iter().for_each(|listed| paths.extend(strings(&listed["entries"], Some("path"))));
    let matched = env.call(tools.grep.0, tools.grep.1.clone());
    paths.extend(strings(&matched["matches"], Some("file")));
    for path in paths {
        let read = env.call(tools.read, json!({tools.path: path}));
        let content = read["content"].as_str().unwrap();
        assert!(content.contains(text.lines().next().unwrap()), "{} {path}: {content}", tools.dialect);
    }
}

/// The diff of an edit, turned around, is a patch that takes it back; its hash is that of the file as it is then.
fn edits_are_patches(env: &Env, names: &[Vec<u8>], text: &str) {
    place(env, names, text);
    let found = env.call("file_glob", json!({"pattern": "d/*"}));
    let path = strings(&found["files"], None)[0];
    let read = env.call("file_read", json!({"path": path}));
    let first = text.lines().next().unwrap();
    let edit = json!({"path": path, "old_string": format!("{first}\n"), "new_string": "other line\n", "replace_all": true,
        "expected_hash": read["hash"]});
    let edited = env.call("file_edit", edit);
    let patch = json!({"patch": reversed(edited["diff"].as_str().unwrap())});
    let patched = env.call("file_patch", patch);
    let back = env.call("file_read", json!({"path": patched["files"][0]["path"]}));
    assert_eq!((&back["content"], &back["hash"]), (&read["content"], &read["hash"]), "{path}");
    let write = json!({"path": path, "content": "new\n", "expected_hash": patched["files"][0]["hash"]});
    assert_eq!(env.call("file_write", write)["operation"], "updated");
}

fn reversed(diff: &str) -> String {
    let line = |line: &str| match line.split_at_checked(1) {
        _ if line.starts_with("--- ") || line.starts_with("+++ ") => line.to_owned(),
        Some(("-", rest)) => format!("+{rest}"),
        Some(("+", rest)) => format!("-{rest}"),
        // Without numbers a hunk is found by its lines.
        Some(("@", _)) => "@@".to_owned(),
        _ => line.to_owned(),
    };
    diff.lines().map(|one| line(one) + "\n").collect()
}

fn tasks() -> impl Strategy<Value = Vec<(String, usize, bool)>> {
    prop::collection::vec(("[a-z]{1,9}", 0..2_usize, any::<bool>()), 0..6)
}

fn status(at: usize) -> &'static str {
    ["pending", "completed"][at]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn paths_come_back(names in names(), text in text()) {
        for tools in all() {
            paths_are_read(&tools, &Env::new(tools.dialect), &names, &text);
        }
    }

    #[test]
    fn diffs_and_hashes_come_back(names in names(), text in text()) {
        edits_are_patches(&Env::new("beamai"), &names, &text);
    }

    #[test]
    fn lists_of_tasks_come_back(tasks in tasks()) {
        let (coder, microai) = (Env::new("coder"), Env::new("microai"));
        let own = |(content, at, has_form): &(String, usize, bool)| {
            let mut todo = json!({"content": content, "status": status(*at)});
            if *has_form {
                todo["active_form"] = "doing it".into();
            }
            todo
        };
        coder.call("todowrite", json!({"todos": tasks.iter().map(own).collect::<Vec<_>>()}));
        let mut read = coder.call("todoread", json!({}));
        prop_assert_eq!(&coder.call("todowrite", json!({"todos": read["todos"]}))["todos"], &read["todos"]);
        // A task that goes leaves the numbers of the others as they are.
        if let Some(todos) = read["todos"].as_array_mut().filter(|todos| !todos.is_empty()) {
            todos.remove(0);
            prop_assert_eq!(&coder.call("todowrite", json!({"todos": todos}))["todos"], &json!(todos));
        }
        let named = |(content, at, _): &(String, usize, bool)| json!({"content": content, "status": status(*at), "activeForm": "f"});
        let written = microai.call("TodoWrite", json!({"todos": tasks.iter().map(named).collect::<Vec<_>>()}));
        prop_assert_eq!(&microai.call("TodoWrite", json!({"todos": written["todos"]})), &written);
    }
}

#[test]
fn ids_of_tasks_come_back() {
    let env = Env::new("beamai");
    let added = env.call("todo_add", json!({"content": "a"}));
    let updated = env.call("todo_update", json!({"id": added["id"], "status": "completed"}));
    let listed = env.call("todo_list", json!({}));
    assert_eq!(listed["todos"], updated["todos"]);
    env.call("todo_update", json!({"id": listed["todos"][0]["id"], "remove": true}));
}

#[test]
fn ids_of_commands_come_back_under_every_name() {
    let start = json!({"command": "sleep 60", "run_in_background": true});
    let env = Env::new("microai");
    for (poll, kill) in [("id", "id"), ("bash_id", "shell_id"), ("shell_id", "bash_id")] {
        let id = env.call("Bash", start.clone())["id"].clone();
        assert_eq!(env.call("BashOutput", json!({poll: id}))["status"], "running");
        assert_eq!(env.call("KillShell", json!({kill: id}))["status"], "killed");
    }
    let env = Env::new("beamai");
    let id = env.call("shell_exec", start)["id"].clone();
    assert_eq!(env.call("shell_output", json!({"id": id}))["status"], "running");
    assert_eq!(env.call("shell_kill", json!({"id": id}))["status"], "killed");
}

#[test]
fn places_of_symbols_and_addresses_of_results_come_back() {
    let env = Env::files("beamai", &[("a.fake", "foo(a, b)\nfoo()\n")]);
    let at = |place: &Value| json!({"operation": "hover", "path": place["path"], "line": place["line"], "character": place["character"]});
    let defined =
        env.call("lsp", json!({"operation": "goToDefinition", "path": "a.fake", "line": 1, "character": 1}));
    assert_eq!(env.call("lsp", at(&defined["locations"][0]))["available"], true);
    let said = env.call("lsp_diagnostics", json!({"path": "a.fake"}));
    assert_eq!(env.call("lsp", at(&said["diagnostics"][0]))["available"], true);
    let listed = env.call("skill", json!({}));
    env.call("skill", json!({"action": "load", "name": listed["skills"][0]["name"]}));
    let page = env.call("web_fetch", json!({"url": super::server::url("/page")}));
    assert_eq!(env.call("web_fetch", json!({"url": page["url"]}))["status_code"], 200);
}
