//! `coder`: twenty-two tools.

use super::env::{Env, numbered};
use super::server;
use super::signature::{check, names};
use beamai_base::Reason;
use beamai_engine::CallOutcome;
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn it_has_the_twenty_two_tools_and_no_other() {
    let mut expected =
        "read list glob grep write edit patch bash todoread todowrite skill task question lsp_diagnostics \
                        lsp_definition lsp_hover git_status git_diff git_log git_add git_commit fetch"
            .split_whitespace()
            .collect::<Vec<_>>();
    assert_eq!(expected.len(), 22);
    expected.sort_unstable();
    assert_eq!(names("coder"), expected);
}

#[test]
fn each_tool_takes_and_gives_what_is_documented() {
    let read = "column:integer[1..] limit:integer=50[1..200] offset:integer=1 path:string!";
    let edit = "new_string:string! old_string:string! path:string! replace_all:boolean=false";
    let grep = "case_insensitive:boolean=false context:integer[0..100] glob:string max_matches:integer=200[1..100000] \
                offset:integer=0[0..1000000] output_mode:string=\"content\"<content|files_with_matches|count> \
                path:string=\".\" pattern:string!";
    let todo = "todos:array!(active_form:string content:string! \
                status:string=\"pending\"<pending|in_progress|completed>)";
    let fetch = "as:string=\"markdown\"<markdown|html> auth:object(cookie:string password:string preemptive:boolean=false token:string \
                 type:string!<basic|bearer|cookie> username:string) body:string headers:object \
                 max_size_kb:integer[1..1024] method:string=\"GET\"<GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS> \
                 offset:integer[0..] timeout_sec:integer=30[1..600] url:string! verify_tls:boolean=true";
    let question =
        "questions:array![1..4](options:array![..4](description:string! label:string!) question:string!)";
    let position = "character:integer![1..] line:integer![1..] path:string!";
    for (tool, parameters, keys) in [
        ("read", read, "content start_line end_line has_more"),
        ("list", "offset:integer=0[0..1000000] path:string=\".\"", "entries"),
        ("glob", "offset:integer=0[0..1000000] pattern:string!", "matches"),
        ("grep", grep, "matches count"),
        ("write", "content:string! path:string!", "operation diff additions deletions"),
        ("edit", edit, "replacements diff"),
        ("patch", "dry_run:boolean=false patch:string!", "applied files"),
        ("bash", "command:string!", "exit_code stdout stderr truncated duration_ms"),
        ("todoread", "", "todos"),
        ("todowrite", todo, "todos"),
        ("skill", "action:string=\"list\"<list|load> name:string", ""),
        ("task", "agent:string! objective:string!", "summary"),
        ("lsp_diagnostics", "path:string!", "diagnostics"),
        ("lsp_definition", position, "location"),
        ("lsp_hover", position, "contents"),
        ("git_status", "offset:integer=0[0..] short:boolean=false", "content"),
        (
            "git_diff",
            "commit:string offset:integer=0[0..] path:string staged:boolean=false stat:boolean=false",
            "content",
        ),
        ("git_log", "limit:integer=20[1..1000] oneline:boolean=false skip:integer=0[0..]", "content"),
        ("git_add", "path:string!", "ok files"),
        ("git_commit", "message:string!", "ok commit"),
        ("fetch", fetch, "url status_code content_type is_image content size_bytes"),
        ("question", question, "text"),
    ] {
        check("coder", tool, parameters, keys);
    }
}

