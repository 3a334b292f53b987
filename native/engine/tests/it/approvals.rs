//! What a person who is asked gets to see, and that nobody is asked for what must fail.

use beamai_base::Reason;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host};
use beamai_text::Charset;
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Fixture {
    dir: TempDir,
    host: Host,
}

impl Fixture {
    fn new(permissions: Value) -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("a.txt"), "one\ntwo\n").unwrap();
        let id = Workspace::open(dir.path()).unwrap().id();
        let settings = serde_json::from_value(json!({"workspace": id, "permissions": permissions})).unwrap();
        Self { host: Host::new(&settings, std::sync::Arc::default()).unwrap(), dir }
    }

    fn outcome(&self, tool: &str, args: Value, approved: Option<&Value>) -> CallOutcome {
        let call: CallRequest =
            serde_json::from_value(json!({"tool": tool, "args": args, "approved": approved})).unwrap();
        self.host.call(call, CallOptions::default())
    }

    fn asked(&self, tool: &str, args: Value) -> Value {
        match self.outcome(tool, args.clone(), None) {
            CallOutcome::Ask(request) => request,
            other => panic!("{tool} {args}: {other:?}"),
        }
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

fn edit(old: &str) -> Value {
    json!({"path": "a.txt", "old_string": old, "new_string": "2"})
}

const PATCH: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";

#[test]
fn the_question_shows_the_diff_and_a_rule_for_always() {
    let fixture = Fixture::new(json!({}));
    let asked = fixture.asked("file_edit", edit("two"));
    assert_eq!(asked["diff"], PATCH);
    assert_eq!(asked["always"], json!(["Edit(./a.txt)"]));
    assert_eq!(fixture.asked("file_patch", json!({"patch": PATCH}))["diff"], PATCH);
    let written = fixture.asked("file_write", json!({"path": "d/new", "content": "x\n"}));
    assert_eq!(written["diff"], "--- /dev/null\n+++ b/d/new\n@@ -0,0 +1 @@\n+x\n");
    let appended = fixture.asked("file_write", json!({"path": "a.txt", "content": "x\n", "mode": "append"}));
    assert_eq!(appended["diff"], "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n two\n+x\n");
    assert_eq!(fixture.names(), ["a.txt"], "asking has done something");
    assert_eq!(std::fs::read_to_string(fixture.dir.path().join("a.txt")).unwrap(), "one\ntwo\n");
}

#[test]
fn nobody_is_asked_for_what_must_fail() {
    let fixture = Fixture::new(json!({}));
    for (tool, args, reason) in [
        ("file_edit", edit("three"), Reason::NoMatch),
        ("file_edit", edit("o"), Reason::Ambiguous),
        ("file_edit", json!({"path": "b", "old_string": "x", "new_string": "y"}), Reason::NoSuchFile),
        ("file_patch", json!({"patch": PATCH.replace("-two", "-three")}), Reason::NoMatch),
        (
            "file_write",
            json!({"path": "a.txt", "content": "x", "expected_hash": "0".repeat(64)}),
            Reason::Stale,
        ),
        (
            "file_write",
            json!({"path": "a.txt", "content": "// ... rest of code unchanged ...\n"}),
            Reason::Placeholder,
        ),
        ("file_edit", json!({"path": "a.txt"}), Reason::InvalidArgument),
    ] {
        match fixture.outcome(tool, args.clone(), None) {
            CallOutcome::Error(error) => assert_eq!(error.reason, reason, "{tool} {args}: {error}"),
            other => panic!("{tool} {args}: {other:?}"),
        }
    }
}

#[test]
fn what_may_not_be_read_is_not_told_by_trying() {
    for permissions in [json!({"deny": ["Read(a.txt)"], "ask": ["Edit"]}), json!({"ask": ["Read(a.txt)"]})] {
        let fixture = Fixture::new(permissions.clone());
        match fixture.outcome("file_edit", edit("three"), None) {
            CallOutcome::Ask(request) => assert!(request.get("diff").is_none(), "{permissions}: {request}"),
            CallOutcome::Error(error) => assert_eq!(error.reason, Reason::Denied, "{permissions}: {error}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_change_of_what_is_read_by_approval_is_shown_and_holds_for_what_was_shown() {
    for permissions in [json!({"ask": ["Read(a.txt)"]}), json!({"default": "ask"})] {
        let fixture = Fixture::new(permissions);
        for (tool, args) in [
            ("file_write", json!({"path": "a.txt", "content": "new\n"})),
            (
                "file_edit",
                json!({"path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": true}),
            ),
            ("file_patch", json!({"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"})),
        ] {
            let asked = fixture.asked(tool, args.clone());
            assert!(asked["diff"].as_str().is_some_and(|diff| diff.contains("a.txt")), "{tool} {asked}");
            let text = format!("one\ntwo\n{tool} two\n");
            std::fs::write(fixture.dir.path().join("a.txt"), &text).unwrap();
            match fixture.outcome(tool, args, Some(&asked["fingerprint"])) {
                CallOutcome::Error(error) => {
                    assert_eq!(error.reason, Reason::NeedsApproval, "{tool}: {error}")
                }
                other => panic!("{tool}: {other:?}"),
            }
            assert_eq!(std::fs::read_to_string(fixture.dir.path().join("a.txt")).unwrap(), text, "{tool}");
        }
    }
}

#[test]
fn what_was_approved_is_done_and_nothing_else() {
    let fixture = Fixture::new(json!({}));
    let asked = fixture.asked("file_edit", edit("two"));
    assert!(matches!(
        fixture.outcome("file_edit", edit("two"), Some(&asked["fingerprint"])),
        CallOutcome::Ok(..)
    ));
    assert_eq!(std::fs::read_to_string(fixture.dir.path().join("a.txt")).unwrap(), "one\n2\n");
    let args = json!({"path": "a.txt", "old_string": "one", "new_string": "1"});
    match fixture.outcome("file_edit", args, Some(&asked["fingerprint"])) {
        CallOutcome::Error(error) => assert_eq!(error.reason, Reason::NeedsApproval),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_part_of_a_command_that_needs_permission_is_named() {
    let fixture = Fixture::new(json!({"allow": ["Bash(git status)"]}));
    let asked = fixture.asked("shell_exec", json!({"command": "git status; npm test --all; rm x"}));
    assert_eq!(asked["wanted"], json!(["Bash(npm test --all)", "Bash(rm x)"]));
    assert_eq!(asked["always"], json!(["Bash(npm test:*)", "Bash(rm x)"]));
    let message = asked["message"].as_str().unwrap();
    assert!(message.contains("git status; npm test --all; rm x"), "{message}");
    assert!(message.contains("; it needs Bash(npm test --all), Bash(rm x)"), "{message}");
}

/// Each rule is compared with each part, and nobody reads that many.
#[test]
fn of_very_many_parts_none_is_offered_as_a_rule() {
    let fixture = Fixture::new(json!({"allow": ["Bash(cat:*)"]}));
    let asked = |files: usize| {
        let files: Vec<String> = (0..files).map(|at| format!(">f{at}")).collect();
        fixture.asked("shell_exec", json!({"command": format!("cat {}", files.join(" "))}))
    };
    assert_eq!(asked(100)["wanted"].as_array().map(Vec::len), Some(100));
    assert!(asked(101).get("wanted").is_none());
    let many = asked(8_000);
    assert!(many.get("wanted").is_none() && many.get("always").is_none());
    assert!(many["message"].as_str().unwrap().contains("because a redirection writes to a file"));
}

#[test]
fn the_rule_for_always_allows_such_calls_and_says_no_more_than_it_must() {
    let page = json!({"url": "https://docs.example.com/a?b=c"});
    let post = json!({"url": "https://docs.example.com/", "method": "POST", "body": "x"});
    let local = json!({"url": "http://127.0.0.1:8080/x"});
    let fixture = Fixture::new(json!({}));
    for (tool, args, rules) in [
        ("web_fetch", page.clone(), json!(["WebFetch(domain:docs.example.com)"])),
        ("web_fetch", local, json!(["WebFetch(http://127.0.0.1:8080/*)"])),
        ("git_commit", json!({"message": "Say (so)"}), json!(["GitCommit"])),
        ("git_add", json!({"path": "a.txt"}), json!(["GitAdd(./a.txt)"])),
        ("file_write", json!({"path": "[a]*.txt", "content": ""}), json!([r"Write(./\[a\]\*.txt)"])),
        ("file_write", json!({"path": "./~/{x}!", "content": ""}), json!([r"Write(./~/\{x\}!)"])),
        ("file_write", json!({"path": "notes *.txt", "content": ""}), json!([r"Write(./notes\ \*.txt)"])),
        ("file_write", json!({"path": "Q ?", "content": ""}), json!([r"Write(./Q\ \?)"])),
        ("web_search", json!({"query": "a*"}), json!(["WebSearch"])),
    ] {
        let asked = fixture.asked(tool, args.clone());
        assert_eq!(asked["always"], rules, "{asked}");
        let allowing = Fixture::new(json!({"allow": rules}));
        assert!(!matches!(allowing.outcome(tool, args, None), CallOutcome::Ask(_)), "{rules}");
    }
    let within =
        json!({"query": "weather", "allowed_domains": ["a.example"], "blocked_domains": ["b.example"]});
    let asked = fixture.asked("web_search", within);
    assert_eq!(asked["subject"], "WebSearch(weather site:a.example -site:b.example)", "{asked}");
    // Where no pattern can name the file, no rule for every file is offered.
    let unseen = fixture.asked("file_write", json!({"path": "a\u{200b}b", "content": ""}));
    assert_eq!(unseen.get("always"), None, "{unseen}");
    // What sends is more than what the rule says to a reader.
    assert_eq!(fixture.asked("web_fetch", post).get("always"), None);
    for command in ["touch 'a*'", "cat 'a?b'", "touch 'x:*'", "rm one; touch 'a*'"] {
        assert_eq!(fixture.asked("shell_exec", json!({"command": command})).get("always"), None, "{command}");
    }
    let widened = fixture.asked("shell_exec", json!({"command": "git log '*.rs'"}));
    assert_eq!(widened["always"], json!(["Bash(git log:*)"]));
    // No rule that allows helps against one that asks.
    let asking = Fixture::new(json!({"ask": ["WebFetch"]}));
    assert_eq!(asking.asked("web_fetch", page).get("always"), None);
}

#[test]
fn a_dry_run_of_a_patch_needs_to_read_the_files_only() {
    let fixture = Fixture::new(json!({}));
    let CallOutcome::Ok(tried, _) =
        fixture.outcome("file_patch", json!({"patch": PATCH, "dry_run": true}), None)
    else {
        panic!("it asked")
    };
    assert_eq!((&tried["applied"], &tried["permissions"]), (&json!(false), &json!(["Edit(a.txt)"])));
    let fixture = Fixture::new(json!({"deny": ["Read(a.txt)"]}));
    let CallOutcome::Error(error) =
        fixture.outcome("file_patch", json!({"patch": PATCH, "dry_run": true}), None)
    else {
        panic!("it told of a file that may not be read")
    };
    assert_eq!(error.reason, Reason::Denied);
}

#[test]
fn an_approval_covers_the_diff_that_was_shown() {
    let deletion = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n";
    let copy = "diff --git a/a.txt b/b.txt\ncopy from a.txt\ncopy to b.txt\n";
    for (tool, args) in [
        ("file_write", json!({"path": "a.txt", "content": "new\n"})),
        ("file_write", json!({"path": "a.txt", "content": "new\n", "mode": "append"})),
        ("file_edit", edit("two")),
        ("file_patch", json!({"patch": deletion})),
        ("file_patch", json!({"patch": copy})),
        // Without context: only the place would change.
        ("file_patch", json!({"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -2,0 +3 @@\n+x\n"})),
        ("file_patch", json!({"patch": "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n"})),
    ] {
        let fixture = Fixture::new(json!({}));
        let asked = fixture.asked(tool, args.clone());
        // Somebody adds a line before the answer arrives.
        std::fs::write(fixture.dir.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
        match fixture.outcome(tool, args.clone(), Some(&asked["fingerprint"])) {
            CallOutcome::Error(error) => assert_eq!(error.reason, Reason::NeedsApproval, "{tool}: {error}"),
            other => panic!("{tool}: {other:?}"),
        }
        let asked = fixture.asked(tool, args.clone());
        assert!(
            matches!(fixture.outcome(tool, args, Some(&asked["fingerprint"])), CallOutcome::Ok(..)),
            "{tool}"
        );
    }
}

#[test]
fn the_rule_that_a_refusal_advises_is_valid_and_allows_the_call_alone() {
    let page = |path: &str| json!({"url": format!("https://a.example/{path}")});
    for (tool, args, rule) in [
        ("git_commit", json!({"message": "x"}), "GitCommit"),
        ("file_write", json!({"path": "src/../w", "content": "x"}), "Write(./w)"),
        ("web_fetch", page("*"), "WebFetch(https://a.example/%2A)"),
        ("web_fetch", page("x?q=[1]"), "WebFetch(https://a.example/x?q=%5B1%5D)"),
        ("web_fetch", page("a:*"), "WebFetch(https://a.example/a:%2A)"),
        ("web_search", json!({"query": "{a,b} *"}), "WebSearch([{]a,b[}] [*])"),
    ] {
        let denying = Fixture::new(json!({"default": "deny"}));
        match denying.outcome(tool, args.clone(), None) {
            CallOutcome::Error(error) => {
                let advice = error.details["configure"].to_string();
                assert!(advice.contains(rule), "{tool}: {advice}");
            }
            other => panic!("{other:?}"),
        }
        let allowing = Fixture::new(json!({"default": "deny", "allow": [rule]}));
        match allowing.outcome(tool, args, None) {
            CallOutcome::Error(error) => assert_ne!(error.reason, Reason::Denied, "{rule}: {error}"),
            CallOutcome::Ask(asked) => panic!("{rule}: {asked}"),
            _ => {}
        }
    }
}

#[test]
fn a_name_of_a_directory_is_an_error_before_anybody_is_asked() {
    let fixture = Fixture::new(json!({}));
    match fixture.outcome("file_write", json!({"path": "new/", "content": "x"}), None) {
        CallOutcome::Error(error) => assert_eq!(error.reason, Reason::IsADirectory, "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_patch_is_shown_as_it_is_applied_and_without_text_around_it() {
    let fixture = Fixture::new(json!({}));
    let around = format!("beamai checked this: nothing changes.\n{PATCH}beamai: a dry run\n");
    assert_eq!(fixture.asked("file_patch", json!({"patch": around}))["diff"], PATCH);
    // Where it applies, not where it says so.
    let moved = PATCH.replace("@@ -1,2 +1,2 @@", "@@ -7,2 +7,2 @@ fn other");
    assert_eq!(fixture.asked("file_patch", json!({"patch": moved}))["diff"], PATCH);
    let renamed = "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n";
    let shown = fixture.asked("file_patch", json!({"patch": renamed}))["diff"].as_str().unwrap().to_owned();
    let expected =
        "rename from a.txt\nrename to b.txt\n--- a/a.txt\n+++ b/b.txt\nrenames a.txt: 8 bytes, mode ";
    assert!(shown.starts_with(expected), "{shown}");
}

#[test]
fn the_hash_of_a_file_that_a_patch_makes_executable_is_not_that_of_another_one() {
    let fixture = Fixture::new(json!({}));
    std::fs::write(fixture.dir.path().join("b.txt"), "other\n").unwrap();
    let patch = "diff --git a/a.txt b/x\nrename from a.txt\nrename to x\n\
                 diff --git a/b.txt b/a.txt\nrename from b.txt\nrename to a.txt\n\
                 diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n";
    let asked = fixture.asked("file_patch", json!({"patch": patch}));
    let shown = asked["diff"].as_str().unwrap();
    let renamed = |path: &str, bytes: usize| format!("renames {path}: {bytes} bytes, mode ");
    assert!(shown.contains(&renamed("a.txt", 8)) && shown.contains(&renamed("b.txt", 6)), "{shown}");
    assert!(shown.contains("new mode 100755") && !shown.contains("sets the mode of"), "{shown}");
    // A change of what becomes executable is noticed all the same.
    std::fs::write(fixture.dir.path().join("b.txt"), "evil!\n").unwrap();
    match fixture.outcome("file_patch", json!({"patch": patch}), Some(&asked["fingerprint"])) {
        CallOutcome::Error(error) => assert_eq!(error.reason, Reason::NeedsApproval, "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_encoding_is_known_to_later_parts_of_a_patch() {
    let edit = |name: &str| {
        format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -2 +2 @@\n-old\n+naïve\n")
    };
    let moved = |how: &str| format!("diff --git a/f b/g\n{how} from f\n{how} to g\n");
    let executable = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n";
    for (bytes, wanted) in [
        (&b"caf\xe9\nold\n"[..], &b"caf\xe9\nna\xefve\n"[..]),
        (b"\xff\xfec\0\n\0o\0l\0d\0\n\0", b"\xff\xfec\0\n\0n\0a\0\xef\0v\0e\0\n\0"),
    ] {
        for (before, name) in [(executable.to_owned(), "f"), (moved("copy"), "g"), (moved("rename"), "g")] {
            let fixture = Fixture::new(json!({}));
            std::fs::write(fixture.dir.path().join("f"), bytes).unwrap();
            let args = json!({"patch": before + &edit(name)});
            let asked = fixture.asked("file_patch", args.clone());
            let shown = asked["diff"].as_str().unwrap();
            assert!(
                shown.contains("encod") && shown.contains("+naïve") && !shown.contains('\u{fffd}'),
                "{shown}"
            );
            assert!(matches!(
                fixture.outcome("file_patch", args, Some(&asked["fingerprint"])),
                CallOutcome::Ok(..)
            ));
            assert_eq!(std::fs::read(fixture.dir.path().join(name)).unwrap(), wanted);
        }
    }
    // A binary file is not changed as text.
    let fixture = Fixture::new(json!({}));
    std::fs::write(fixture.dir.path().join("f"), b"\0\x01\nold\n").unwrap();
    match fixture.outcome("file_patch", json!({"patch": executable.to_owned() + &edit("f")}), None) {
        CallOutcome::Error(error) => assert_eq!(error.reason, Reason::BinaryFile, "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_line_before_a_byte_order_mark_is_shown_there() {
    let fixture = Fixture::new(json!({}));
    std::fs::write(fixture.dir.path().join("f"), "\u{feff}one\n").unwrap();
    for how in ["rename", "copy"] {
        let patch =
            format!("diff --git a/f b/g\n{how} from f\n{how} to g\n--- a/f\n+++ b/g\n@@ -0,0 +1 @@\n+zero\n");
        let asked = fixture.asked("file_patch", json!({"patch": patch}));
        let shown = asked["diff"].as_str().unwrap();
        assert!(shown.contains("@@ -1 +1,2 @@\n+zero\n ") && shown.contains("one\n"), "{shown}");
    }
}

#[test]
fn a_patch_is_shown_with_the_line_ends_that_it_writes() {
    let fixture = Fixture::new(json!({}));
    let shown = |text: &str, hunk: &str| {
        std::fs::write(fixture.dir.path().join("a.txt"), text).unwrap();
        let patch = format!("--- a/a.txt\n+++ b/a.txt\n{hunk}");
        fixture.asked("file_patch", json!({"patch": patch}))["diff"].as_str().unwrap().to_owned()
    };
    // The added line gets the line end of its neighbours.
    let added = shown("# a\r\n# b\r\n", "@@ -1,2 +1,3 @@\n # a\n+rm -f x \\\n # b\n");
    assert!(added.ends_with(" # a\u{240d}\n+rm -f x \\\u{240d}\n # b\u{240d}\n"), "{added}");
    let removed = shown("#!/bin/sh\r\nx\n", "@@ -1,2 +1,2 @@\n-#!/bin/sh\n-x\n+#!/bin/sh\n+x\n");
    assert!(removed.contains("-#!/bin/sh\u{240d}\n+#!/bin/sh\n"), "{removed}");
    let open = shown("one\ntwo", "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    assert!(open.ends_with("+2\n\\ No newline at end of file\n"), "{open}");
    // An insertion is shown where it is made.
    let inserted = shown("one\ntwo\n", "@@ -1,0 +2 @@\n+x\n");
    assert!(inserted.ends_with("@@ -1,2 +1,3 @@\n one\n+x\n two\n"), "{inserted}");
}

#[test]
fn a_new_text_is_not_shown_as_the_same_if_its_bytes_are_others() {
    let fixture = Fixture::new(json!({}));
    let old = ["é ü ö\n".repeat(5).as_bytes(), b"x = \xff\xfe\x80\n"].concat();
    std::fs::write(fixture.dir.path().join("f"), &old).unwrap();
    let args = json!({"path": "f", "content": String::from_utf8_lossy(&old)});
    let asked = fixture.asked("file_write", args.clone());
    assert!(asked["diff"].as_str().unwrap().contains("are replaced as well"), "{asked}");
    match fixture.outcome("file_write", args, Some(&asked["fingerprint"])) {
        CallOutcome::Ok(written, _) => {
            assert_eq!((&written["additions"], &written["diff_truncated"]), (&Value::Null, &json!(true)));
            assert!(written["note"].as_str().unwrap().contains("are replaced as well"), "{written}");
        }
        other => panic!("{other:?}"),
    }
}

/// A question names fifty.
#[test]
fn the_files_that_a_rule_asks_about_come_first() {
    let fixture = Fixture::new(json!({"allow": ["Write"], "ask": ["Write(secret/**)"]}));
    let name = |at: i32| if at == 200 { "secret/key".to_owned() } else { format!("src/{at}") };
    let part = |at: i32| format!("--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+x\n", name(at));
    let asked = fixture.asked("file_patch", json!({"patch": (0..300).map(part).collect::<String>()}));
    let message = asked["message"].as_str().unwrap();
    assert!(
        message.starts_with("file_patch wants to do all of: Write(secret/key), Write(src/0), "),
        "{message}"
    );
    assert!(message.contains("Write(src/48), and 250 more"), "{message}");
}

#[test]
fn a_name_is_no_part_of_the_sentence_about_it() {
    let fixture = Fixture::new(json!({}));
    let odd = "a), Edit(b";
    std::fs::write(fixture.dir.path().join(odd), "x\n").unwrap();
    let patch = format!("diff --git a/{odd} b/c\nrename from {odd}\nrename to c\n");
    let asked = fixture.asked("file_patch", json!({"patch": patch}));
    let expected = "file_patch wants to do all of: Edit(\"a), Edit(b\"), Write(c)";
    assert!(asked["message"].as_str().unwrap().starts_with(expected), "{asked}");
    let asked = fixture.asked("file_write", json!({"path": odd, "content": "y\n"}));
    assert!(asked["message"].as_str().unwrap().contains("wants to change \"a), Edit(b\""), "{asked}");
}

#[test]
fn the_question_says_that_a_command_goes_on_in_the_background() {
    let fixture = Fixture::new(json!({}));
    let asked = fixture.asked("shell_exec", json!({"command": "make", "run_in_background": true}));
    assert!(asked["message"].as_str().unwrap().contains("wants to run in the background: make"), "{asked}");
}

#[test]
fn a_path_that_means_another_one_of_the_workspace_is_an_error() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join(".env"), "x").unwrap();
    let id = Workspace::open(dir.path()).unwrap().id();
    let made = |rule: &str| {
        let settings = json!({"workspace": id, "permissions": {"deny": [rule]}});
        Host::new(&serde_json::from_value(settings).unwrap(), std::sync::Arc::default()).map(drop)
    };
    for rule in ["Read(/.env)", "Read(//.env)", "Read(/./.env)"] {
        let error = made(rule).unwrap_err();
        assert!(error.message.contains("write ./.env for the workspace"), "{error}");
    }
    std::fs::create_dir_all(dir.path().join("src/[id]")).unwrap();
    for rule in ["Read(src/[id])", "Read(src/[id]/**)"] {
        let error = made(rule).unwrap_err();
        assert!(error.message.contains("write src/\\[id\\]"), "{error}");
    }
    std::fs::create_dir_all(dir.path().join("src/[ab]")).unwrap();
    std::fs::create_dir_all(dir.path().join("src/a")).unwrap();
    for rule in ["Read(src/\\[id\\]/**)", "Read(src/[ab]/**)", "Read(src/[xy]/**)"] {
        assert!(made(rule).is_ok(), "{rule}");
    }
    for rule in ["Read(/etc/passwd)", "Read(/nothing-here)", "Read(./.env)"] {
        assert!(made(rule).is_ok(), "{rule}");
    }
}

#[test]
fn what_is_asked_about_a_command_is_what_runs() {
    let fixture = Fixture::new(json!({}));
    std::fs::create_dir(fixture.dir.path().join("--")).unwrap();
    for (args, shown) in [
        (json!({"command": "ls", "cwd": "--"}), "wants to run: cd ./-- && ls"),
        (json!({"command": "ls", "env": {"BASH_ENV": "s.sh"}}), "wants to run: BASH_ENV=s.sh bash -c ls"),
        (json!({"command": "ls", "env": {"A": "b"}}), "wants to run: A=b ls"),
    ] {
        let asked = fixture.asked("shell_exec", args);
        assert!(asked["message"].as_str().unwrap().contains(shown), "{asked}");
    }
}

#[test]
fn the_question_about_an_empty_file_says_that_it_is_made() {
    let fixture = Fixture::new(json!({}));
    let asked = fixture.asked("file_write", json!({"path": "d/e", "content": ""}));
    assert_eq!(asked["diff"], "--- /dev/null\n+++ b/d/e\n");
}

#[test]
fn a_file_that_a_patch_puts_in_the_place_of_another_is_not_executable_for_that() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(json!({"default": "allow"}));
    let path = fixture.dir.path().join("a.txt");
    std::fs::write(&path, "x\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let patch = "diff --git a/a.txt b/a.txt\ndeleted file mode 100755\n--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                 diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n\
                 diff --git a/f b/a.txt\nrename from f\nrename to a.txt\n";
    match fixture.outcome("file_patch", json!({"patch": patch}), None) {
        CallOutcome::Ok(..) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0);
}

#[test]
fn a_home_directory_of_the_call_is_not_taken_for_the_hosts() {
    let fixture = Fixture::new(json!({}));
    let args = json!({"command": "touch ~/x", "env": {"HOME": "/elsewhere"}});
    let message = fixture.asked("shell_exec", args)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("touch …/x") && !message.contains("touch /"), "{message}");
}

#[test]
fn the_question_says_the_encoding_of_a_file_that_is_not_utf_8() {
    let fixture = Fixture::new(json!({}));
    let shift_jis = Charset::labelled("shift_jis", b"").unwrap();
    let japanese = shift_jis.encode("# これは日本語のスクリプトです。\necho 一\n").unwrap();
    std::fs::write(fixture.dir.path().join("j.sh"), &japanese).unwrap();
    // In Shift_JIS, a wide hyphen is the byte 0x81 and a pipe.
    let patch = "--- a/j.sh\n+++ b/j.sh\n@@ -2 +2 @@\n-echo 一\n+echo 一 － sh\n";
    for (tool, args, line) in [
        ("file_edit", json!({"path": "j.sh", "old_string": "echo 一", "new_string": "echo 一 － sh"}), 1),
        ("file_write", json!({"path": "j.sh", "content": "echo － sh\n"}), 1),
        ("file_write", json!({"path": "j.sh", "content": "echo － sh\n", "mode": "append"}), 1),
        ("file_patch", json!({"patch": patch}), 1),
        ("file_write", json!({"path": "j.sh", "content": "echo 😀\n"}), 0),
    ] {
        let asked = fixture.asked(tool, args);
        let shown = asked["diff"].as_str().unwrap();
        let expected = [
            "[written as utf-8: shift_jis, in which the file was,",
            "[the file is encoded in shift_jis]\n--- ",
        ];
        assert!(shown.starts_with(expected[line]), "{tool}: {shown}");
    }
}

#[test]
fn what_cannot_be_compared_is_shown_by_its_size_and_hash() {
    let fixture = Fixture::new(json!({}));
    let file = fixture.dir.path().join("tool");
    std::fs::write(&file, b"\x7fELF\0\0").unwrap();
    let args = json!({"path": "tool", "content": "#!/bin/sh\nx\n"});
    let asked = fixture.asked("file_write", args.clone());
    let shown = asked["diff"].as_str().unwrap();
    assert!(shown.starts_with("[no diff: the file was not text; 6 bytes, BLAKE3 "), "{shown}");
    assert!(shown.ends_with(", are replaced]\n+#!/bin/sh\n+x\n"), "{shown}");
    std::fs::write(&file, b"\x7fELF\0\x01").unwrap();
    match fixture.outcome("file_write", args, Some(&asked["fingerprint"])) {
        CallOutcome::Error(error) => assert_eq!(error.reason, Reason::NeedsApproval, "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_approval_covers_what_is_too_long_to_be_shown() {
    let fixture = Fixture::new(json!({}));
    let file = fixture.dir.path().join("long");
    let lines = |last: &str| (0..20_000).map(|number| format!("{number}\n")).collect::<String>() + last;
    std::fs::write(&file, lines("old\n")).unwrap();
    let args = json!({"path": "long", "content": "x".repeat(70_000) + "\n"});
    let asked = fixture.asked("file_write", args.clone());
    let shown = asked["diff"].as_str().unwrap();
    assert!(shown.contains(" characters in all; the rest is not shown]"), "{shown}");
    std::fs::write(&file, lines("new\n")).unwrap();
    match fixture.outcome("file_write", args, Some(&asked["fingerprint"])) {
        CallOutcome::Error(error) => assert_eq!(error.reason, Reason::NeedsApproval, "{error}"),
        other => panic!("{other:?}"),
    }
}
