//! What a language server is told of files, and what it says is wrong with them.
#![cfg(target_os = "linux")]

use crate::{common::wait_until, lsp_env::Env};
use beamai_engine::CallOptions;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn publishes(pieces: Value) -> Value {
    json!({"publish": pieces, "answer": {"textDocument/hover": {"contents": "hello"}}})
}

fn prompt() -> Value {
    publishes(json!([[0, "current", ["wrong"]]]))
}

fn messages(answer: &Value) -> Vec<&str> {
    let all = answer["diagnostics"].as_array().unwrap();
    all.iter().map(|one| one["message"].as_str().unwrap()).collect()
}

#[test]
fn an_edit_is_told_before_the_next_request_whoever_made_it() {
    let env = Env::fake(prompt());
    env.hover().unwrap();
    let args = json!({"path": "a.fake", "old_string": "foo(a", "new_string": "bar(ä"});
    env.try_call("file_edit", args).unwrap();
    env.hover().unwrap();
    let change = &env.told("textDocument/didChange")[0];
    assert_eq!(change["textDocument"]["version"], 2);
    assert_eq!(change["contentChanges"], json!([{"text": "bar(ä, b)\nfoo()\n"}]));
    assert_eq!(env.told("textDocument/didSave")[0]["text"], "bar(ä, b)\nfoo()\n");
    env.hover().unwrap();
    assert_eq!(env.told("textDocument/didChange").len(), 1, "nothing changed since");
    env.try_call("shell_exec", json!({"command": "echo baz > a.fake"})).unwrap();
    env.hover().unwrap();
    assert_eq!(env.told("textDocument/didChange")[1]["contentChanges"], json!([{"text": "baz\n"}]));
}

#[test]
fn a_change_that_no_date_shows_is_seen_all_the_same() {
    let env = Env::fake(prompt());
    env.file("b.fake", "old\n");
    env.diagnostics("b.fake");
    let stat = std::fs::metadata(env.path("b.fake")).unwrap();
    env.file("b.fake", "new\n");
    let file = std::fs::File::open(env.path("b.fake")).unwrap();
    file.set_modified(stat.modified().unwrap()).unwrap();
    env.hover().unwrap();
    assert_eq!(env.told("textDocument/didChange")[0]["contentChanges"], json!([{"text": "new\n"}]));
}

#[test]
fn an_open_file_that_is_gone_is_closed() {
    let env = Env::fake(prompt());
    env.file("b.fake", "x\n");
    env.diagnostics("b.fake");
    std::fs::remove_file(env.path("b.fake")).unwrap();
    env.hover().unwrap();
    assert!(
        env.told("textDocument/didClose")[0]["textDocument"]["uri"].as_str().unwrap().ends_with("/b.fake")
    );
    let all = env.try_call("lsp_diagnostics", json!({})).unwrap();
    assert!(all["diagnostics"].as_array().unwrap().iter().all(|one| one["path"] == "a.fake"), "{all}");
}

#[test]
fn changes_of_files_that_are_not_open_are_told_too() {
    let env = Env::fake(prompt());
    env.file("old.fake", "x\n");
    env.file("gone.fake", "x\n");
    env.file("other.txt", "x\n");
    env.hover().unwrap();
    env.file("dir/new.fake", "x\n");
    env.file("old.fake", "longer\n");
    env.file("other.txt", "longer\n");
    std::fs::remove_file(env.path("gone.fake")).unwrap();
    env.hover().unwrap();
    let mut changes: Vec<(String, u64)> = env.told("workspace/didChangeWatchedFiles")[0]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            let uri = change["uri"].as_str().unwrap();
            (uri.rsplit('/').next().unwrap().to_owned(), change["type"].as_u64().unwrap())
        })
        .collect();
    changes.sort();
    assert_eq!(
        changes,
        [("gone.fake".to_owned(), 3), ("new.fake".to_owned(), 1), ("old.fake".to_owned(), 2)]
    );
}

#[test]
fn text_is_told_decoded_whatever_the_encoding_of_the_file() {
    let env = Env::fake(prompt());
    env.file("latin.fake", b"# d\xE9j\xE0 vu, caf\xE9, na\xEFve, \xE9t\xE9\n");
    env.diagnostics("latin.fake");
    assert_eq!(env.told("textDocument/didOpen")[0]["textDocument"]["text"], "# déjà vu, café, naïve, été\n");
}

