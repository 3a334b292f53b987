//! `beamai-port mcp` as a program: its command line, revisions of the protocol, bad messages, and how it ends.

pub(crate) mod client;
mod http;

use crate::common::{marked, marker, wait_until};
use client::{Client, World, initialize};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A command that runs for long, with the mark in its environment.
fn sleeper(mark: &str) -> Value {
    json!({"command": "setsid sleep 1000 & sleep 1000", "env": {"MARK": mark}})
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// What a request says of its client since revision 2026-07-28.
fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

#[test]
fn every_revision_is_spoken() {
    let world = World::new();
    let newest = "2025-11-25";
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        (newest, newest),
        ("1999-01-01", newest),
        // This one has no handshake.
        ("2026-07-28", newest),
    ] {
        let mut client = world.client(&["--structured"]);
        let result = client.initialize(asked);
        assert_eq!(result["protocolVersion"], spoken);
        assert_eq!(result["capabilities"], json!({"tools": {}}));
        assert_eq!(result["serverInfo"], json!({"name": "beamai", "version": env!("CARGO_PKG_VERSION")}));
        let read = client.call("file_read", json!({"path": "a.txt"}));
        assert_eq!(read["structuredContent"]["content"], "one\n", "{asked}");
        assert!(client.end().0.success());
    }
}

#[test]
fn a_result_is_text_for_a_model_and_structured_on_demand() {
    let world = World::new();
    let read = |options: &[&str]| {
        let mut client = world.connected(options);
        let tools = client.request("tools/list", json!({}));
        let has_schema = tools["result"]["tools"][0].get("outputSchema").is_some();
        (client.call("file_read", json!({"path": "a.txt"})), has_schema)
    };
    let (result, has_schema) = read(&[]);
    assert_eq!(result["content"], json!([{"type": "text", "text": "one"}]));
    assert!(result.get("structuredContent").is_none() && !has_schema, "{result}");
    let (result, has_schema) = read(&["--structured"]);
    assert_eq!(result["content"][0]["text"], "one");
    assert!(result["structuredContent"]["hash"].is_string() && has_schema, "{result}");
}

#[test]
fn an_unknown_tool_is_answered_with_tools_that_are_listed() {
    let world = World::new();
    let mut client = world.connected(&["--dialect", "microai"]);
    let list = client.request("tools/list", json!({}));
    let listed: Vec<&str> =
        list["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    // There is no search engine, and this client cannot ask its user.
    let unlisted = ["Task", "WebSearch", "AskUserQuestion"];
    assert!(listed.contains(&"Read") && unlisted.iter().all(|name| !listed.contains(name)), "{listed:?}");
    let answer = client.request("tools/call", json!({"name": "zzzz", "arguments": {}}));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.ends_with(&format!("there are: {}", listed.join(", "))), "{message}");
}

#[test]
fn a_result_is_cut_at_the_limit_and_says_how_to_go_on() {
    let world = World::new();
    let lines: String = (1..=9_000).map(|number| format!("line {number}\n")).collect();
    std::fs::write(world.dir.path().join("workspace/long.txt"), lines).unwrap();
    for (options, limit) in [(&[][..], 30_000), (&["--result-limit", "1000"][..], 1_000)] {
        let mut client = world.connected(options);
        let result = client.call("file_read", json!({"path": "long.txt", "limit": 9000}));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.chars().count() <= limit, "{}", text.chars().count());
        let (last, next) = text.rsplit_once("; continue with \"offset\":").unwrap();
        let offset: u64 = next.strip_suffix("]").unwrap().parse().unwrap();
        let args = json!({"path": "long.txt", "limit": 9000, "offset": offset});
        let first = format!("line {}", args["offset"]);
        let shown = last.lines().rev().nth(1).unwrap().to_owned();
        assert_eq!(shown, format!("line {}", args["offset"].as_u64().unwrap() - 1));
        let rest = client.call("file_read", args);
        assert!(rest["content"][0]["text"].as_str().unwrap().starts_with(&first), "{first}");
    }
}

