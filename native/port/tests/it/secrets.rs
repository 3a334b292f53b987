//! A home directory as the workspace: tools for files leave alone what commands do not see.

use crate::common::PROGRAM;
use crate::mcp::client::Client;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(TempDir::new().unwrap());
        for directory in [".ssh", "dotfiles/gnupg", "src"] {
            fs::create_dir_all(home.0.path().join(directory)).unwrap();
        }
        for file in [".ssh/id_rsa", "dotfiles/gnupg/key", ".netrc", ".erlang.cookie", "src/a"] {
            fs::write(home.0.path().join(file), "the treasure\n").unwrap();
        }
        symlink("dotfiles/gnupg", home.0.path().join(".gnupg")).unwrap();
        home
    }

    fn call(&self, tool: &str, args: &Value, options: &[&str]) -> (bool, String) {
        let mut command = Command::new(PROGRAM);
        command.args(["call", tool, &args.to_string(), "--workspace"]).arg(self.0.path());
        let done = command.args(options).env("HOME", self.0.path()).output().unwrap();
        (done.status.success(), String::from_utf8(done.stdout).unwrap())
    }
}

const OPEN: [&str; 2] = ["--default", "allow"];

#[test]
fn a_secret_is_read_only_where_a_rule_names_it() {
    let home = Home::new();
    for path in [".ssh/id_rsa", ".netrc", ".erlang.cookie", ".gnupg/key", "dotfiles/gnupg/key"] {
        for (tool, args) in [
            ("file_read", json!({"path": path})),
            ("file_write", json!({"path": path, "content": "x"})),
            ("file_edit", json!({"path": path, "old_string": "the", "new_string": "a"})),
            ("file_grep", json!({"path": path, "pattern": "e"})),
        ] {
            let (is_done, said) = home.call(tool, &args, &OPEN);
            assert!(!is_done && said.contains("permission_denied"), "{tool} {path}: {said}");
            assert!(
                said.contains("is a place of secrets") && !said.contains("treasure"),
                "{tool} {path}: {said}"
            );
        }
        assert_eq!(fs::read_to_string(home.0.path().join(path)).unwrap(), "the treasure\n");
    }
    let (_, said) = home.call("file_read", &json!({"path": ".ssh/id_rsa"}), &["--allow", "Read(.ssh/**)"]);
    assert!(said.contains("the treasure"), "{said}");
    let (_, said) = home.call("file_read", &json!({"path": "src/a"}), &[]);
    assert!(said.contains("the treasure"), "{said}");
}

#[test]
fn a_search_leaves_secrets_out_and_says_so() {
    let home = Home::new();
    let (_, said) = home.call("file_grep", &json!({"pattern": "treasure", "hidden": true}), &OPEN);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["files"], json!(["src/a"]), "{said}");
    assert_eq!(found["coverage"]["skipped"]["denied"], 5, "{said}");
    assert!(said.contains("as secrets"), "{said}");
}

#[test]
fn what_a_link_leads_to_is_a_secret_while_the_link_is_there() {
    let (home, workspace) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::create_dir_all(workspace.path().join("dotfiles/aws")).unwrap();
    let path = "dotfiles/aws/credentials";
    fs::write(workspace.path().join(path), "the treasure\n").unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["mcp", "--default", "allow", "--settings", "none", "--workspace"]).arg(workspace.path());
    command.env("HOME", home.path());
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    let mut read = || {
        // Longer than places of secrets are remembered.
        std::thread::sleep(Duration::from_millis(1_100));
        [
            ("file_read", json!({"path": path})),
            ("file_grep", json!({"path": path, "pattern": "treasure"})),
            ("file_edit", json!({"path": path, "old_string": "the", "new_string": "the"})),
        ]
        .map(|(tool, args)| client.call(tool, args).to_string())
    };
    let is_refused = |said: &String| said.contains("is a place of secrets") && !said.contains("treasure");
    assert!(read().iter().all(|said| !is_refused(said)));
    symlink(workspace.path().join("dotfiles/aws"), home.path().join(".aws")).unwrap();
    let said = read();
    assert!(said.iter().all(is_refused), "{said:?}");
    fs::remove_file(home.path().join(".aws")).unwrap();
    assert!(read()[0].contains("the treasure"));
}