#[test]
fn diagnostics_have_every_field() {
    let env = Env::fake(publishes(json!([[0, "current", ["wrong"]]])));
    let answer = env.diagnostics("a.fake");
    let expected = json!([{"path": "a.fake", "line": 1, "character": 1, "end_line": 1, "end_character": 2,
                           "severity": "error", "message": "wrong", "source": null, "code": null}]);
    assert_eq!(answer["diagnostics"], expected);
    assert_eq!(
        (&answer["complete"], &answer["total"], &answer["truncated"]),
        (&json!(true), &json!(1), &json!(false))
    );
    assert_eq!(answer["servers"], json!(["python3"]));
    assert_eq!(answer.get("message"), None);
}

#[test]
fn what_is_late_and_about_an_older_text_is_not_taken_for_the_truth() {
    let env = Env::fake(publishes(json!([[100, 0, ["stale"]], [700, "current", ["true"]]])));
    assert_eq!(messages(&env.diagnostics("a.fake")), ["true"]);
}

#[test]
fn a_server_that_says_it_in_pieces_is_heard_to_the_end() {
    let env = Env::fake(publishes(json!([[50, "none", ["syntax"]], [200, "none", ["syntax", "types"]]])));
    assert_eq!(messages(&env.diagnostics("a.fake")), ["syntax", "types"]);
}

#[test]
fn after_a_change_nothing_old_is_given() {
    let env = Env::fake(publishes(json!([[300, "current", ["wrong"]]])));
    env.diagnostics("a.fake");
    let opened = env.told("textDocument/didOpen").len();
    env.file("a.fake", "fixed\n");
    let start = Instant::now();
    env.diagnostics("a.fake");
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert_eq!((opened, env.told("textDocument/didChange").len()), (1, 1));
}

#[test]
fn what_is_known_already_comes_at_once() {
    let env = Env::fake(prompt());
    env.diagnostics("a.fake");
    let start = Instant::now();
    assert_eq!(messages(&env.diagnostics("a.fake")), ["wrong"]);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_has_not_said_all_in_time_is_named() {
    let env = Env::fake(publishes(json!([])));
    let args = json!({"path": "a.fake"});
    let answer = env.run("lsp_diagnostics", args, Some(2500), CallOptions::default()).unwrap();
    assert_eq!((&answer["complete"], &answer["available"]), (&json!(false), &json!(true)));
    assert!(answer["message"].as_str().unwrap().contains("python3 had not finished in time"), "{answer}");
}

#[test]
fn a_server_that_wants_to_be_asked_is_asked() {
    let place = json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}});
    let item = json!({"range": place, "message": "pulled", "severity": 2, "source": "fake", "code": 7});
    let env = Env::fake(json!({
        "capabilities": {"diagnosticProvider": {"identifier": "id", "interFileDependencies": false}},
        "answer": {"textDocument/diagnostic": {"kind": "full", "items": [item]}},
    }));
    let answer = env.diagnostics("a.fake");
    let one = &answer["diagnostics"][0];
    assert_eq!((&one["line"], &one["severity"], &one["code"]), (&json!(2), &json!("warning"), &json!("7")));
    assert_eq!((&answer["complete"], &answer["total"]), (&json!(true), &json!(1)));
    assert_eq!(env.told("textDocument/diagnostic")[0]["identifier"], "id");
}

#[test]
fn without_a_file_every_file_known_to_the_servers_is_told_of() {
    let env = Env::fake(prompt());
    let nothing = env.try_call("lsp_diagnostics", json!({})).unwrap();
    assert_eq!((&nothing["available"], &nothing["diagnostics"]), (&json!(false), &json!([])));
    assert!(nothing["message"].as_str().unwrap().contains("name a file, and the server"), "{nothing}");
    env.file("b.fake", "x\n");
    env.hover().unwrap();
    env.diagnostics("b.fake");
    let all = env.try_call("lsp_diagnostics", json!({})).unwrap();
    let paths: Vec<&Value> = all["diagnostics"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, ["a.fake", "b.fake"]);
    assert_eq!((&all["complete"], &all["servers"]), (&json!(true), &json!(["python3"])));
}

#[test]
fn more_open_files_than_a_server_should_hold_are_closed_oldest_first() {
    let env = Env::fake(prompt());
    for number in 0..103 {
        env.file(format!("{number}.fake"), "x\n");
    }
    for number in 0..103 {
        let args = json!({"operation": "hover", "path": format!("{number}.fake"), "line": 1, "character": 1});
        env.lsp(args);
    }
    wait_until(|| env.told("textDocument/didClose").len() == 3);
    let closed = env.told("textDocument/didClose");
    let names: Vec<&str> = closed.iter().map(|one| one["textDocument"]["uri"].as_str().unwrap()).collect();
    assert!(names[0].ends_with("/0.fake") && names[2].ends_with("/2.fake"), "{names:?}");
}
