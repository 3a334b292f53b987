//! The language server protocol at its corners, with a server that does as each test says.
#![cfg(target_os = "linux")]

use crate::{
    common::{marked, wait_until},
    lsp_env::{Env, fake, hover, range},
};
use beamai_base::{CancelToken, Reason};
use beamai_engine::{CallOptions, CallOutcome};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const HOVER: &str = "textDocument/hover";

fn answers(method: &str, answer: Value) -> Value {
    json!({"answer": {method: answer}})
}

fn with(mut script: Value, key: &str, value: impl Into<Value>) -> Value {
    script[key] = value.into();
    script
}

fn talks() -> Value {
    answers(HOVER, json!({"contents": "hello"}))
}

#[test]
fn a_crash_is_told_and_the_next_request_starts_the_server_again() {
    let env = Env::fake(with(talks(), "crash", HOVER));
    let error = env.hover().unwrap_err();
    assert_eq!(error.reason, Reason::LanguageServer);
    for part in ["has ended: it exited with code 3", "out of luck", "started again with the next request"] {
        assert!(error.message.contains(part), "{error}");
    }
    assert_eq!(env.hover().unwrap()["contents"], "hello");
    assert_eq!(env.told("initialize").len(), 2);
}

#[test]
fn a_request_without_an_answer_ends_with_the_time_and_is_cancelled() {
    let env = Env::fake(with(talks(), "hang", HOVER));
    let error = env.run("lsp", hover(), Some(1500), CallOptions::default()).unwrap_err();
    assert_eq!(error.reason, Reason::Timeout);
    let asked = env.log().into_iter().find(|message| message["method"] == HOVER).unwrap();
    assert_eq!(env.wait_for("$/cancelRequest")["id"], asked["id"]);
}

#[test]
fn a_cancelled_call_returns_at_once_and_cancels_its_request() {
    let env = Env::fake(with(talks(), "hang", HOVER));
    let cancel = CancelToken::new();
    let run = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let (error, cancelled) = std::thread::scope(|scope| {
        let call = scope.spawn(|| (env.run("lsp", hover(), None, run).unwrap_err(), Instant::now()));
        env.wait_for(HOVER);
        let now = Instant::now();
        cancel.cancel();
        let (error, ended) = call.join().unwrap();
        (error, ended - now)
    });
    assert_eq!(error.reason, Reason::Cancelled);
    assert!(cancelled < Duration::from_secs(10), "{cancelled:?}");
    env.wait_for("$/cancelRequest");
}

#[test]
fn what_the_server_asks_is_answered() {
    let ask = json!([
        ["workspace/configuration", {"items": [{"section": "a.b"}, {"section": "x"}, {}]}],
        ["workspace/workspaceFolders", null],
        ["client/registerCapability", {"registrations": []}],
        ["window/workDoneProgress/create", {"token": "t"}],
        ["workspace/applyEdit", {"edit": {}}],
        ["window/showMessageRequest", {"message": "?"}],
        ["made/up", {}],
    ]);
    let script = with(talks(), "ask", ask);
    let env = Env::with(|log| {
        let mut server = fake(log, &script);
        server["settings"] = json!({"a": {"b": 1}});
        json!({"servers": {"fake": server}})
    });
    env.hover().unwrap();
    wait_until(|| env.log().iter().filter(|message| message["method"].is_null()).count() == 7);
    let answers: Vec<Value> = env.log().into_iter().filter(|message| message["method"].is_null()).collect();
    let results: Vec<&Value> = answers.iter().map(|answer| &answer["result"]).collect();
    assert_eq!(*results[0], json!([1, null, {"a": {"b": 1}}]));
    assert!(results[1][0]["uri"].as_str().unwrap().starts_with("file:///"));
    assert_eq!((results[2], results[3], results[5]), (&Value::Null, &Value::Null, &Value::Null));
    assert_eq!(results[4]["applied"], false);
    assert_eq!(answers[6]["error"]["code"], -32601);
    assert_eq!(env.told("workspace/didChangeConfiguration"), [json!({"settings": {"a": {"b": 1}}})]);
}

