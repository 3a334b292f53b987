//! What rules on files must never let through: first shown to work where it is allowed, then refused.

use beamai_base::{Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Env(TempDir);

const SECRET: &str = "the secret key\n";

impl Env {
    fn new() -> Self {
        let env = Self(TempDir::new().unwrap());
        for directory in ["src", "secrets"] {
            std::fs::create_dir(env.path(directory)).unwrap();
        }
        for (path, content) in [
            ("k.pem", SECRET),
            (".env", SECRET),
            ("secrets/a", SECRET),
            ("src/a.rs", "fn main() {}\n"),
            ("notes.txt", "the secret of good notes\n"),
        ] {
            std::fs::write(env.path(path), content).unwrap();
        }
        for (target, link) in
            [("k.pem", "plain.txt"), ("../k.pem", "src/link"), ("secrets", "open"), ("notes.txt", "k2.pem")]
        {
            std::os::unix::fs::symlink(target, env.path(link)).unwrap();
        }
        env
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    fn try_host(&self, permissions: Value) -> Result<Host, ToolError> {
        let id = Workspace::open(self.0.path()).unwrap().id();
        let settings: HostSettings =
            serde_json::from_value(json!({"workspace": id, "permissions": permissions})).unwrap();
        Host::new(&settings, std::sync::Arc::default())
    }

    fn call(&self, permissions: Value, tool: &str, args: Value) -> CallOutcome {
        let call: CallRequest = serde_json::from_value(json!({"tool": tool, "args": args})).unwrap();
        self.try_host(permissions).unwrap().call(call, CallOptions::default())
    }

    #[track_caller]
    fn ok(&self, permissions: Value, tool: &str, args: Value) -> Value {
        match self.call(permissions, tool, args) {
            CallOutcome::Ok(value, _) => value,
            other => panic!("{other:?}"),
        }
    }

    /// The rule that denies the call.
    #[track_caller]
    fn denied_by(&self, permissions: Value, tool: &str, args: Value) -> String {
        match self.call(permissions, tool, args) {
            CallOutcome::Error(error) if error.reason == Reason::Denied => {
                error.details["matched_rule"].as_str().unwrap_or("the mode").to_owned()
            }
            other => panic!("{other:?}"),
        }
    }
}

fn open() -> Value {
    json!({"default": "allow"})
}

fn guarded() -> Value {
    json!({"default": "allow", "deny": ["Read(**/*.pem)", "Read(secrets/**)", "Read(.env)"]})
}

#[test]
fn a_denied_file_is_not_read_by_any_name() {
    let env = Env::new();
    let names = [
        "k.pem",
        "./k.pem",
        "src/../k.pem",
        "plain.txt",
        "src/link",
        "open/a",
        "secrets/a",
        "k2.pem",
        ".env",
    ];
    for name in names {
        let args = json!({"path": name});
        assert!(env.ok(open(), "file_read", args.clone())["content"].as_str().unwrap().contains("secret"));
        env.denied_by(guarded(), "file_read", args.clone());
    }
    let absolute = json!({"path": env.path("k.pem")});
    assert_eq!(env.denied_by(guarded(), "file_read", absolute), "Read(**/*.pem)");
}

#[test]
fn a_rule_whose_path_leads_through_links_is_also_about_what_it_leads_to() {
    let env = Env::new();
    let elsewhere = TempDir::new().unwrap();
    std::os::unix::fs::symlink(env.0.path(), elsewhere.path().join("ws")).unwrap();
    std::os::unix::fs::symlink("secrets", env.path("[open")).unwrap();
    let around = |rest: &str| format!("{}/ws/{rest}", elsewhere.path().display());
    let read = |path: &str| ("file_read", json!({"path": path}));
    let write = |path: &str| ("file_write", json!({"path": path, "content": "x"}));
    for (rule, (tool, args)) in [
        ("Read(plain.txt)".to_owned(), read("k.pem")),
        ("Read(open)".to_owned(), read("secrets/a")),
        ("Read(open/a)".to_owned(), read("secrets/a")),
        ("Read(open/**)".to_owned(), read("secrets/a")),
        ("Read(open/[a-c])".to_owned(), read("secrets/a")),
        ("Write(open/new)".to_owned(), write("secrets/new")),
        ("Edit(open/**)".to_owned(), write("secrets/a")),
        (r"Read(\[open/a)".to_owned(), read("secrets/a")),
        (format!("Read({})", around("k.pem")), read("k.pem")),
        (format!("Read({})", around("open/*")), read("secrets/a")),
        // Nor do other spellings lead past a rule.
        ("Read(./secrets//a)".to_owned(), read("secrets/a")),
        ("Read(secrets/./a/)".to_owned(), read("secrets/a")),
    ] {
        let policy = |list: &str| json!({"default": "allow", list: [&rule]});
        assert_eq!(env.denied_by(policy("deny"), tool, args.clone()), rule);
        let asked = env.call(policy("ask"), tool, args.clone());
        assert!(matches!(asked, CallOutcome::Ask(_)), "{rule}: {asked:?}");
        env.ok(open(), tool, args);
    }
    let search = json!({"pattern": "secret"});
    let found = |deny: &[&str]| {
        env.ok(json!({"default": "allow", "deny": deny}), "file_grep", search.clone()).to_string()
    };
    assert!(found(&[]).contains("k.pem") && !found(&["Read(plain.txt)"]).contains("k.pem"));
}

#[test]
fn a_rule_about_what_is_in_a_directory_allows_no_file_of_that_name() {
    let env = Env::new();
    let policy = |rule: &str| json!({"default": "deny", "allow": [rule]});
    let search = json!({"pattern": "secret", "path": "k.pem"});
    for rule in
        ["Read(k.pem/**)", "Read(k.pem/*)", "Read(*/**)", "Read([!x]*/*)", "Read(?)", "Read([!_]*/**)"]
    {
        env.denied_by(policy(rule), "file_grep", search.clone());
        env.denied_by(policy(rule), "file_read", json!({"path": "k.pem"}));
    }
    for rule in ["Read([!_]*)", "Read(?)", "Read(**/?)", "Read([!a-z])", "Read(src/**)"] {
        env.denied_by(policy(rule), "file_grep", json!({"pattern": "secret"}));
    }
    for rule in ["Read(secrets/**)", "Read(*/**)", "Read(secrets)"] {
        env.ok(policy(rule), "file_grep", json!({"pattern": "secret", "path": "secrets"}));
    }
    env.ok(policy("Read(*)"), "file_grep", json!({"pattern": "secret"}));
}

#[test]
fn a_rule_follows_links_as_they_are_when_a_call_begins() {
    let env = Env::new();
    let host = env.try_host(json!({"default": "allow", "deny": ["Read(open)"]})).unwrap();
    let is_denied = |path: &str| {
        let call = serde_json::from_value(json!({"tool": "file_read", "args": {"path": path}})).unwrap();
        matches!(host.call(call, CallOptions::default()), CallOutcome::Error(error) if error.reason == Reason::Denied)
    };
    assert!(is_denied("secrets/a") && !is_denied("src/a.rs"));
    std::fs::remove_file(env.path("open")).unwrap();
    assert!(!is_denied("secrets/a"));
    std::os::unix::fs::symlink("src", env.path("open")).unwrap();
    assert!(!is_denied("secrets/a") && is_denied("src/a.rs"));
}

#[test]
fn what_quotes_a_denied_file_is_denied_too() {
    let env = Env::new();
    let edit = json!({"path": "k.pem", "old_string": "the", "new_string": "a"});
    assert_eq!(env.denied_by(guarded(), "file_edit", edit), "Read(**/*.pem)");
    let patch = json!({"patch": "--- a/k.pem\n+++ b/k.pem\n@@ -1 +1 @@\n-the secret key\n+x\n"});
    assert_eq!(env.denied_by(guarded(), "file_patch", patch), "Read(**/*.pem)");
    assert_eq!(
        env.denied_by(guarded(), "file_grep", json!({"pattern": "e", "path": "k.pem"})),
        "Read(**/*.pem)"
    );
    assert_eq!(env.text("k.pem").unwrap(), SECRET);
}

#[test]
fn searches_leave_out_denied_files_and_say_so() {
    let env = Env::new();
    let grep = json!({"pattern": "secret", "hidden": true});
    assert_eq!(env.ok(open(), "file_grep", grep.clone())["total_matches"], 4);
    let found = env.ok(guarded(), "file_grep", grep);
    assert_eq!((&found["files"], &found["total_matches"]), (&json!(["notes.txt"]), &json!(1)));
    assert!(found["coverage"]["skipped"]["denied"].as_u64().unwrap() >= 3, "{found}");
    assert!(found["coverage"]["note"].as_str().unwrap().contains("permission rules"), "{found}");
    let found = env.ok(guarded(), "file_glob", json!({"pattern": "**", "hidden": true}));
    assert_eq!(found["files"], json!(["notes.txt", "src/a.rs"]));
    let listed = env.ok(guarded(), "file_list", json!({"depth": 2, "hidden": true}));
    let names: Vec<&str> =
        listed["entries"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert!(!names.iter().any(|name| ["k.pem", ".env", "secrets/a"].contains(name)), "{names:?}");
    assert!(listed["coverage"]["note"].as_str().unwrap().contains("permission rules"), "{listed}");
}

#[test]
fn a_rule_about_a_tool_leaves_files_out_of_what_it_finds() {
    let env = Env::new();
    let files = |permissions: Value, tool: &str, args: Value| {
        let found = env.ok(permissions, tool, args);
        let files = found["files"].as_array().unwrap().clone();
        files.into_iter().map(|file| file.get("path").unwrap_or(&file).clone()).collect::<Vec<_>>()
    };
    for permissions in [
        json!({"default": "allow", "deny": ["Grep(secrets/**)", "Glob(src/**)"]}),
        json!({"default": "allow", "ask": ["Grep(secrets/**)", "Glob(src/**)"]}),
    ] {
        let grep = files(permissions.clone(), "file_grep", json!({"pattern": "secret|main"}));
        assert!(!grep.contains(&json!("secrets/a")) && grep.contains(&json!("src/a.rs")), "{grep:?}");
        let glob = files(permissions, "file_glob", json!({"pattern": "**/a*"}));
        assert!(glob.contains(&json!("secrets/a")) && !glob.contains(&json!("src/a.rs")), "{glob:?}");
    }
}

#[test]
fn a_search_below_a_directory_is_allowed_by_a_rule_that_covers_all_of_it() {
    let env = Env::new();
    let only = |rule: &str| json!({"default": "deny", "allow": [rule]});
    let grep = json!({"pattern": "main", "path": "src"});
    assert_eq!(env.ok(only("Read(src/**)"), "file_grep", grep.clone())["total_matches"], 1);
    env.denied_by(only("Read(src/*.md)"), "file_grep", grep);
    env.denied_by(only("Read(src/**)"), "file_grep", json!({"pattern": "main"}));
}

#[test]
fn changes_are_allowed_only_where_the_path_and_where_it_leads_are() {
    let env = Env::new();
    let only = || json!({"default": "deny", "allow": ["Edit(src/**)", "Write(src/**)"]});
    let write = |path: &str| json!({"path": path, "content": "new\n"});
    env.ok(only(), "file_write", write("src/new.rs"));
    for path in ["k.pem", "src/../k.pem", "src/link", "plain.txt", "src2/x"] {
        env.denied_by(only(), "file_write", write(path));
    }
    assert_eq!(env.text("k.pem").unwrap(), SECRET);
    assert_eq!(env.text("src2/x"), None);
    let denied = || json!({"default": "allow", "deny": ["Write(.env)"]});
    let edit = json!({"path": ".env", "old_string": "the", "new_string": "a"});
    assert_eq!(env.denied_by(denied(), "file_edit", edit.clone()), "Write(.env)");
    env.ok(open(), "file_edit", edit);
}

#[test]
fn an_ask_rule_asks_for_its_files_only() {
    let env = Env::new();
    let asks = || json!({"ask": ["Read(secrets/**)"]});
    env.ok(asks(), "file_read", json!({"path": "notes.txt"}));
    let CallOutcome::Ask(request) = env.call(asks(), "file_read", json!({"path": "open/a"})) else {
        panic!()
    };
    assert_eq!(
        (&request["matched_rule"], &request["file"]),
        (&json!("Read(secrets/**)"), &json!("secrets/a"))
    );
    // A search over everything leaves them out; one that names them asks, and then finds them.
    assert_eq!(env.ok(asks(), "file_grep", json!({"pattern": "secret"}))["coverage"]["skipped"]["denied"], 1);
    let grep = json!({"pattern": "secret", "path": "secrets"});
    let CallOutcome::Ask(request) = env.call(asks(), "file_grep", grep.clone()) else { panic!() };
    let approved = json!({"tool": "file_grep", "args": grep, "approved": request["fingerprint"]});
    let call = serde_json::from_value(approved).unwrap();
    let CallOutcome::Ok(found, _) = env.try_host(asks()).unwrap().call(call, CallOptions::default()) else {
        panic!()
    };
    assert_eq!(found["total_matches"], 1);
}

#[test]
fn who_approves_a_directory_does_not_approve_what_another_rule_asks_about_in_it() {
    let env = Env::new();
    for (asks, files) in [
        (json!({"default": "ask", "ask": ["Read(secrets/**)"]}), 0),
        (json!({"default": "ask"}), 1),
        (json!({"ask": ["Read(.)", "Read(secrets/**)"]}), 0),
        (json!({"ask": ["Read(**)"]}), 1),
    ] {
        let args = json!({"pattern": "secret", "path": ".", "glob": "secrets/*"});
        let CallOutcome::Ask(request) = env.call(asks.clone(), "file_grep", args.clone()) else {
            panic!("{asks}")
        };
        let approved = json!({"tool": "file_grep", "args": args, "approved": request["fingerprint"]});
        let call = serde_json::from_value(approved).unwrap();
        let outcome = env.try_host(asks.clone()).unwrap().call(call, CallOptions::default());
        let CallOutcome::Ok(found, _) = outcome else { panic!("{asks}: {outcome:?}") };
        assert_eq!(found["total_matches"], files, "{asks}: {found}");
    }
}

#[test]
fn it_is_explained_what_may_still_be_stopped_when_programs_start() {
    let env = Env::new();
    let enforced = |permissions: Value, command: &str| {
        let call = json!({"tool": "shell_exec", "args": {"command": command}});
        let host = env.try_host(permissions).unwrap();
        let explained = host.explain(serde_json::from_value(call).unwrap()).unwrap();
        explained["enforced"].as_str().unwrap_or_default().to_owned()
    };
    assert!(enforced(json!({"allow": ["Bash(git:*)"]}), "git status").contains("each program is judged"));
    assert!(
        enforced(json!({"allow": ["Bash"], "deny": ["Bash(rm:*)"]}), "make").contains("a deny rule names")
    );
    assert_eq!(enforced(json!({"allow": ["Bash"]}), "make"), "");
    assert_eq!(enforced(json!({"deny": ["Bash(rm:*)"]}), "rm x"), "");
}

#[test]
fn names_and_addresses_are_matched() {
    let env = Env::new();
    let fetch = |url: &str| {
        let permissions =
            json!({"allow": ["WebFetch(domain:go.dev)"], "deny": ["WebFetch(https://go.dev/private/*)"]});
        let call = json!({"tool": "web_fetch", "args": {"url": url}});
        let host = env.try_host(permissions).unwrap();
        host.explain(serde_json::from_value(call).unwrap()).unwrap()["verdict"].clone()
    };
    assert_eq!(fetch("https://pkg.go.dev/x"), "allow");
    assert_eq!(fetch("https://go.dev/private/x"), "deny");
    assert_eq!(fetch("https://go.dev.evil.example/"), "ask");
    assert_eq!(
        env.denied_by(
            json!({"deny": ["Skill(create-*)"]}),
            "skill",
            json!({"action": "load", "name": "create-skill"})
        ),
        "Skill(create-*)"
    );
    env.ok(json!({"deny": ["Skill(other)"]}), "skill", json!({"action": "load", "name": "create-skill"}));
}

#[test]
fn a_malformed_rule_is_an_error_at_load() {
    let env = Env::new();
    for list in ["allow", "ask", "deny"] {
        let error = env.try_host(json!({list: ["Bash(git"]})).unwrap_err();
        assert!(error.message.contains("not closed"), "{}", error.message);
    }
    let failing =
        json!({"deny": [{"rule": "Bash(rm -rf:*)", "match": ["rm -fr /"], "no_match": ["rm -r -f x"]}]});
    assert!(env.try_host(failing).unwrap_err().message.contains("example \"rm -r -f x\""));
}

#[test]
fn what_is_in_a_repository_is_changed_by_rules_that_name_it() {
    let env = Env::new();
    let patch = "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+touch ran\n";
    let calls = [
        ("file_write", json!({"path": ".git/config", "content": "[core]\n\tfsmonitor = touch ran\n"})),
        ("file_patch", json!({"patch": patch})),
    ];
    for (tool, args) in calls {
        let bare = json!({"default": "deny", "allow": ["Write", "Edit"]});
        assert_eq!(env.denied_by(bare, tool, args.clone()), "the mode");
        let asked = env.call(json!({"allow": ["Write", "Edit", "Write(**)"]}), tool, args.clone());
        assert!(matches!(asked, CallOutcome::Ask(_)), "{asked:?}");
        assert!(!env.path(".git").exists());
        env.ok(json!({"default": "deny", "allow": ["Write(.git/**)"]}), tool, args);
        std::fs::remove_dir_all(env.path(".git")).unwrap();
    }
}

#[test]
fn a_workspace_that_was_moved_or_made_anew_is_refused_by_every_tool() {
    let env = Env::new();
    let host = env.try_host(open()).unwrap();
    let moved = TempDir::new().unwrap();
    std::fs::rename(env.path(""), moved.path().join("ws")).unwrap();
    let said = |tool: &str, args: Value| {
        let call: CallRequest = serde_json::from_value(json!({"tool": tool, "args": args})).unwrap();
        match host.call(call, CallOptions::default()) {
            CallOutcome::Error(error) => (error.reason, error.message),
            other => panic!("{other:?}"),
        }
    };
    for is_anew in [false, true] {
        if is_anew {
            std::fs::create_dir(env.path("")).unwrap();
        }
        for (tool, args) in [
            ("file_read", json!({"path": "notes.txt"})),
            ("file_write", json!({"path": "new", "content": "x"})),
            ("file_grep", json!({"pattern": "x"})),
            ("file_list", json!({})),
            ("shell_exec", json!({"command": "true"})),
            ("git_status", json!({})),
        ] {
            let (reason, message) = said(tool, args);
            assert_eq!(reason, Reason::WorkspaceGone, "{tool}: {message}");
            assert!(message.contains("moved, removed or recreated"), "{message}");
        }
    }
    assert!(!moved.path().join("ws/new").exists());
    // What works on the session alone goes on.
    let call: CallRequest = serde_json::from_value(json!({"tool": "todo_list", "args": {}})).unwrap();
    assert!(matches!(host.call(call, CallOptions::default()), CallOutcome::Ok(..)));
}
