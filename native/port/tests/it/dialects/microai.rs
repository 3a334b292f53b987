//! `microai`: eleven tools in three levels, and two helpers of commands in the background.

use super::env::{Env, numbered};
use super::server;
use super::signature::{check, names};
use beamai_base::Reason;
use beamai_engine::{CallOutcome, catalogue};
use serde_json::{Value, json};

#[test]
fn it_has_the_eleven_canonical_tools_and_none_other_than_the_helpers_of_bash() {
    assert_eq!(
        names("microai"),
        [
            "AskUserQuestion",
            "Bash",
            "BashOutput",
            "Edit",
            "Glob",
            "Grep",
            "KillShell",
            "LSP",
            "Read",
            "TodoWrite",
            "WebFetch",
            "WebSearch",
            "Write"
        ]
    );
}

#[test]
fn each_tool_takes_and_gives_what_is_documented() {
    let operations = "goToDefinition|findReferences|hover|documentSymbol|workspaceSymbol|goToImplementation|\
                      prepareCallHierarchy|incomingCalls|outgoingCalls";
    let lsp = format!(
        "character:integer[1..] filePath:string! line:integer[1..] operation:string!<{operations}> query:string"
    );
    let ask = "questions:array![1..4](header:string! multiSelect:boolean=false options:array![2..4](description:string! \
               label:string!) question:string!)";
    let grep = "-A:integer[0..100] -B:integer[0..100] -C:integer[0..100] -i:boolean=false -n:boolean=true glob:string \
                offset:integer=0[0..1000000] output_mode:string=\"content\"<content|files_with_matches|count> path:string=\".\" pattern:string!";
    let edit = "edits:array(new_string:string! old_string:string! replace_all:boolean=false) file_path:string! \
                new_string:string! old_string:string! replace_all:boolean=false";
    let read = "column:integer[1..] file_path:string! limit:integer=2000[1..] offset:integer=1[1..]";
    let todo =
        "todos:array!(activeForm:string! content:string! status:string!<pending|in_progress|completed>)";
    let search = "allowed_domains:array blocked_domains:array query:string!";
    let bash = "command:string! cwd:string run_in_background:boolean=false timeout:integer[1..86400000]";
    for (tool, parameters, keys) in [
        ("Read", read, "content total_lines"),
        ("Write", "content:string! file_path:string!", "success bytes_written"),
        ("Edit", edit, "success replacements"),
        ("Glob", "offset:integer=0[0..1000000] path:string=\".\" pattern:string!", "files count"),
        ("Grep", grep, "matches total_matches"),
        ("Bash", bash, "stdout stderr exit_code"),
        ("BashOutput", "id:string!", "id status exit_code stdout stderr"),
        ("KillShell", "id:string!", "id status exit_code stdout stderr"),
        ("AskUserQuestion", ask, "answers"),
        ("TodoWrite", todo, "success"),
        ("LSP", &lsp, ""),
        ("WebFetch", "offset:integer[0..] prompt:string! url:string!", "content"),
        ("WebSearch", search, "results"),
    ] {
        check("microai", tool, parameters, keys);
    }
}

#[test]
fn read_numbers_lines() {
    let env = Env::files("microai", &[("file.go", "func main() {\n    fmt.Println(\"Hello\")\n}\n")]);
    let read = env.call("Read", json!({"file_path": env.absolute("file.go")}));
    assert_eq!(read["content"], "     1\tfunc main() {\n     2\t    fmt.Println(\"Hello\")\n     3\t}");
    assert_eq!(read["total_lines"], 3);
    env.file("long", numbered(3000));
    let read = env.call("Read", json!({"file_path": "long", "offset": 10, "limit": 5}));
    assert_eq!(
        read["content"],
        "    10\tline 10\n    11\tline 11\n    12\tline 12\n    13\tline 13\n    14\tline 14"
    );
    assert_eq!((&read["total_lines"], &read["has_more"]), (&json!(3000), &json!(true)));
    let read = env.call("Read", json!({"file_path": "long"}));
    assert_eq!((&read["end_line"], &read["total_lines"]), (&json!(2000), &json!(3000)));
}