#[test]
fn positions_are_converted_to_and_from_whatever_the_server_counts() {
    for (encoding, units) in [("utf-8", 7), ("utf-16", 4), ("utf-32", 3), ("unheard-of", 4)] {
        let found = json!({"uri": "@uri", "range": {"start": "@position", "end": "@position"}});
        let script = with(answers("textDocument/definition", found), "encoding", encoding);
        let env = Env::fake(script);
        env.file("a.fake", "x\n a😀é = foo\n");
        let args = json!({"operation": "goToDefinition", "path": "a.fake", "line": 2, "character": 4});
        let answer = env.lsp(args);
        let asked = &env.told("textDocument/definition")[0]["position"];
        // The fourth character is é, after a space, an a and a face.
        let expected = if encoding == "utf-8" { units - 1 } else { units };
        assert_eq!(*asked, json!({"line": 1, "character": expected}), "{encoding}");
        let location = &answer["locations"][0];
        assert_eq!((&location["line"], &location["character"]), (&json!(2), &json!(4)), "{encoding}");
        assert_eq!(location["preview"], "a😀é = foo");
    }
}

#[test]
fn frames_may_come_in_any_pieces() {
    let env = Env::fake(with(talks(), "dribble", 3));
    assert_eq!(env.hover().unwrap()["contents"], "hello");
}

#[test]
fn a_huge_answer_is_cut_and_says_so() {
    let env = Env::fake(answers(HOVER, json!({"contents": {"@text": "ä", "@times": 1 << 20}})));
    let answer = env.hover().unwrap();
    assert_eq!((&answer["truncated"], &answer["total"]), (&json!(true), &json!(1 << 20)));
    let contents = answer["contents"].as_str().unwrap();
    assert!(contents.len() < 70_000 && contents.ends_with("[truncated]"));
}

#[test]
fn many_results_are_cut_and_counted() {
    let one = |line: u64| json!({"uri": "@uri", "range": range(line, 0, 1)});
    let env = Env::fake(answers("textDocument/references", (0..600).map(one).collect()));
    let args = json!({"operation": "findReferences", "path": "a.fake", "line": 1, "character": 1});
    let answer = env.lsp(args);
    assert_eq!(answer["locations"].as_array().unwrap().len(), 500);
    assert_eq!((&answer["truncated"], &answer["total"]), (&json!(true), &json!(600)));
}

#[test]
fn nonsense_in_place_of_a_frame_ends_the_server_and_is_quoted() {
    let env = Env::fake(with(talks(), "garbage", HOVER));
    let error = env.hover().unwrap_err();
    assert!(error.message.contains("it wrote \"Traceback (most recent call last)\""), "{error}");
}

#[test]
fn a_server_that_does_not_start_gives_the_fallback() {
    for (key, text, part) in [
        (
            "die",
            "error: no such component",
            "exited with code 1; the end of its stderr: error: no such component",
        ),
        ("banner", "Welcome!\n", "it wrote \"Welcome!\" where the header"),
        ("banner", "Content-Length: 99999999999\r\n\r\n", "it announced a message of 99999999999 bytes"),
        ("error", "initialize", "something broke"),
    ] {
        let env = Env::fake(with(talks(), key, text));
        let answer = env.hover().unwrap();
        assert_eq!(answer["available"], false);
        let message = answer["message"].as_str().unwrap();
        for part in ["The language server python3 does not start", part, "Use grep"] {
            assert!(message.contains(part), "{message}");
        }
        let answer = env.try_call("lsp_diagnostics", json!({"path": "a.fake"})).unwrap();
        assert_eq!((&answer["available"], &answer["complete"]), (&json!(false), &json!(false)));
    }
}

#[test]
fn a_server_that_complains_without_end_is_not_held_up() {
    let env = Env::fake(with(talks(), "say", json!({"@text": "warning: something\n", "@times": 50_000})));
    assert_eq!(env.hover().unwrap()["contents"], "hello");
}