#[test]
fn read_has_a_default_a_limit_and_a_tail() {
    let env = Env::new("coder");
    env.file("long", numbered(300));
    let part = |args: Value| {
        let read = env.call("read", args);
        (read["start_line"].as_u64().unwrap(), read["end_line"].as_u64().unwrap(), read["has_more"] == true)
    };
    assert_eq!(part(json!({"path": "long"})), (1, 50, true));
    assert_eq!(part(json!({"path": "long", "offset": 51, "limit": 200})), (51, 250, true));
    assert_eq!(part(json!({"path": "long", "offset": -20})), (281, 300, false));
    assert_eq!(part(json!({"path": "long", "offset": -150, "limit": 200})), (151, 300, false));
    assert_eq!(part(json!({"path": "long", "offset": -150})), (151, 300, false));
    assert_eq!(part(json!({"path": "long", "offset": -250})), (101, 300, false));
    assert_eq!(part(json!({"path": "long", "offset": -150, "limit": 10})), (151, 160, true));
    let clamped = env.call("read", json!({"path": "long", "offset": -250}));
    let said = "offset is -200, the maximum without a limit, not -250";
    assert_eq!(clamped["adjusted"], json!([said]));
    let text = env.text("read", &json!({"path": "long", "offset": -250}), 30_000);
    assert!(text.ends_with(&format!("[lines 101 to 300 of 300]\n[{said}]")), "{text}");
    assert!(env.call("read", json!({"path": "long", "offset": -200})).get("adjusted").is_none());
    assert_eq!(env.call("read", json!({"path": "long", "offset": -1}))["content"], "line 300\n");
    let clamped = env.call("read", json!({"path": "long", "limit": 201}));
    assert_eq!(clamped["end_line"], 200);
    assert_eq!(clamped["adjusted"], json!(["limit is 200, the maximum, not 201"]));
}

#[test]
fn the_tail_of_a_very_large_file_has_its_line_numbers() {
    let env = Env::new("coder");
    env.file("large", ("x".repeat(1023) + "\n").repeat(66 << 10));
    let read = env.call("read", json!({"path": "large", "offset": -2}));
    assert_eq!((&read["start_line"], &read["end_line"]), (&json!((66 << 10) - 1), &json!(66 << 10)));
}

#[test]
fn list_shows_every_entry_of_a_directory() {
    let env = Env::files("coder", &[("a", "xy"), (".hidden", ""), ("d/b", "")]);
    let listed = env.call("list", json!({}));
    let entries: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|one| (&one["name"], &one["type"])).collect();
    let (file, directory) = (json!("file"), json!("directory"));
    assert_eq!(entries, [(&json!(".hidden"), &file), (&json!("a"), &file), (&json!("d"), &directory)]);
    assert_eq!(env.call("list", json!({"path": "d"}))["entries"][0]["path"], "d/b");
}

#[test]
fn glob_and_grep_find() {
    let env = Env::files("coder", &[("a.rs", "one two\n"), ("d/b.rs", "two\n"), ("c.md", "two\n")]);
    let found = env.call("glob", json!({"pattern": "**/*.rs"}));
    assert_eq!((&found["matches"], &found["count"]), (&json!(["a.rs", "d/b.rs"]), &json!(2)));
    let found = env.call("grep", json!({"pattern": "tw."}));
    assert_eq!((&found["count"], &found["total_matches"]), (&json!(3), &json!(3)));
    assert_eq!(found["matches"][0]["file"], "a.rs");
    assert_eq!(env.call("grep", json!({"pattern": "two", "path": "d"}))["count"], 1);
    env.file("many", "x\n".repeat(250));
    let found = env.call("grep", json!({"pattern": "x"}));
    assert_eq!((&found["count"], &found["total_matches"]), (&json!(200), &json!(250)));
    assert_eq!(found["truncated"], true);
    let found = env.call("grep", json!({"pattern": "x", "max_matches": 3}));
    assert_eq!(found["matches"].as_array().unwrap().len(), 3);
    let args = json!({"pattern": "TWO", "case_insensitive": true, "glob": "*.rs", "output_mode": "files_with_matches"});
    assert_eq!(env.call("grep", args)["files"], json!(["a.rs", "d/b.rs"]));
    let counted = env.call("grep", json!({"pattern": "two", "output_mode": "count"}));
    assert_eq!(counted["counts"], json!({"a.rs": 1, "c.md": 1, "d/b.rs": 1}));
    env.file("lines", "1\n2\n3\n");
    let found = env.call("grep", json!({"pattern": "2", "path": "lines", "context": 1}));
    assert_eq!(
        (&found["matches"][0]["before"], &found["matches"][0]["after"]),
        (&json!(["1"]), &json!(["3"]))
    );
}