#[test]
fn read_counts_the_lines_of_a_very_large_file_too() {
    let env = Env::new("microai");
    let line = "x".repeat(1023) + "\n";
    env.file("large", line.repeat(66 << 10));
    let read = env.call("Read", json!({"file_path": "large", "limit": 1}));
    assert_eq!((&read["total_lines"], &read["start_line"]), (&json!(66 << 10), &json!(1)));
    assert_ne!(read["hash"], Value::Null);
}

#[test]
fn write_and_edit_say_what_they_did() {
    let env = Env::new("microai");
    let path = env.absolute("new/file.go");
    let written = env.call("Write", json!({"file_path": path, "content": "package main\n"}));
    assert_eq!((&written["success"], &written["bytes_written"]), (&json!(true), &json!(13)));
    assert_eq!(
        (&written["operation"], env.content("new/file.go").as_str()),
        (&json!("created"), "package main\n")
    );
    let edit = |old: &str, new: &str, all: Option<bool>| json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": all});
    let edited = env.call("Edit", edit("main", "a a", None));
    assert_eq!((&edited["success"], &edited["replacements"]), (&json!(true), &json!(1)));
    env.refuses(&[("Edit", edit("a", "b", None), Reason::Ambiguous)]);
    assert_eq!(env.call("Edit", edit(" a", " b", Some(true)))["replacements"], 2);
    assert_eq!(env.content("new/file.go"), "package b b\n");
}

#[test]
fn several_edits_of_a_file_are_made_or_none() {
    let env = Env::files("microai", &[("a", "one\ntwo\nthree two\n")]);
    let edit =
        |edits: Value| json!({"file_path": "a", "old_string": "three", "new_string": "3", "edits": edits});
    let one = json!({"old_string": "one", "new_string": "1"});
    env.refuses(&[
        ("Edit", edit(json!([one, {"old_string": "four", "new_string": "4"}])), Reason::NoMatch),
        ("Edit", edit(json!([one, {"old_string": "two", "new_string": "2"}])), Reason::Ambiguous),
        ("Edit", edit(json!([one, {"old_string": "three two", "new_string": "2"}])), Reason::InvalidArgument),
    ]);
    assert_eq!(env.content("a"), "one\ntwo\nthree two\n");
    let wrong = edit(json!([one, {"old_string": "four", "new_string": "4"}]));
    let message = env.try_call("Edit", &wrong).unwrap_err().message;
    assert!(
        message.starts_with("edits[1]: old_string was not found in a")
            && message.ends_with("None of the edits was made."),
        "{message}"
    );
    let near = edit(json!([one, {"old_string": "three  two", "new_string": "2"}]));
    let message = env.try_call("Edit", &near).unwrap_err().message;
    assert!(message.ends_with("\n3:three two\nNone of the edits was made."), "{message}");
    let both = edit(json!([one, {"old_string": "three two", "new_string": "2"}]));
    let message = env.try_call("Edit", &both).unwrap_err().message;
    assert_eq!(
        message,
        "the first edit and edits[1] change the same text, at line 3; make one of them. None of the edits was made."
    );
    let all = json!([one, {"old_string": "two", "new_string": "2", "replace_all": true}]);
    assert_eq!(env.call("Edit", edit(all))["replacements"], 4);
    assert_eq!(env.content("a"), "1\n2\n3 2\n");
}

#[test]
fn glob_finds_files_below_a_directory() {
    let env =
        Env::files("microai", &[("main.go", ""), ("pkg/server.go", ""), ("docs/a.md", ""), ("b.md", "")]);
    let found = env.call("Glob", json!({"pattern": "**/*.go"}));
    assert_eq!((&found["files"], &found["count"]), (&json!(["main.go", "pkg/server.go"]), &json!(2)));
    let found = env.call("Glob", json!({"pattern": "*.md", "path": env.absolute("docs")}));
    assert_eq!(found["files"], json!(["docs/a.md"]));
}