#[test]
fn what_a_server_does_not_offer_is_said() {
    let env = Env::fake(with(talks(), "capabilities", json!({"implementationProvider": false})));
    // The first is not announced, the second is announced and not known after all.
    for operation in ["goToImplementation", "findReferences"] {
        let args = json!({"operation": operation, "path": "a.fake", "line": 1, "character": 1});
        let answer = env.try_call("lsp", args).unwrap();
        assert_eq!(answer["available"], false, "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(&format!("does not offer \"{operation}\"")), "{message}");
    }
}

#[test]
fn a_request_is_made_again_when_the_server_was_changing_and_an_error_is_told() {
    let env = Env::fake(with(talks(), "busy", HOVER));
    assert_eq!(env.hover().unwrap()["contents"], "hello");
    assert_eq!(env.told(HOVER).len(), 3);
    let error = Env::fake(with(talks(), "error", HOVER)).hover().unwrap_err();
    assert_eq!(error.reason, Reason::LanguageServer);
    assert!(
        error.message.contains("responded to textDocument/hover with an error: something broke"),
        "{error}"
    );
}

#[test]
fn what_is_about_the_workspace_waits_until_the_server_has_seen_it() {
    let found = json!([{"uri": "@uri", "range": range(0, 0, 3)}]);
    let env = Env::fake(with(answers("textDocument/references", found), "work", 700));
    let args = json!({"operation": "findReferences", "path": "a.fake", "line": 1, "character": 1});
    assert_eq!(env.lsp(args)["total"], 1);
    let methods: Vec<Value> = env.log().into_iter().map(|mut message| message["method"].take()).collect();
    let at = |method: &str| methods.iter().position(|one| one == method).unwrap();
    assert!(at("fake/worked") < at("textDocument/references"), "{methods:?}");
}

#[test]
fn an_answer_from_a_server_that_is_still_at_work_says_so() {
    let env = Env::fake(with(answers("workspace/symbol", json!([])), "work", 60_000));
    let args = json!({"operation": "workspaceSymbol", "path": "a.fake", "query": "x"});
    let answer = env.run("lsp", args, Some(2500), CallOptions::default()).unwrap();
    assert!(answer["message"].as_str().unwrap().contains("still indexing"), "{answer}");
}

#[test]
fn an_empty_answer_names_what_was_asked_about() {
    let env = Env::fake(answers("textDocument/definition", Value::Null));
    let at = |line: u64, character: u64| {
        let args =
            json!({"operation": "goToDefinition", "path": "a.fake", "line": line, "character": character});
        env.lsp(args)["message"].as_str().unwrap().to_owned()
    };
    assert!(at(1, 2).contains("the name at that position in a.fake is \"foo\""), "{}", at(1, 2));
    assert!(at(1, 7).contains("has no name at that position"), "{}", at(1, 7));
}

#[test]
fn a_workspace_symbol_is_looked_for_by_query_or_by_the_word_at_the_position() {
    let env = Env::fake(answers("workspace/symbol", json!([])));
    env.lsp(json!({"operation": "workspaceSymbol", "path": "a.fake", "query": "que"}));
    env.lsp(json!({"operation": "workspaceSymbol", "path": "a.fake", "line": 1, "character": 2}));
    env.lsp(json!({"operation": "workspaceSymbol", "path": "a.fake"}));
    let queries: Vec<Value> =
        env.told("workspace/symbol").into_iter().map(|mut one| one["query"].take()).collect();
    assert_eq!(queries, ["que", "foo", ""]);
}