#[test]
fn the_newest_revision_needs_no_handshake() {
    let world = World::new();
    let mut client = world.client(&["--structured"]);
    let found = client.request("server/discover", json!({"_meta": meta(json!({}))}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(["2024-11-05", "2025-11-25", "2026-07-28"].iter().all(|one| versions.contains(&json!(one))));
    let params = json!({"name": "file_read", "arguments": {"path": "a.txt"}, "_meta": meta(json!({}))});
    let answer = client.request("tools/call", params);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["content"], "one\n");
}

#[test]
fn an_approval_holds_for_the_call_that_it_was_given_for() {
    let world = World::new();
    let mut client = world.client(&[]);
    let mut write = |content: &str, more: Value| {
        let mut params = json!({
            "name": "file_write",
            "arguments": {"path": "w.txt", "content": content},
            "_meta": meta(json!({"elicitation": {"form": {}}})),
        });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request("tools/call", params)
    };
    let asked = write("x", json!({}))["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["approval"]["method"], "elicitation/create");
    let yes = json!({"approval": {"action": "accept", "content": {"decision": "allow"}}});
    let state = &asked["requestState"];
    // The answer for one call does not do for another one, nor without what was asked.
    for more in [json!({"inputResponses": yes, "requestState": state}), json!({"inputResponses": yes})] {
        assert_eq!(write("other", more)["result"]["resultType"], "input_required");
    }
    let nonsense = write("x", json!({"inputResponses": yes, "requestState": "nonsense"}));
    assert_eq!(nonsense["error"]["code"], -32602, "{nonsense}");
    assert_eq!(world.file("w.txt"), None);
    let no = json!({"approval": {"action": "decline"}});
    let refused = write("x", json!({"inputResponses": no, "requestState": state}));
    assert_eq!(refused["result"]["_meta"]["beamai/error"]["details"]["reason"], "denied", "{refused}");
    write("x", json!({"inputResponses": yes, "requestState": state}));
    assert_eq!(world.file("w.txt").as_deref(), Some("x"));
}

#[test]
fn a_question_is_taken_back_when_its_call_is_cancelled() {
    let world = World::new();
    let mut client = world.client(&[]);
    initialize_with_questions(&mut client);
    client.begin(1, "file_write", json!({"path": "w.txt", "content": "x"}));
    let asked = client.hear();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    cancel_and_answer_too_late(&mut client, &asked);
    assert!(client.end().1.is_empty());
    assert_eq!(world.file("w.txt"), None);
}

#[test]
fn a_rule_for_always_is_offered_for_fetches_and_commits_and_holds_for_the_session() {
    let world = World::new();
    let mut client = world.client(&[]);
    initialize_with_questions(&mut client);
    let fetch = |path: &str| json!({"url": format!("http://127.0.0.1:1/{path}")});
    let commit = |message: &str| json!({"message": message});
    for (number, tool, first, second, rule) in [
        (1, "web_fetch", fetch("a"), fetch("b"), "WebFetch(http://127.0.0.1:1/*)"),
        (3, "git_commit", commit("a"), commit("b"), "GitCommit"),
    ] {
        client.begin(number, tool, first);
        let asked = client.hear();
        let choice = format!("allow for this session: {rule}");
        let choices = &asked["params"]["requestedSchema"]["properties"]["decision"]["enum"];
        assert!(choices.as_array().unwrap().contains(&json!(choice)), "{asked}");
        let content = json!({"decision": choice});
        client.send(
            &json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": content}}),
        );
        assert_eq!(client.hear()["id"], number);
        client.begin(number + 1, tool, second);
        let unasked = client.hear();
        assert_eq!(unasked["id"], number + 1, "{unasked}");
    }
}

/// Opens a session of a client that can show questions to its user.
fn initialize_with_questions(client: &mut Client) {
    let mut hello = initialize("2025-06-18");
    hello["capabilities"] = json!({"elicitation": {}});
    client.request("initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
}

/// Cancels the call with the id 1, whose question is withdrawn then, and answers the question all the same.
fn cancel_and_answer_too_late(client: &mut Client, asked: &Value) {
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let taken_back = client.hear();
    assert_eq!(taken_back["method"], "notifications/cancelled", "{taken_back}");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    let yes = json!({"action": "accept", "content": {"decision": "allow"}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes}));
    client.assert_lives();
}

/// A client whose command is about to start a program that no rule covers; the question about it, and the workspace.
/// The call has the id 1.
fn asked_about_a_start(world: &World) -> (Client, Value) {
    let mut client =
        world.client(&["--allow", "Bash(awk:*)", "--allow", "Bash(echo:*)", "--allow", "Write(**)"]);
    initialize_with_questions(&mut client);
    let command = "awk 'BEGIN { exit system(\"touch hit\") }'; echo $? > after";
    client.begin(1, "shell_exec", json!({"command": command}));
    let asked = client.hear();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    (client, asked)
}

/// Whether a process has this working directory.
fn has_processes_in(directory: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|process| process.path().join("cwd").read_link())
        .any(|cwd| cwd.is_ok_and(|cwd| cwd == directory))
}

#[test]
fn a_start_goes_on_if_the_user_allows_it_and_only_then() {
    let content = json!({"decision": "allow"});
    for (answer, is_started) in [
        (json!({"action": "accept", "content": content}), true),
        (json!({"action": "accept", "content": {"decision": "deny"}}), false),
        (json!({"action": "decline", "content": content}), false),
        // The user closed the question.
        (json!({"action": "cancel", "content": content}), false),
        (json!({"action": "cancel"}), false),
    ] {
        let world = World::new();
        let (mut client, asked) = asked_about_a_start(&world);
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
        let ended = client.hear();
        assert_eq!(ended["id"], 1, "{ended}");
        assert_eq!(world.file("hit").is_some(), is_started, "{answer}: {ended}");
        assert_eq!(world.file("after").as_deref() == Some("0\n"), is_started, "{answer}: {ended}");
    }
}

#[test]
fn a_start_that_the_client_could_not_ask_about_was_not_refused_by_the_user() {
    let world = World::new();
    let (mut client, asked) = asked_about_a_start(&world);
    let error = json!({"code": -32603, "message": "no display"});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    let ended = client.hear().to_string();
    assert!(ended.contains("the client could not ask") && ended.contains("no display"), "{ended}");
    assert_eq!(world.file("hit"), None);
}

#[test]
fn a_start_does_not_happen_when_its_call_is_cancelled_and_the_command_ends() {
    let world = World::new();
    let (mut client, asked) = asked_about_a_start(&world);
    let workspace = world.dir.path().join("workspace").canonicalize().unwrap();
    assert!(has_processes_in(&workspace));
    cancel_and_answer_too_late(&mut client, &asked);
    wait_until(|| !has_processes_in(&workspace));
    assert!(client.end().1.is_empty());
    assert_eq!([world.file("hit"), world.file("after")], [None, None]);
}

#[test]
fn what_cannot_be_read_is_answered_and_ends_nothing() {
    let world = World::new();
    let mut client = world.connected(&[]);
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let deep_arguments = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"file_read","arguments":{{"path":{deep}}}}}}}"#
    );
    for (line, code) in [
        ("nonsense", -32700),
        ("{", -32700),
        ("\u{0}", -32700),
        (&deep, -32700),
        (&deep_arguments, -32700),
        ("5", -32600),
        ("[]", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","id":[],"method":"ping"}"#, -32600),
    ] {
        client.line(line);
        let answer = client.hear();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null), "{answer}");
        client.assert_lives();
    }
    for (method, params, code) in [
        ("nonsense", json!({}), -32601),
        ("logging/setLevel", json!({"level": "info"}), -32601),
        ("tools/call", json!([]), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        ("tools/call", json!({"name": "file_read", "arguments": []}), -32602),
        ("tools/call", json!({"name": "task", "arguments": {}}), -32602),
        ("tools/call", json!({"name": "file_reed"}), -32602),
    ] {
        let answer = client.request(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    client.line("");
    client.assert_lives();
}

#[test]
fn a_message_of_too_many_values_is_refused_before_it_takes_memory() {
    let world = World::new();
    let mut client = world.connected(&[]);
    let before = client.peak_memory();
    for (value, what) in [(r#"{"":0}"#, "500000 values"), ("{}", "200000 objects")] {
        let values = vec![value; 2_000_000].join(",");
        client
            .line(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"x":[{values}]}}}}"#));
        let answer = client.hear();
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(what), "{answer}");
        client.assert_lives();
    }
    let grown = client.peak_memory() - before;
    assert!(grown < 200 << 20, "{grown} bytes");
    // Texts may be long.
    let text = r#"{"":0},"#.repeat(2_000_000);
    let answer = client.request("tools/call", json!({"name": "file_reed", "arguments": {"path": text}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// A call of a tool with a quarter of a million values beside its arguments.
fn large(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"x": vec![0; 250_000]}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[test]
fn open_messages_are_bounded_together() {
    let (world, mark) = (World::new(), marker());
    let mut client = world.connected(&["--allow", "Bash"]);
    let read = |id| large(id, "file_read", &json!({"path": "a.txt"}));
    for id in 11..=12 {
        client.send(&large(id, "shell_exec", &sleeper(&mark)));
    }
    client.send(&read(13));
    let answer = client.hear();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(13), &json!(-32000)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("send it again"), "{answer}");
    client.assert_lives();
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 11}}));
    wait_until(|| {
        client.send(&read(14));
        let answer = client.hear();
        assert_eq!(answer["id"], 14, "{answer}");
        answer.get("result").is_some()
    });
    // Notifications give back their part, too.
    let notification =
        json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": vec![0; 250_000]}});
    for _ in 0..20 {
        // The one before may still have its part, although the answer to a request after it has come.
        wait_until(|| {
            client.send(&notification);
            client.send(&json!({"jsonrpc": "2.0", "id": 15, "method": "ping"}));
            let first = client.hear();
            let is_taken = first["id"] == 15;
            if !is_taken {
                assert_eq!(
                    (&first["error"]["code"], &client.hear()["id"]),
                    (&json!(-32000), &json!(15)),
                    "{first}"
                );
            }
            is_taken
        });
    }
    client.assert_lives();
}

