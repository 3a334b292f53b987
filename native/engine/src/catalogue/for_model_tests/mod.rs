//! Results as a model sees them: the rendering of each operation, and the common length limit.

mod changes;
mod limit;
mod search;

use super::{ToolOrigin, dialects, object_for_model, text_for_model};
use crate::catalogue;
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
fn a_hash_that_no_text_shows_is_said_to_be_for_programs() {
    for tool in ["file_edit", "file_write"] {
        let tool = catalogue::find(tool, Some("beamai")).unwrap();
        let text = tool.parameters()["expected_hash"].description.clone().unwrap();
        assert!(text.ends_with("For programs: texts show none."), "{text}");
    }
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
        ran(json!({"exit_code": 1, "held_paths": "yourself"})),
        "out\n[exit code 1]\n[commands cannot move or delete git repositories that were here before, nor protected files: tell the \
         user]"
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