#[test]
fn symbols_come_flat_with_their_containers() {
    let symbol = |name: &str, kind: u64, line: u64, children: Value| {
        json!({"name": name, "kind": kind, "detail": "", "range": range(line, 0, 9),
               "selectionRange": range(line, 0, 3), "children": children})
    };
    let tree = json!([symbol("A", 5, 0, json!([symbol("b", 6, 1, json!([symbol("c", 13, 1, json!([]))]))]))]);
    let env = Env::fake(answers("textDocument/documentSymbol", tree));
    let answer = env.lsp(json!({"operation": "documentSymbol", "path": "a.fake"}));
    let field = |name: &str| -> Vec<Value> {
        answer["symbols"].as_array().unwrap().iter().map(|symbol| symbol[name].clone()).collect()
    };
    assert_eq!(field("name"), ["A", "b", "c"]);
    assert_eq!(field("kind"), ["class", "method", "variable"]);
    assert_eq!(field("container"), [Value::Null, "A".into(), "A.b".into()]);
    assert_eq!(field("preview"), ["foo(a, b)", "foo()", "foo()"]);
}

#[test]
fn calls_come_with_their_sites() {
    let env = Env::with(|log| {
        let workspace = "file:///nowhere";
        let item = |name: &str| {
            json!({"name": name, "kind": 12, "uri": format!("{workspace}/{name}"), "range": range(4, 0, 9),
                   "selectionRange": range(4, 0, 3), "data": {"secret": name}})
        };
        let script = json!({"answer": {
            "textDocument/prepareCallHierarchy": [item("me")],
            "callHierarchy/incomingCalls": [{"from": item("caller"), "fromRanges": [range(7, 1, 2)]}],
            "callHierarchy/outgoingCalls": [{"to": item("callee"), "fromRanges": [range(5, 1, 2)]}],
        }});
        json!({"servers": {"fake": fake(log, &script)}})
    });
    let ask = |operation: &str| {
        env.lsp(json!({"operation": operation, "path": "a.fake", "line": 1, "character": 1}))
    };
    assert_eq!(ask("prepareCallHierarchy")["items"][0]["name"], "me");
    let incoming = &ask("incomingCalls")["calls"][0];
    assert_eq!(
        (&incoming["name"], &incoming["sites"][0]["path"]),
        (&json!("caller"), &json!("/nowhere/caller"))
    );
    let outgoing = &ask("outgoingCalls")["calls"][0];
    assert_eq!((&outgoing["name"], &outgoing["sites"][0]["path"]), (&json!("callee"), &json!("/nowhere/me")));
    assert_eq!(outgoing["sites"][0]["line"], 6);
    // The server gets its own data back.
    assert_eq!(env.told("callHierarchy/incomingCalls")[0]["item"]["data"], json!({"secret": "me"}));
}

#[test]
fn files_outside_the_workspace_are_named_and_not_read() {
    let uri = "file:///etc/passwd";
    let found = json!([
        {"uri": uri, "range": range(0, 5, 6)},
        {"targetUri": "jdt://contents/X.class", "targetRange": range(0, 0, 1), "targetSelectionRange": range(0, 0, 1)},
    ]);
    let env = Env::fake(answers("textDocument/definition", found));
    let answer = env.lsp(json!({"operation": "goToDefinition", "path": "a.fake", "line": 1, "character": 1}));
    let first = &answer["locations"][0];
    assert_eq!((&first["path"], &first["outside"]), (&json!("/etc/passwd"), &json!(true)));
    assert_eq!((&first["line"], &first["character"], first.get("preview")), (&json!(1), &json!(6), None));
    assert_eq!(answer["locations"][1]["path"], "jdt://contents/X.class");
    assert!(!answer.to_string().contains("root:"));
}

#[test]
fn a_link_that_leads_out_shows_nothing_of_its_target() {
    let found = json!({"uri": "@beside/link.fake", "range": range(0, 0, 1)});
    let env = Env::fake(answers("textDocument/definition", found));
    std::os::unix::fs::symlink("/etc/passwd", env.path("link.fake")).unwrap();
    let answer = env.lsp(json!({"operation": "goToDefinition", "path": "a.fake", "line": 1, "character": 1}));
    let location = &answer["locations"][0];
    assert_eq!((&location["path"], location.get("preview")), (&json!("link.fake"), None));
    let error = env.try_call("lsp", json!({"operation": "documentSymbol", "path": "link.fake"})).unwrap_err();
    assert_eq!(error.reason, Reason::OutsideWorkspace);
}