#[test]
fn write_edit_and_patch_answer_with_what_changed() {
    let env = Env::new("coder");
    let written = env.call("write", json!({"path": "f", "content": "a\nb\n"}));
    assert_eq!(
        (&written["operation"], &written["additions"], &written["deletions"]),
        (&json!("created"), &json!(2), &json!(0))
    );
    let written = env.call("write", json!({"path": "f", "content": "a\nc\n"}));
    assert_eq!(
        (&written["operation"], &written["additions"], &written["deletions"]),
        (&json!("updated"), &json!(1), &json!(1))
    );
    assert_eq!(written["diff"], "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    let edited = env.call("edit", json!({"path": "f", "old_string": "c", "new_string": "d"}));
    assert_eq!(edited["replacements"], 1);
    assert!(edited["diff"].as_str().unwrap().ends_with("-c\n+d\n"));
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n d\n";
    let tried = env.call("patch", json!({"patch": patch, "dry_run": true}));
    assert_eq!((&tried["applied"], env.content("f").as_str()), (&json!(false), "a\nd\n"));
    let patched = env.call("patch", json!({"patch": patch}));
    assert_eq!((&patched["applied"], &patched["files"][0]["path"]), (&json!(true), &json!("f")));
    assert_eq!(env.content("f"), "A\nd\n");
}

#[test]
fn bash_runs_a_command_and_says_what_it_cut() {
    let env = Env::new("coder");
    let done = env.call("bash", json!({"command": "echo out; echo err >&2; exit 7"}));
    assert_eq!(
        (&done["exit_code"], &done["stdout"], &done["stderr"]),
        (&json!(7), &json!("out\n"), &json!("err\n"))
    );
    assert!(done["truncated"] == false && done["duration_ms"].is_u64(), "{done}");
    let done = env.call("bash", json!({"command": "head -c 1000000 /dev/zero | tr '\\0' x"}));
    assert_eq!(done["truncated"], true);
    assert!(done["stdout"].as_str().unwrap().trim_end().ends_with("[output truncated]"));
}

#[test]
fn todos_are_those_of_the_session() {
    let env = Env::new("coder");
    let todos = json!({"todos": [{"content": "a", "status": "in_progress"}, {"content": "b"}]});
    let written = env.call("todowrite", todos);
    assert_eq!(written["todos"][1], json!({"id": 2, "content": "b", "status": "pending"}));
    assert_eq!(env.call("todoread", json!({}))["todos"], written["todos"]);
    let two = json!({"todos": [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}]});
    env.refuses(&[("todowrite", two, Reason::InvalidArgument)]);
    assert_eq!(env.call("todoread", json!({}))["todos"], written["todos"]);
}

#[test]
fn skill_lists_and_loads() {
    let env = Env::new("coder");
    let listed = env.call("skill", json!({"action": "list"}));
    assert_eq!(listed["skills"][0]["name"], "create-skill");
    let loaded = env.call("skill", json!({"action": "load", "name": "create-skill"}));
    assert!(loaded["content"].as_str().unwrap().contains("SKILL.md"));
    let denies = Env::with("coder", json!({"deny": ["Skill"]}));
    denies.refuses(&[("skill", json!({"action": "load", "name": "create-skill"}), Reason::Denied)]);
}

#[test]
fn question_recommends_the_first_option() {
    let env = Env::new("coder");
    let option = |label: &str| json!({"label": label, "description": "d"});
    let args = json!({"questions": [{"question": "Which?", "options": [option("Rust"), option("C")]}]});
    let CallOutcome::Question(put) = env.outcome("question", &args, json!({})) else {
        panic!("nobody was asked")
    };
    let labels: Vec<_> = put[0].options.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["Rust (Recommended)", "C"]);
    let said = |answer: &str| json!({"answers": {"outcome": "answered", "answers": {"Which?": answer}}});
    for (answer, text) in
        [("Rust (Recommended)", "Which?\n  Rust"), ("C", "Which?\n  C"), ("own", "Which?\n  own")]
    {
        let CallOutcome::Ok(value, _) = env.outcome("question", &args, said(answer)) else {
            panic!("no result")
        };
        assert_eq!(value["text"], text);
    }
    let nobody = json!({"answers": {"outcome": "no_frontend"}});
    let CallOutcome::Ok(value, _) = env.outcome("question", &args, nobody) else { panic!("no result") };
    assert!(value["text"].as_str().unwrap().contains("Decide by yourself"));
}