#[test]
fn a_line_without_end_is_forgotten() {
    let world = World::new();
    let mut client = world.connected(&[]);
    client.line(&"x".repeat(65 << 20));
    assert_eq!(client.hear()["error"]["code"], -32600);
    client.assert_lives();
}

#[test]
fn what_comes_before_the_handshake_ends_nothing() {
    let world = World::new();
    let mut client = world.client(&[]);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    client.assert_lives();
    assert_eq!(client.request("tools/list", json!({}))["error"]["code"], -32602);
    client.initialize("2025-06-18");
    client.assert_lives();
}

#[test]
fn a_page_that_is_not_there_is_refused() {
    let world = World::new();
    let mut client = world.connected(&[]);
    assert_eq!(client.request("tools/list", json!({"cursor": "2"}))["error"]["code"], -32602);
    assert!(client.request("tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn several_messages_may_come_in_one_line() {
    let world = World::new();
    let mut client = world.client(&[]);
    client.initialize("2025-03-26");
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    client.send(&json!([ping(1), ping(2)]));
    let mut ids = [client.hear()["id"].as_u64(), client.hear()["id"].as_u64()];
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2)]);
}

#[test]
fn an_id_is_of_one_request_at_a_time() {
    let (world, mark) = (World::new(), marker());
    let mut client = world.connected(&["--allow", "Bash"]);
    client.begin(5, "shell_exec", sleeper(&mark));
    wait_until(|| marked(&mark).len() > 1);
    client.begin(5, "file_read", json!({"path": "a.txt"}));
    let refused = client.hear();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &Value::Null), "{refused}");
    assert!(marked(&mark).len() > 1, "the first one goes on");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}));
    // What was cancelled has no answer, and its id is free at once.
    client.begin(5, "file_read", json!({"path": "a.txt"}));
    let answer = client.hear();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(5), &json!(false)), "{answer}");
    assert!(client.end().1.is_empty());
}