#[test]
fn any_file_name_makes_the_way_to_the_server_and_back() {
    use std::os::unix::ffi::OsStrExt;
    let found = json!({"uri": "@uri", "range": range(0, 0, 1)});
    let env = Env::fake(answers("textDocument/definition", found));
    for (name, shown) in [
        (&b"a b#?%20.fake"[..], "a b#?%20.fake"),
        ("漢字/ü.fake".as_bytes(), "漢字/ü.fake"),
        (b"caf\xe9.fake", "caf\\xE9.fake"),
        (b"new\nline.fake", "new\nline.fake"),
    ] {
        env.file(std::ffi::OsStr::from_bytes(name), "foo\n");
        let args = json!({"operation": "goToDefinition", "path": shown, "line": 1, "character": 1});
        let location = &env.lsp(args)["locations"][0];
        assert_eq!((&location["path"], &location["preview"]), (&json!(shown), &json!("foo")));
    }
}

#[test]
fn calls_at_once_share_one_server() {
    let env = Env::fake(talks());
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| env.hover().unwrap())).collect();
        assert!(calls.into_iter().all(|call| call.join().unwrap()["contents"] == "hello"));
    });
    assert_eq!(env.told("initialize").len(), 1);
    assert_eq!(env.told("textDocument/didOpen").len(), 1);
}

#[test]
fn an_idle_server_is_asked_to_end() {
    let env = Env::with(|log| json!({"idle_timeout": 200, "servers": {"fake": fake(log, &talks())}}));
    env.hover().unwrap();
    env.wait_for("shutdown");
    env.wait_for("exit");
    wait_until(|| marked(env.log_path().to_str().unwrap()).is_empty());
    env.hover().unwrap();
    assert_eq!(env.told("initialize").len(), 2);
}

#[test]
fn a_server_is_in_the_sandbox_and_where_that_cannot_be_nothing_starts() {
    let env = Env::fake(talks());
    let elsewhere = tempfile::TempDir::new_in("/var/tmp").unwrap();
    let program = elsewhere.path().join("server");
    let victim = elsewhere.path().join("victim");
    let script = format!("#!/bin/sh\necho x > {}; touch {}/ran\n", victim.display(), env.path("").display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let lsp = json!({"servers": {"fake": {"command": [program], "extensions": ["fake"]}}});
    let env = env.under(json!({"sandbox": "required", "lsp": lsp}));
    _ = env.hover();
    assert!(env.path("ran").exists() && !victim.exists());
    // A place that is not there cannot be given.
    let env = env.under(json!({"sandbox": {"writable": ["/no/such/place"]}, "lsp": lsp}));
    assert_eq!(env.hover().unwrap_err().reason, Reason::IsolationUnavailable);
    let env = env.under(json!({"sandbox": "off", "lsp": lsp}));
    _ = env.hover();
    assert!(victim.exists());
}

#[test]
fn a_position_that_the_file_does_not_have_is_refused_before_a_server_starts() {
    let env = Env::fake(talks());
    let args = json!({"operation": "hover", "path": "a.fake", "line": 7, "character": 1});
    let error = env.try_call("lsp", args).unwrap_err();
    assert_eq!(error.reason, Reason::InvalidArgument);
    assert!(error.message.contains("line 7 is beyond the end of a.fake, which has 2 lines"), "{error}");
    assert!(env.log().is_empty());
}

#[test]
fn a_read_rule_holds_for_language_servers() {
    let env = Env::new().under(json!({"permissions": {"deny": ["Read"]}}));
    assert_eq!(env.hover().unwrap_err().reason, Reason::Denied);
    let error = env.try_call("lsp_diagnostics", json!({})).unwrap_err();
    assert_eq!(error.details["matched_rule"], "Read");
}

#[test]
fn what_globs_of_read_rules_match_is_kept_from_servers_also_when_it_comes_later() {
    for (rules, expected) in [
        (json!({"default": "allow"}), "SECRET"),
        (json!({"default": "allow", "deny": ["Read(**/*.pem)"]}), ""),
        // A server reads files that no call names, so nobody could be asked about them.
        (json!({"default": "allow", "ask": ["Read(**/*.pem)"]}), ""),
        (json!({"default": "allow", "deny": ["LSP(**/*.pem)"]}), ""),
        (json!({"default": "allow", "ask": ["LSP(**/*.pem)"]}), ""),
        (json!({"default": "allow", "deny": ["Grep(**/*.pem)"]}), "SECRET"),
    ] {
        let env = Env::new();
        let mut server = fake(&env.log_path(), &talks());
        // Before it serves, it reads what it finds.
        let seen = env.log_path().with_extension("seen");
        let program: Vec<String> = server["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect();
        let script = format!("cat deep/*.pem >{} 2>/dev/null; exec \"$@\"", seen.display());
        let start = ["sh", "-c", &script, "sh"].map(str::to_owned);
        server["command"] = json!([&start[..], &program[..]].concat());
        let settings = json!({
            "permissions": rules,
            "lsp": {"servers": {"fake": server}},
        });
        let env = env.under(settings);
        env.file("deep/key.pem", "SECRET");
        env.hover().unwrap();
        env.hover().unwrap();
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), expected);
        assert_eq!(env.told("initialize").len(), 1);
        // A server that runs would see it; so it gives way to another one.
        env.file("deep/new.pem", "SECRET");
        env.hover().unwrap();
        assert_eq!(env.told("initialize").len(), if expected.is_empty() { 2 } else { 1 }, "{rules}");
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), expected);
    }
}