fn grepped() -> Env {
    Env::files(
        "microai",
        &[("a.go", "one\nfunc Error\ntwo\nFUNC error\n"), ("b.txt", "func Error\n"), (".h.go", "")],
    )
}

#[test]
fn grep_gives_matches_with_their_lines() {
    let env = grepped();
    let args = json!({"pattern": "func.*Error", "glob": "*.go", "output_mode": "content", "-n": true});
    let found = env.call("Grep", args);
    assert_eq!(found["total_matches"], 1);
    let expected =
        json!([{"file": "a.go", "line_number": 2, "content": "func Error", "before": [], "after": []}]);
    assert_eq!(found["matches"], expected);
    assert_eq!(env.call("Grep", json!({"pattern": "func", "path": "b.txt"}))["matches"][0]["file"], "b.txt");
    let note = found["coverage"]["note"].as_str().unwrap();
    assert!(note.contains("1 hidden") && !note.contains("hidden: true"), "{note}");
}

#[test]
fn grep_honours_its_switches() {
    let env = grepped();
    let call = |more: Value| {
        let mut args = json!({"pattern": "func", "path": "a.go"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        env.call("Grep", args)
    };
    assert_eq!(call(json!({"-i": true}))["total_matches"], 2);
    assert_eq!(call(json!({"-n": false}))["matches"][0].get("line_number"), None);
    let lines = |more: Value| {
        let found = call(more)["matches"][0].clone();
        (found["before"].clone(), found["after"].clone())
    };
    assert_eq!(lines(json!({"-B": 1})), (json!(["one"]), json!([])));
    assert_eq!(lines(json!({"-A": 1})), (json!([]), json!(["two"])));
    assert_eq!(lines(json!({"-C": 1})), (json!(["one"]), json!(["two"])));
    let files = env.call("Grep", json!({"pattern": "func", "output_mode": "files_with_matches"}));
    assert_eq!((&files["files"], &files["matches"]), (&json!(["a.go", "b.txt"]), &json!([])));
    let counts = env.call("Grep", json!({"pattern": "func", "-i": true, "output_mode": "count"}));
    assert_eq!((&counts["counts"], &counts["total_matches"]), (&json!({"a.go": 2, "b.txt": 1}), &json!(3)));
}

#[test]
fn what_models_know_of_other_tools_of_these_names_is_accepted() {
    let env = grepped();
    let found = env.call(
        "Grep",
        json!({"pattern": "func|FUNC", "head_limit": 1, "offset": 1, "context": 1, "type": "go"}),
    );
    assert_eq!(
        (&found["matches"][0]["content"], found["matches"].as_array().unwrap().len()),
        (&json!("FUNC error"), 1)
    );
    assert_eq!(found["matches"][0]["before"], json!(["two"]));
    let lines = env.call("Grep", json!({"pattern": "Error\\ntwo", "multiline": true, "head_limit": 0}));
    assert_eq!(lines["total_matches"], 1);
    env.call("Bash", json!({"command": "true", "description": "Does nothing"}));
    let started =
        env.call("Bash", json!({"command": "echo one; echo two; sleep 60", "run_in_background": true}));
    let mut seen = String::new();
    while !seen.contains("two") {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let polled = env.call("BashOutput", json!({"bash_id": started["id"], "filter": "^t"}));
        seen.push_str(polled["stdout"].as_str().unwrap());
    }
    assert_eq!(seen, "two\n");
    env.call("KillShell", json!({"shell_id": started["id"]}));
    for tool in ["Grep", "Bash", "BashOutput"] {
        let names: Vec<_> = catalogue::find(tool, Some("microai")).unwrap().parameters().keys().collect();
        assert!(
            !names.iter().any(|name| ["head_limit", "description", "filter"].contains(&name.as_str())),
            "{names:?}"
        );
    }
}

#[test]
fn bash_runs_commands() {
    let env = Env::files("microai", &[("sub/here", "")]);
    let done = env.call("Bash", json!({"command": "ls; echo oops >&2; exit 3", "cwd": "sub"}));
    assert_eq!(
        (&done["stdout"], &done["stderr"], &done["exit_code"]),
        (&json!("here\n"), &json!("oops\n"), &json!(3))
    );
    let error =
        env.try_call("Bash", &json!({"command": "echo begun; sleep 60", "timeout": 300})).unwrap_err();
    assert_eq!((error.reason, &error.details["stdout"]), (Reason::Timeout, &json!("begun\n")));
}

#[test]
fn bash_runs_commands_in_the_background() {
    let env = Env::new("microai");
    let started = env.call("Bash", json!({"command": "echo on; sleep 60", "run_in_background": true}));
    let id = json!({"id": started["id"]});
    assert_eq!(started["exit_code"], Value::Null);
    while env.call("BashOutput", id.clone())["stdout"] != "on\n" {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(env.call("KillShell", id.clone())["status"], "killed");
    assert_eq!(env.call("BashOutput", id)["status"], "killed");
    let bash = catalogue::find("Bash", Some("microai")).unwrap();
    let told = bash.parameters()["run_in_background"].description.clone().unwrap();
    assert!(told.contains("BashOutput") && !told.contains("shell_"), "{told}");
}

fn questions() -> Value {
    let option = |label: &str| json!({"label": label, "description": "d"});
    json!([{
        "question": "Which database should we use?",
        "header": "Database",
        "options": [option("PostgreSQL"), option("MongoDB"), option("Redis")],
        "multiSelect": true,
    }])
}

#[test]
fn ask_user_question_records_the_answers() {
    let env = Env::new("microai");
    let args = json!({"questions": questions()});
    let CallOutcome::Question(put) = env.outcome("AskUserQuestion", &args, json!({})) else {
        panic!("nobody was asked")
    };
    assert_eq!((put[0].header.as_deref(), put[0].multi_select), (Some("Database"), true));
    assert_eq!(put[0].options[0].label, "PostgreSQL");
    let said = json!({"answers": {"outcome": "answered", "answers": {"Which database should we use?": ["Redis", "x"]}}});
    let CallOutcome::Ok(answered, _) = env.outcome("AskUserQuestion", &args, said) else {
        panic!("no result")
    };
    assert_eq!(answered["answers"], json!({"Which database should we use?": "Redis, x"}));
}

#[test]
fn todo_write_replaces_the_list() {
    let env = Env::new("microai");
    let todo =
        |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": "Doing"});
    let all = json!({"todos": [todo("a", "in_progress"), todo("b", "pending"), todo("c", "completed")]});
    assert_eq!(env.call("TodoWrite", all)["success"], true);
    assert_eq!(env.call("TodoWrite", json!({"todos": [todo("d", "pending")]}))["count"], 1);
    let two = json!({"todos": [todo("a", "in_progress"), todo("b", "in_progress")]});
    env.refuses(&[("TodoWrite", two, Reason::InvalidArgument)]);
}

#[test]
fn lsp_has_nine_operations() {
    let env = Env::files("microai", &[("a.fake", "foo(a, b)\nfoo()\n")]);
    for (operation, key) in [
        ("goToDefinition", "locations"),
        ("findReferences", "locations"),
        ("hover", "contents"),
        ("documentSymbol", "symbols"),
        ("workspaceSymbol", "symbols"),
        ("goToImplementation", "locations"),
        ("prepareCallHierarchy", "items"),
        ("incomingCalls", "calls"),
        ("outgoingCalls", "calls"),
    ] {
        let args =
            json!({"operation": operation, "filePath": env.absolute("a.fake"), "line": 1, "character": 2});
        let answer = env.call("LSP", args);
        assert_eq!(answer["available"], true, "{answer}");
        assert_ne!(answer[key], Value::Null, "{operation}");
    }
    let found =
        env.call("LSP", json!({"operation": "workspaceSymbol", "filePath": "a.fake", "query": "foo"}));
    assert_eq!(found["symbols"], json!([]));
}

#[test]
fn web_fetch_reads_a_page_for_a_prompt() {
    let env = Env::new("microai");
    let page = env.call("WebFetch", json!({"url": server::url("/page"), "prompt": "the greeting"}));
    assert_eq!(page["content"], "Hello **you**");
    assert_eq!((&page["status_code"], &page["title"]), (&json!(200), &json!("T")));
}

#[test]
fn web_search_finds_and_filters() {
    let env = Env::new("microai");
    let found = env.call("WebSearch", json!({"query": "go", "allowed_domains": ["go.dev"]}));
    assert_eq!(found["results"], json!([{"title": "T go.dev", "url": "https://go.dev/a", "snippet": "S"}]));
    let found = env.call("WebSearch", json!({"query": "go", "blocked_domains": ["go.dev"]}));
    assert_eq!(found["results"][0]["url"], "https://example.com/a");
}

#[test]
fn bad_input_is_refused_by_each_tool() {
    let env = Env::files("microai", &[("a", "x\n"), ("a.fake", "foo\n")]);
    let mut short = questions();
    short[0]["options"].as_array_mut().unwrap().truncate(1);
    let mut long = questions();
    long[0]["header"] = "more than twelve".into();
    env.refuses(&[
        ("Read", json!({}), Reason::InvalidArgument),
        ("Read", json!({"file_path": "a", "offset": 0}), Reason::InvalidArgument),
        ("Read", json!({"file_path": "b"}), Reason::NoSuchFile),
        ("Read", json!({"file_path": "/etc/passwd"}), Reason::OutsideWorkspace),
        ("Write", json!({"file_path": "a"}), Reason::InvalidArgument),
        ("Write", json!({"file_path": "../a", "content": ""}), Reason::OutsideWorkspace),
        ("Edit", json!({"file_path": "a", "old_string": "y", "new_string": "z"}), Reason::NoMatch),
        ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "x"}), Reason::InvalidArgument),
        ("Glob", json!({"pattern": "[a"}), Reason::InvalidPattern),
        ("Grep", json!({"pattern": "("}), Reason::InvalidPattern),
        ("Grep", json!({"pattern": "x", "-i": "yes"}), Reason::InvalidArgument),
        ("Grep", json!({"pattern": "x", "output_mode": "lines"}), Reason::InvalidArgument),
        ("Bash", json!({"command": " "}), Reason::InvalidArgument),
        ("Bash", json!({"command": "true", "cwd": "/etc"}), Reason::OutsideWorkspace),
        ("BashOutput", json!({}), Reason::InvalidArgument),
        ("BashOutput", json!({"id": "none"}), Reason::NoSuchCommand),
        ("KillShell", json!({"id": "none"}), Reason::NoSuchCommand),
        ("AskUserQuestion", json!({"questions": []}), Reason::InvalidArgument),
        ("AskUserQuestion", json!({"questions": short}), Reason::InvalidArgument),
        ("AskUserQuestion", json!({"questions": long}), Reason::InvalidArgument),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "done", "activeForm": "b"}]}),
            Reason::InvalidArgument,
        ),
        ("TodoWrite", json!({"todos": [{"content": "a", "status": "pending"}]}), Reason::InvalidArgument),
        ("LSP", json!({"operation": "rename", "filePath": "a.fake"}), Reason::InvalidArgument),
        ("LSP", json!({"operation": "hover", "filePath": "a.fake"}), Reason::InvalidArgument),
        ("WebFetch", json!({"url": server::url("/page")}), Reason::InvalidArgument),
        ("WebFetch", json!({"url": "file:///etc/passwd", "prompt": "p"}), Reason::InvalidArgument),
        ("WebSearch", json!({"query": " "}), Reason::InvalidArgument),
    ]);
}

#[test]
fn an_error_has_the_documented_shape() {
    let env = Env::with("microai", json!({"deny": ["Read"]}));
    env.file(".env", "");
    let error = env.try_call("Read", &json!({"file_path": ".env"})).unwrap_err().to_value();
    assert_eq!((&error["tool"], &error["error_type"]), (&json!("Read"), &json!("permission_denied")));
    assert_eq!(
        (&error["details"]["file"], &error["details"]["matched_rule"]),
        (&json!(".env"), &json!("Read"))
    );
    assert!(error["message"].is_string());
}