#[test]
fn what_is_asked_in_one_go_is_answered() {
    let world = World::new();
    let mut client = world.client(&["--allow", "Bash"]);
    client.initialize("2025-11-25");
    client.begin(1, "file_read", json!({"path": "a.txt"}));
    client.begin(2, "shell_exec", json!({"command": "echo on"}));
    let (status, heard) = client.end();
    assert!(status.success());
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard.iter().all(|answer| answer["result"]["isError"] == false), "{heard:?}");
}

/// A client whose server runs two commands, one of them in the background.
fn busy(world: &World, mark: &str) -> Client {
    let mut client = world.connected(&["--allow", "Bash"]);
    let mut background = sleeper(mark);
    background["run_in_background"] = json!(true);
    assert_eq!(client.call("shell_exec", background)["isError"], false);
    client.begin(1, "shell_exec", sleeper(mark));
    wait_until(|| marked(mark).len() > 3);
    client
}

#[test]
fn the_end_of_input_ends_everything() {
    let (world, mark) = (World::new(), marker());
    let client = busy(&world, &mark);
    assert!(world.has_temp_dirs());
    let (status, heard) = client.end();
    assert!(status.success());
    let error = &heard[0]["result"]["_meta"]["beamai/error"];
    assert_eq!(error["details"]["reason"], "cancelled", "{heard:?}");
    wait_until(|| marked(&mark).is_empty());
    assert!(!world.has_temp_dirs());
}