#[test]
fn language_servers_answer() {
    let env = Env::files("coder", &[("a.fake", "foo(a, b)\nfoo()\n")]);
    let at = json!({"path": "a.fake", "line": 1, "character": 1});
    let location = &env.call("lsp_definition", at.clone())["location"];
    assert_eq!(
        (&location["path"], &location["line"], &location["character"]),
        (&json!("a.fake"), &json!(2), &json!(1))
    );
    assert_eq!(env.call("lsp_hover", at)["contents"], "fn foo()");
    let said = env.call("lsp_diagnostics", json!({"path": "a.fake"}));
    assert_eq!(said["diagnostics"][0]["message"], "it is wrong");
}

#[test]
fn without_a_language_server_the_model_is_told_what_to_do_instead() {
    let env = Env::files("coder", &[("a.zzz", "x\n")]);
    let at = json!({"path": "a.zzz", "line": 1, "character": 1});
    for (tool, args) in
        [("lsp_definition", at.clone()), ("lsp_hover", at), ("lsp_diagnostics", json!({"path": "a.zzz"}))]
    {
        let answer = env.call(tool, args);
        assert_eq!(answer["available"], false, "{answer}");
        assert!(answer["message"].as_str().unwrap().contains("grep"), "{answer}");
    }
}

fn repository() -> Env {
    let env = Env::files("coder", &[("a", "one\n")]);
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "A"],
        &["config", "user.email", "a@example.com"],
        &["config", "commit.gpgsign", "false"],
    ] {
        assert!(Command::new("git").args(args).current_dir(env.path("")).status().unwrap().success());
    }
    env
}

#[test]
fn git_shows_stages_and_commits() {
    let env = repository();
    assert_eq!(env.call("git_status", json!({"short": true}))["content"], "?? a\n");
    let added = env.call("git_add", json!({"path": "a"}));
    assert_eq!((&added["ok"], &added["files"]), (&json!(true), &json!(["a"])));
    assert!(
        env.call("git_diff", json!({"staged": true, "path": "a"}))["content"]
            .as_str()
            .unwrap()
            .ends_with("+one\n")
    );
    assert_eq!(env.call("git_diff", json!({}))["content"], "");
    let committed = env.call("git_commit", json!({"message": "--amend is text here"}));
    assert_eq!((&committed["ok"], committed["commit"].as_str().unwrap().len()), (&json!(true), 40));
    let log = env.call("git_log", json!({"oneline": true, "limit": 1}));
    assert!(log["content"].as_str().unwrap().ends_with(" --amend is text here\n"), "{log}");
    assert!(env.call("git_status", json!({}))["content"].as_str().unwrap().contains("branch: main"));
}

#[test]
fn git_reads_unasked_and_asks_before_it_changes() {
    let env = Env::with("coder", json!({}));
    for (tool, args) in [("git_status", json!({})), ("git_diff", json!({})), ("git_log", json!({}))] {
        let answer = env.call(tool, args);
        assert!(answer["content"].as_str().unwrap().contains("bash"), "the shell is the way out: {answer}");
    }
    for (tool, args) in [("git_add", json!({"path": "."})), ("git_commit", json!({"message": "m"}))] {
        assert!(matches!(env.outcome(tool, &args, json!({})), CallOutcome::Ask(_)), "{tool}");
    }
}

#[test]
fn fetch_brings_text_and_images() {
    let env = Env::new("coder");
    let page = env.call("fetch", json!({"url": server::url("/page")}));
    assert_eq!(page["url"], server::url("/page"));
    assert_eq!(
        (&page["status_code"], &page["content_type"]),
        (&json!(200), &json!("text/html; charset=utf-8"))
    );
    assert_eq!((&page["is_image"], &page["content"]), (&json!(false), &json!("Hello **you**")));
    assert_eq!(page["size_bytes"], 39);
    let image = env.call("fetch", json!({"url": server::url("/image")}));
    assert_eq!((&image["is_image"], &image["content"]), (&json!(true), &json!("iVBORw0KGgowMTIzNDU2Nzg5")));
    assert_eq!(image["size_bytes"], server::IMAGE.len());
    assert_eq!(env.call("fetch", json!({"url": server::url("/nowhere")}))["status_code"], 404);
}

