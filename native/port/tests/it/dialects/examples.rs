//! The examples of the specifications, as they are written there: each is called, and each key of its answer is there, of
//! the type and, where the example says it, of the value that it has there.

use super::env::Env;
use super::server;
use beamai_engine::{CallOutcome, catalogue};
use beamai_tool::for_model::LIMIT;
use serde_json::{Map, Value, json};

/// Checks that a value has each key of the pattern: `"<string>"` and the like stand for any value of that type.
fn expect(value: &Value, pattern: &Value, at: &str) {
    match pattern {
        Value::Object(keys) => {
            for (key, pattern) in keys {
                let inner = value.get(key).unwrap_or_else(|| panic!("{at} has no key {key:?}: {value}"));
                expect(inner, pattern, &format!("{at}.{key}"));
            }
        }
        Value::Array(patterns) => {
            let items = value.as_array().unwrap_or_else(|| panic!("{at} is no list: {value}"));
            assert_eq!(items.len(), patterns.len(), "{at}: {value}");
            items.iter().zip(patterns).for_each(|(item, pattern)| expect(item, pattern, at));
        }
        Value::String(kind) if kind.starts_with('<') => {
            let fits = match kind.as_str() {
                "<string>" => value.is_string(),
                "<number>" => value.is_number(),
                "<boolean>" => value.is_boolean(),
                "<array>" => value.is_array(),
                other => panic!("there is no type {other}"),
            };
            assert!(fits, "{at} is {value}, not a {kind}");
        }
        exact => assert_eq!(value, exact, "{at}"),
    }
}

fn check(env: &Env, examples: &[(&str, Value, Value)]) {
    for (tool, args, pattern) in examples {
        expect(&env.call(tool, args.clone()), pattern, tool);
    }
}

#[test]
fn those_of_the_tool_abstraction() {
    let go = "func main() {\n    fmt.Println(\"Hello\")\n}\n";
    let env = Env::files("microai", &[("path/to/file.go", go), ("pkg/server.go", ""), ("docs/a.md", "")]);
    let (file, new) = (env.absolute("path/to/file.go"), env.absolute("path/to/new-file.go"));
    let todo = |content: &str, status: &str, form: &str| json!({"content": content, "status": status, "activeForm": form});
    let todos = json!([
        todo("Implement user authentication", "in_progress", "Implementing user authentication"),
        todo("Add unit tests", "pending", "Adding unit tests"),
        todo("Review security", "pending", "Reviewing security"),
    ]);
    let read = "     1\tfunc main() {\n     2\t    fmt.Println(\"Hello\")\n     3\t}";
    check(
        &env,
        &[
            ("Read", json!({"file_path": file}), json!({"content": read, "total_lines": 3})),
            (
                "Read",
                json!({"file_path": file, "offset": 2, "limit": 1}),
                json!({"content": "     2\t    fmt.Println(\"Hello\")"}),
            ),
            (
                "Glob",
                json!({"pattern": "**/*.go"}),
                json!({"files": ["path/to/file.go", "pkg/server.go"], "count": 2}),
            ),
            (
                "Glob",
                json!({"pattern": "*.md", "path": env.absolute("docs")}),
                json!({"files": ["docs/a.md"], "count": 1}),
            ),
            (
                "Write",
                json!({"file_path": new, "content": "package main\n\nfunc main() {}\n"}),
                json!({"success": true, "bytes_written": 29}),
            ),
            (
                "Edit",
                json!({"file_path": file, "old_string": "fmt.Println(\"Hello\")", "new_string": "fmt.Println(\"Hello, World!\")"}),
                json!({"success": true, "replacements": 1}),
            ),
            (
                "Grep",
                json!({"pattern": "func.*Error", "glob": "*.go", "output_mode": "content", "-n": true}),
                json!({"matches": [], "total_matches": 0}),
            ),
            (
                "Grep",
                json!({"pattern": "func.*main", "glob": "file.go"}),
                json!({"matches": [{"file": "<string>", "line_number": 1, "content": "func main() {"}], "total_matches": 1}),
            ),
            (
                "Bash",
                json!({"command": "git status", "timeout": 300_000}),
                json!({"stdout": "<string>", "stderr": "<string>", "exit_code": "<number>"}),
            ),
            ("TodoWrite", json!({"todos": todos}), json!({"success": true})),
            (
                "WebFetch",
                json!({"url": server::url("/page"), "prompt": "Extract the section about error handling"}),
                json!({"content": "<string>"}),
            ),
            (
                "WebSearch",
                json!({"query": "Go context cancellation best practices 2024", "allowed_domains": ["go.dev", "golang.org"]}),
                json!({"results": [{"title": "<string>", "url": "<string>", "snippet": "<string>"}]}),
            ),
        ],
    );
}

#[test]
fn the_one_of_questions() {
    let env = Env::new("microai");
    let option = |label: &str, description: &str| json!({"label": label, "description": description});
    let args = json!({"questions": [{
        "question": "Which database should we use?",
        "header": "Database",
        "options": [
            option("PostgreSQL", "Relational, ACID compliant"),
            option("MongoDB", "Document store, flexible schema"),
            option("Redis", "In-memory, key-value store"),
        ],
        "multiSelect": false,
    }]});
    let said =
        json!({"answers": {"outcome": "answered", "answers": {"Which database should we use?": "Redis"}}});
    let CallOutcome::Ok(answered, _) = env.outcome("AskUserQuestion", &args, said) else {
        panic!("no result")
    };
    expect(&answered, &json!({"answers": {"Which database should we use?": "Redis"}}), "AskUserQuestion");
}