#[test]
fn a_program_that_is_told_to_end_leaves_nothing_behind() {
    for name in ["-TERM", "-INT", "-HUP", "-QUIT"] {
        let (world, mark) = (World::new(), marker());
        let mut client = world.connected(&["--allow", "Bash"]);
        client.begin(1, "shell_exec", sleeper(&mark));
        wait_until(|| marked(&mark).len() > 1);
        signal(name, client.child.id());
        assert!(client.child.wait().unwrap().success(), "{name}");
        wait_until(|| marked(&mark).is_empty());
        assert!(!world.has_temp_dirs(), "{name}");
    }
}

/// Leaves a program for the person's git, says so, and stays.
const PLANT: &str = "git init -q r && git -C r config core.fsmonitor x && touch ready && sleep 1000";

#[test]
fn a_program_that_is_told_to_end_cleans_up_before_it_ends() {
    for (name, in_background) in ["-TERM", "-INT", "-HUP", "-QUIT"].iter().zip([false, false, true, false]) {
        let world = World::new();
        let mut client = world.connected(&["--allow", "Bash"]);
        client.begin(1, "shell_exec", json!({"command": PLANT, "run_in_background": in_background}));
        wait_until(|| world.file("ready").is_some());
        signal(name, client.child.id());
        assert!(client.child.wait().unwrap().success(), "{name}");
        let settings = world.file("r/.git/config").unwrap();
        assert!(!settings.contains("fsmonitor"), "{name}: {settings}");
    }
}

#[test]
fn a_program_that_is_killed_leaves_no_process_behind_and_nothing_for_long() {
    let (world, mark) = (World::new(), marker());
    let mut client = busy(&world, &mark);
    signal("-KILL", client.child.id());
    assert!(!client.child.wait().unwrap().success());
    wait_until(|| marked(&mark).is_empty());
    assert!(world.has_temp_dirs());
    // What it could not delete itself, the next one does.
    world.connected(&[]).assert_lives();
    assert!(!world.has_temp_dirs());
}

#[test]
fn a_temporary_directory_that_a_command_removes_is_made_anew() {
    let world = World::new();
    let mut client = world.connected(&["--allow", "Bash", "--sandbox", "off", "--structured"]);
    let removed = client.call("shell_exec", json!({"command": "rm -r \"$TMPDIR\""}));
    assert_eq!(removed["structuredContent"]["exit_code"], 0, "{removed}");
    let again = client.call("shell_exec", json!({"command": "touch \"$TMPDIR/x\""}));
    assert_eq!(again["structuredContent"]["exit_code"], 0, "{again}");
}

#[test]
fn tasks_are_kept_for_the_connection() {
    let world = World::new();
    let mut client = world.connected(&["--structured"]);
    for number in 0..3 {
        client.begin(number, "todo_add", json!({"content": format!("task {number}")}));
    }
    (0..3).for_each(|_| assert_eq!(client.hear()["result"]["isError"], false));
    let list = client.call("todo_list", json!({}));
    assert_eq!(list["structuredContent"]["count"], 3, "{list}");
    let mut other = world.connected(&["--structured"]);
    assert_eq!(other.call("todo_list", json!({}))["structuredContent"]["count"], 0);
}

#[test]
fn a_command_line_that_means_nothing_is_refused() {
    let world = World::new();
    for (options, said) in [
        (&["--none"][..], "--none"),
        (&["more"], "more"),
        (&["--dialect", "none"], "possible values: beamai, microai"),
        (&["--allow", "Bash("], "Bash("),
        (&["--default", "perhaps"], "possible values: auto, allow"),
        (&["--sandbox", "perhaps"], "there is no sandbox"),
        (&["--settings", "/none"], "/none"),
        (&["--workspace", "/none"], "/none"),
        (&["--allow-address", "localhost"], "is not an address"),
        (&["--http", "0.0.0.0:0"], "no authentication"),
        (&["--http", "8080"], "is not an address"),
    ] {
        let output = world.command(options).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {text}");
        assert!(text.contains(said) && output.stdout.is_empty(), "{options:?}: {text}");
    }
    let help = world.command(&["--help"]).output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(help.status.success());
    for option in
        ["--http", "--dialect", "--workspace", "--allow ", "--ask", "--deny", "--default", "--settings"]
    {
        assert!(text.contains(option), "{option}");
    }
}