#[test]
fn fetch_keeps_its_limits() {
    let env = Env::new("coder");
    let long = |args: Value| {
        let fetched = env.call("fetch", args);
        assert_eq!(fetched["truncated"], true);
        fetched["content"].as_str().unwrap().len()
    };
    assert_eq!(long(json!({"url": server::url("/long")})), 100 << 10);
    assert_eq!(long(json!({"url": server::url("/long"), "max_size_kb": 2})), 2 << 10);
    assert_eq!(long(json!({"url": server::url("/large.png")})), 0);
}

#[test]
fn fetch_sends_what_it_is_told_and_authenticates_when_asked() {
    let env = Env::new("coder");
    let args = json!({"url": server::url("/echo"), "method": "POST", "headers": {"X-A": "1"}, "body": "b", "timeout_sec": 5});
    let said = env.call("fetch", args)["content"].as_str().unwrap().to_owned();
    assert!(said.starts_with("post b\n") && said.contains("x-a: 1"), "{said}");
    let closed = |auth: Value| env.call("fetch", json!({"url": server::url("/closed"), "auth": auth}));
    assert_eq!(closed(Value::Null)["status_code"], 401);
    let opened = closed(json!({"type": "bearer", "token": "T0ken"}));
    assert_eq!((&opened["status_code"], &opened["content"]), (&json!(200), &json!("come in")));
}

#[test]
fn bad_input_is_refused_by_each_tool() {
    let env = Env::files("coder", &[("a", "x\n"), ("a.fake", "foo\n")]);
    let one = json!([{"question": "q", "options": [{"label": "a", "description": "b"}]}]);
    env.refuses(&[
        ("read", json!({"path": "b"}), Reason::NoSuchFile),
        ("read", json!({"path": "a", "offset": 0}), Reason::InvalidArgument),
        ("read", json!({"path": "a", "encoding": "latin1"}), Reason::InvalidArgument),
        ("list", json!({"path": "a"}), Reason::NotADirectory),
        ("glob", json!({"pattern": "/etc/*"}), Reason::InvalidPattern),
        ("glob", json!({"pattern": "../*"}), Reason::InvalidPattern),
        ("grep", json!({"pattern": "("}), Reason::InvalidPattern),
        ("grep", json!({"pattern": "x", "max_matches": 0}), Reason::InvalidArgument),
        ("write", json!({"path": "../a", "content": "x"}), Reason::OutsideWorkspace),
        ("write", json!({"path": "a", "content": "x", "mode": "append"}), Reason::InvalidArgument),
        ("edit", json!({"path": "a", "old_string": "y", "new_string": "z"}), Reason::NoMatch),
        ("patch", json!({"patch": "nonsense"}), Reason::InvalidArgument),
        ("bash", json!({"command": ""}), Reason::InvalidArgument),
        ("bash", json!({"command": "true", "timeout": 5}), Reason::InvalidArgument),
        ("todoread", json!({"status": "pending"}), Reason::InvalidArgument),
        ("todowrite", json!({"todos": [{"content": ""}]}), Reason::InvalidArgument),
        ("skill", json!({"action": "load"}), Reason::InvalidArgument),
        ("skill", json!({"action": "load", "name": "create-skil"}), Reason::NoSuchSkill),
        ("question", json!({"questions": one}), Reason::InvalidArgument),
        ("question", json!({"questions": []}), Reason::InvalidArgument),
        ("lsp_diagnostics", json!({}), Reason::InvalidArgument),
        ("lsp_definition", json!({"path": "a.fake", "line": 0, "character": 1}), Reason::InvalidArgument),
        ("lsp_definition", json!({"path": "a.fake", "line": 9, "character": 1}), Reason::InvalidArgument),
        ("lsp_hover", json!({"path": "a.fake", "line": 1}), Reason::InvalidArgument),
        ("git_status", json!({"short": "yes"}), Reason::InvalidArgument),
        ("git_diff", json!({"path": "../a"}), Reason::OutsideWorkspace),
        ("git_log", json!({"limit": 0}), Reason::InvalidArgument),
        ("git_add", json!({}), Reason::InvalidArgument),
        ("git_commit", json!({"message": "m", "amend": true}), Reason::InvalidArgument),
        ("fetch", json!({"url": "ftp://a.example"}), Reason::InvalidArgument),
        ("fetch", json!({"url": server::url("/"), "method": "BREW"}), Reason::InvalidArgument),
        ("fetch", json!({"url": server::url("/"), "max_size_kb": "much"}), Reason::InvalidArgument),
    ]);
}
