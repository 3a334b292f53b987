//! Files of another user in the workspace of a root without privileges.

use crate::common::{Env, PROGRAM, is_root};
use crate::mcp::client::World;
use serde_json::{Value, json};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

/// A user that is not root.
const OTHER: u32 = 4_242;

fn give_away(path: &Path) {
    chown(path, Some(OTHER), None).unwrap();
}

#[test]
fn a_command_that_may_not_change_a_file_of_another_user_says_why() {
    if !is_root() {
        return;
    }
    let env = Env::with("required");
    std::fs::create_dir(env.path().join("src")).unwrap();
    std::fs::write(env.path().join("src/file"), "").unwrap();
    std::fs::write(env.path().join("mine"), "").unwrap();
    assert_eq!(env.run("echo x > /proc/version").get("foreign_files"), None, "nothing is foreign");
    give_away(&env.path().join("src/file"));
    let said = env.run("echo x > src/file");
    let hint = said["foreign_files"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(hint.contains("user 4242") && hint.contains("chown"), "{hint}");
    for command in ["echo x > mine", "false", "echo permission denied"] {
        assert_eq!(env.run(command).get("foreign_files"), None, "{command}");
    }
    let off = env.now_under(json!("off"));
    assert_eq!(off.run("echo x > src/file; echo permission denied; false").get("foreign_files"), None);
}

#[test]
fn clients_and_people_are_told_beforehand() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let workspace = world.dir.path().join("workspace");
    let description = |options: &[&str]| {
        let mut client = world.connected(options);
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let shell = tools.into_iter().find(|tool| tool["name"] == "shell_exec").unwrap();
        shell["description"].as_str().unwrap().contains("another user")
    };
    let doctor = || -> Value {
        let mut command = Command::new(PROGRAM);
        let output = command.args(["doctor", "--json", "--workspace"]).arg(&workspace).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert!(!description(&[]) && doctor().get("foreign_files").is_none());
    give_away(&workspace);
    assert!(description(&[]) && !description(&["--sandbox", "off"]));
    let foreign = &doctor()["foreign_files"];
    assert_eq!(foreign["uid"], OTHER, "{foreign}");
    assert!(foreign["remedy"].as_str().unwrap().contains("--user UID"), "{foreign}");
}