/// The mount over a file goes with the file, and a link decides about what it leads to.
#[test]
fn a_server_gives_way_when_something_else_is_to_be_kept_from_it() {
    let elsewhere = tempfile::TempDir::new_in("/var/tmp").unwrap();
    let file = |name: &str| elsewhere.path().join(name);
    std::fs::write(file("key"), "SECRET").unwrap();
    let env = Env::new();
    let settings = json!({
        "permissions": {"default": "allow", "deny": ["Read(*.pem)", format!("Read({})", file("key").display())]},
        "lsp": {"servers": {"fake": fake(&env.log_path(), &talks())}},
    });
    let env = env.under(settings);
    let starts = || {
        env.hover().unwrap();
        env.hover().unwrap();
        env.told("initialize").len()
    };
    assert_eq!(starts(), 1);
    // As editors and git's credential store save a file.
    std::fs::write(file("new"), "OTHER SECRET").unwrap();
    std::fs::rename(file("new"), file("key")).unwrap();
    assert_eq!(starts(), 2);
    std::fs::write(file("own"), "OWN").unwrap();
    env.file("deep/plain", "");
    std::os::unix::fs::symlink(file("own"), env.path("deep/own.pem")).unwrap();
    assert_eq!(starts(), 3);
    std::fs::write(file("other"), "OTHER").unwrap();
    assert_eq!(starts(), 3);
}

#[test]
fn a_program_that_a_rule_denies_is_started_by_no_server() {
    for (denied, expected) in [
        (vec![], json!([0, 0, 0, 0, 0])),
        (vec!["Bash(touch:*)"], json!(["Permission denied", 126, 126, "Permission denied", 0])),
    ] {
        let env = Env::new();
        let made = |name: &str| env.path(name).to_str().unwrap().to_owned();
        let script = with(
            talks(),
            "run",
            json!([
                ["touch", made("1")],
                ["env", "touch", made("2")],
                ["sh", "-c", "exec touch \"$0\"", made("3")],
                ["/usr/bin/touch", made("4")],
                ["cp", "/dev/null", made("5")],
            ]),
        );
        let server = fake(&env.log_path(), &script);
        let settings = json!({
            "permissions": {"default": "allow", "deny": denied},
            "lsp": {"servers": {"fake": server}},
        });
        let env = env.under(settings);
        assert_eq!(env.hover().unwrap()["contents"], "hello");
        assert_eq!(env.told("fake/ran"), [expected]);
        let is_made = |name: &&str| env.path(name).exists();
        assert_eq!(["1", "2", "3", "4"].iter().any(is_made), denied.is_empty());
        assert!(is_made(&"5"), "what no rule denies starts");
    }
}