#[test]
fn the_one_of_errors() {
    let env = Env::with("microai", json!({"deny": ["Read(.env)"]}));
    env.file(".env", "");
    let error = env.try_call("Read", &json!({"file_path": ".env"})).unwrap_err().to_value();
    let pattern = json!({
        "tool": "Read",
        "error_type": "permission_denied",
        "message": "<string>",
        "details": {"file": ".env", "matched_rule": "Read(.env)"},
    });
    expect(&error, &pattern, "error");
}

/// What the text protocol gives as `data`.
fn data(env: &Env, tool: &str, args: Value) -> Value {
    let result = env.call(tool, args.clone());
    let origin = catalogue::ToolOrigin::Dialect("ide");
    catalogue::object_for_model(origin, tool, args.as_object().unwrap(), &result, LIMIT).unwrap()
}

#[test]
fn those_of_the_text_protocol() {
    let package = "{\n  \"name\": \"my-app\",\n  \"version\": \"1.0.0\"\n}";
    let env = Env::files(
        "ide",
        &[("package.json", package), ("src/index.ts", ""), ("src/utils.ts", ""), ("test/test.ts", "")],
    );
    // The results there have no other keys.
    assert_eq!(
        data(&env, "read_file", json!({"path": "package.json"})),
        json!({"content": package, "lines": 4})
    );
    assert_eq!(
        data(&env, "list_files", json!({"directory": ".", "pattern": "**/*.ts"})),
        json!({"files": ["src/index.ts", "src/utils.ts", "test/test.ts"], "count": 3})
    );
    let error = env.try_call("read_file", &json!({"path": "missing-file.txt"})).unwrap_err();
    assert!(error.message.contains("missing-file.txt"), "{error}");
}

#[test]
fn the_matrix_of_the_coding_agent() {
    let env = Env::files("coder", &[("a.txt", "one\ntwo\n"), ("a.fake", "foo(a, b)\nfoo()\n")]);
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
    let at = json!({"path": "a.fake", "line": 1, "character": 1});
    check(
        &env,
        &[
            (
                "read",
                json!({"path": "a.txt"}),
                json!({"content": "one\ntwo\n", "start_line": 1, "end_line": 2, "has_more": false}),
            ),
            ("list", json!({}), json!({"entries": [{"name": "a.fake"}, {"name": "a.txt"}]})),
            ("glob", json!({"pattern": "*.txt"}), json!({"matches": ["a.txt"]})),
            ("grep", json!({"pattern": "two"}), json!({"matches": [{"content": "two"}], "count": 1})),
            (
                "write",
                json!({"path": "b", "content": "x\n"}),
                json!({"operation": "created", "diff": "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n", "additions": 1, "deletions": 0}),
            ),
            (
                "edit",
                json!({"path": "b", "old_string": "x", "new_string": "y"}),
                json!({"replacements": 1, "diff": "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n"}),
            ),
            (
                "patch",
                json!({"patch": patch, "dry_run": true}),
                json!({"applied": false, "files": [{"path": "a.txt"}]}),
            ),
            ("patch", json!({"patch": patch}), json!({"applied": true, "files": [{"path": "a.txt"}]})),
            (
                "bash",
                json!({"command": "echo hi"}),
                json!({"exit_code": 0, "stdout": "hi\n", "stderr": "", "truncated": false, "duration_ms": "<number>"}),
            ),
            ("todowrite", json!({"todos": [{"content": "a"}]}), json!({"todos": [{"content": "a"}]})),
            ("todoread", json!({}), json!({"todos": [{"content": "a", "status": "pending"}]})),
            ("skill", json!({"action": "list"}), json!({"skills": "<array>"})),
            ("lsp_diagnostics", json!({"path": "a.fake"}), json!({"diagnostics": "<array>"})),
            (
                "lsp_definition",
                at.clone(),
                json!({"location": {"path": "a.fake", "line": 2, "character": 1}}),
            ),
            ("lsp_hover", at, json!({"contents": "fn foo()"})),
            ("git_status", json!({"short": true}), json!({"content": "<string>"})),
            ("git_diff", json!({"staged": true}), json!({"content": "<string>"})),
            ("git_log", json!({"limit": 1, "oneline": true}), json!({"content": "<string>"})),
            (
                "fetch",
                json!({"url": server::url("/page")}),
                json!({"url": "<string>", "status_code": 200, "content_type": "text/html; charset=utf-8", "is_image": false,
                    "content": "Hello **you**", "size_bytes": 39}),
            ),
        ],
    );
}

#[test]
fn the_source_of_a_page_comes_on_demand() {
    let env = Env::new("coder");
    let page = env.call("fetch", json!({"url": server::url("/page"), "as": "html"}));
    assert!(page["content"].as_str().unwrap().contains("<b>you</b>"), "{page}");
}

#[test]
fn a_long_resource_is_limited_for_models_more_than_for_programs() {
    let env = Env::new("coder");
    let args = json!({"url": server::url("/long")});
    let fetched = env.call("fetch", args.clone());
    assert_eq!(fetched["content"].as_str().unwrap().len(), 100 << 10);
    let origin = catalogue::ToolOrigin::Dialect("coder");
    let args: &Map<String, Value> = args.as_object().unwrap();
    let text = catalogue::text_for_model(origin, "fetch", args, &fetched, LIMIT).unwrap();
    assert!(text.chars().count() <= 30_000 && text.contains("[characters 1 to "), "{}", text.len());
}