#[test]
fn a_server_that_may_run_code_of_the_project_asks_for_exactly_one_call() {
    let lsp = |log: &std::path::Path| {
        let mut server = fake(log, &talks());
        server["extensions"] = json!(["rs"]);
        json!({"servers": {"rust": server}})
    };
    let env = Env::new();
    let settings = json!({"lsp": lsp(&env.log_path())});
    let env = env.under(settings);
    env.file("a.rs", "fn main() {}\n");
    let call = |character: u64, approved: Option<&Value>| {
        let args = json!({"operation": "hover", "path": "a.rs", "line": 1, "character": character});
        let call = json!({"tool": "lsp", "args": args, "approved": approved});
        env.host.call(serde_json::from_value(call).unwrap(), CallOptions::default())
    };
    let CallOutcome::Ask(request) = call(1, None) else { panic!("it was not asked about") };
    assert_eq!(request["subject"], "LSP(a.rs)");
    assert!(env.log().is_empty(), "nothing has started");
    assert!(matches!(call(2, Some(&request["fingerprint"])), CallOutcome::Error(_)), "another call");
    assert!(matches!(call(1, Some(&request["fingerprint"])), CallOutcome::Ok(..)));
}

#[test]
fn a_file_that_rules_ask_about_has_a_server_of_its_own() {
    let env = Env::new();
    let settings = json!({
        "permissions": {"default": "allow", "ask": ["Read(secret.fake)"]},
        "lsp": {"servers": {"fake": fake(&env.log_path(), &talks())}},
    });
    let env = env.under(settings);
    env.file("secret.fake", "SECRET\n");
    env.hover().unwrap();
    let call = |approved: Option<&Value>| {
        let args = json!({"operation": "hover", "path": "secret.fake", "line": 1, "character": 1});
        let call = json!({"tool": "lsp", "args": args, "approved": approved});
        env.host.call(serde_json::from_value(call).unwrap(), CallOptions::default())
    };
    let CallOutcome::Ask(request) = call(None) else { panic!("it was not asked about") };
    assert!(matches!(call(Some(&request["fingerprint"])), CallOutcome::Ok(..)));
    env.hover().unwrap();
    let told: Vec<Value> = env.log().into_iter().map(|message| message["method"].clone()).collect();
    let count = |method: &str| told.iter().filter(|told| *told == method).count();
    assert_eq!((count("initialize"), count("textDocument/didOpen")), (2, 2), "{told:?}");
    // Diagnostics without a path do not come from the server of the approved file.
    let all = env.try_call("lsp_diagnostics", json!({})).unwrap();
    assert_eq!(all["servers"].as_array().unwrap().len(), 1, "{all}");
}

#[test]
fn servers_end_with_the_port() {
    let env = Env::fake(talks());
    let log = env.path("port.log");
    let bin = tempfile::TempDir::new_in("/var/tmp").unwrap();
    // The checkout may lie where the sandbox shows nothing.
    let server = bin.path().join("fake_server.py");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/lsp/fake_server.py"), &server).unwrap();
    let script = format!(
        "#!/bin/sh\nexec python3 {} {} '{}'\n",
        server.display(),
        log.display(),
        with(talks(), "hang", HOVER)
    );
    let program = bin.path().join("pylsp");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    env.file("a.py", "x = 1\n");
    let mut port = std::process::Command::new(crate::common::PROGRAM)
        .args([
            "call",
            "lsp",
            r#"{"operation": "hover", "path": "a.py", "line": 1, "character": 1}"#,
            "--workspace",
        ])
        .arg(env.dir.path())
        .env("PATH", format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap()))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mark = log.to_str().unwrap();
    wait_until(|| std::fs::read_to_string(&log).is_ok_and(|text| text.contains(HOVER)));
    assert!(!marked(mark).is_empty());
    port.kill().unwrap();
    port.wait().unwrap();
    wait_until(|| marked(mark).is_empty());
}
