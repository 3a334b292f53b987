//! `beamai-port call` as a program: what it prints and the code it ends with.

use crate::common::PROGRAM;
use std::fs::File;
use std::process::{Command, Output};

fn call(workspace: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("call").args(arguments).arg("--workspace").arg(workspace);
    command
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

#[test]
fn a_result_is_one_line_of_json_or_pretty_for_people() {
    let workspace = tempfile::tempdir().unwrap();
    File::create(workspace.path().join("a")).unwrap();
    let plain = call(workspace.path(), &["file_list", "{}"]).output().unwrap();
    let pretty = call(workspace.path(), &["file_list", "{}", "--pretty"]).output().unwrap();
    assert_eq!(stdout(&plain).lines().count(), 1);
    assert_eq!(serde_json::from_str::<serde_json::Value>(stdout(&plain)).unwrap()["count"], 1);
    assert_eq!(stdout(&pretty), "file_list: 1 found\na\n");
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let workspace = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = call(workspace.path(), &["file_list", "{}"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"));
}

#[test]
fn settings_that_are_no_object_are_bad_usage() {
    let workspace = tempfile::tempdir().unwrap();
    let file = workspace.path().join("settings.json");
    for text in ["[]", "5", "\"x\"", "null", "{}"] {
        std::fs::write(&file, text).unwrap();
        let settings = ["file_list", "{}", "--settings", file.to_str().unwrap()];
        assert_eq!(call(workspace.path(), &settings).output().unwrap().status.code(), Some(2), "{text}");
    }
}

/// A slip must not leave rules out that were meant to hold.
#[test]
fn rules_of_settings_are_not_left_out_by_a_slip() {
    let (workspace, elsewhere) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
    let paths = ["a.json", "b.json"].map(|name| elsewhere.path().join(name));
    let status = |texts: &[&str]| {
        let mut command =
            call(workspace.path(), &["shell_exec", r#"{"command": "true"}"#, "--default", "allow"]);
        for (path, text) in paths.iter().zip(texts) {
            std::fs::write(path, text).unwrap();
            command.arg("--settings").arg(path);
        }
        command.output().unwrap().status.code()
    };
    let denying = r#"{"permissions": {"deny": ["Read(x)"]}, "sandbox": "off"}"#;
    assert_eq!(status(&[denying]), Some(0));
    assert_eq!(status(&[denying, r#"{"sandbox": "off"}"#]), Some(0));
    for text in [
        r#"{"permisions": {"deny": ["Bash"]}, "sandbox": "off"}"#,
        r#"{"Permissions": {"deny": ["Bash"]}, "sandbox": "off"}"#,
        r#"{"permissions": [], "sandbox": "off"}"#,
        r#"{"permission": [["Bash", "deny"]]}"#,
        r#"{"permissions": {"allow": ["Bash"]}, "deny": ["Bash(rm:*)"]}"#,
        r#"{"sandbox": "off", "network": false}"#,
        r#"{"sandox": "off", "permissions": {"allow": ["Bash"]}}"#,
    ] {
        assert_eq!(status(&[text]), Some(2), "{text}");
    }
    assert_eq!(status(&[r#"{"$schema": "x", "sandbox": "off"}"#]), Some(0));
    assert_eq!(status(&[denying, denying]), Some(2));
}

#[test]
fn settings_name_skills_and_language_servers_too() {
    let (workspace, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let skill = elsewhere.path().join("greet/SKILL.md");
    std::fs::create_dir_all(skill.parent().unwrap()).unwrap();
    std::fs::write(&skill, "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n").unwrap();
    std::fs::write(workspace.path().join("a.zig"), "").unwrap();
    let file = elsewhere.path().join("settings.json");
    let settings = |text: serde_json::Value| std::fs::write(&file, text.to_string()).unwrap();
    let run = |tool: &str, args: &str| {
        let options = [tool, args, "--allow", "Skill", "--settings", file.to_str().unwrap()];
        call(workspace.path(), &options).output().unwrap()
    };
    settings(serde_json::json!({
        "skills": {"paths": [elsewhere.path()]},
        "lsp": {"servers": {"zig": {"command": ["/no/such/zls"], "extensions": ["zig"]}}},
    }));
    let loaded = run("skill", r#"{"action": "load", "name": "greet"}"#);
    assert!(stdout(&loaded).contains("Say hello."), "{}", stdout(&loaded));
    let diagnosed = run("lsp_diagnostics", r#"{"path": "a.zig"}"#);
    assert!(stdout(&diagnosed).contains("looked for /no/such/zls"), "{}", stdout(&diagnosed));
    settings(serde_json::json!({"skills": {"path": []}}));
    let wrong = run("skill", "{}");
    assert_eq!(wrong.status.code(), Some(2));
    let why = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(why.contains("skills.path is not a setting; did you mean paths?"), "{why}");
}

/// Nobody who has mistyped the directory can search in it.
#[test]
fn a_workspace_that_is_not_there_is_named_without_advice_for_files() {
    let dir = tempfile::tempdir().unwrap();
    File::create(dir.path().join("file")).unwrap();
    let said = |name: &str| {
        let output = call(&dir.path().join(name), &["file_list", "{}"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        stdout(&output).to_owned()
    };
    let missing = said("missing");
    assert!(missing.contains("/missing; the workspace must be an existing one"), "{missing}");
    assert!(!missing.contains("search"), "{missing}");
    let file = said("file");
    assert!(file.contains("/file is not a directory; the workspace must be one"), "{file}");
}

/// A program that was started there mostly does not mean to hand out the whole disk, or every file of its user.
#[test]
fn the_root_and_the_home_directory_are_workspaces_only_by_name() {
    let home = tempfile::tempdir().unwrap();
    let link = tempfile::tempdir().unwrap().keep().join("home");
    std::os::unix::fs::symlink(home.path(), &link).unwrap();
    let run = |directory: &std::path::Path, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["call", "file_list", "{}"]).args(more).current_dir(directory).env("HOME", &link);
        command.output().unwrap()
    };
    for (directory, what) in
        [(std::path::Path::new("/"), "root of the file system"), (home.path(), "home directory")]
    {
        let refused = run(directory, &[]);
        assert_eq!(refused.status.code(), Some(1));
        let said = stdout(&refused);
        assert!(said.contains(what) && said.contains("pass --workspace DIR"), "{said}");
        assert!(run(directory, &["--workspace", "."]).status.success());
    }
    let below = home.path().join("project");
    std::fs::create_dir(&below).unwrap();
    assert!(run(&below, &[]).status.success());
    std::fs::remove_dir_all(link.parent().unwrap()).unwrap();
}

/// A host may have tools of any name, so that only the command line can tell.
#[test]
fn a_rule_of_the_command_line_names_a_tool_that_exists() {
    let workspace = tempfile::tempdir().unwrap();
    let run = |rule: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["call", "file_list", "{}", "--settings", "none", "--deny", rule, "--workspace"]);
        command.arg(workspace.path()).output().unwrap()
    };
    for (rule, meant) in [("rm", "a rule for a program is Bash(rm:*)"), ("Raed(x)", "did you mean Read?")] {
        let refused = run(rule);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(meant), "{rule}: {said}");
    }
    for rule in ["Read(x)", "Task", "mcp__files__write", "mcp__files__*"] {
        assert!(run(rule).status.success(), "{rule}");
    }
}

/// `HOME` may be wrong. The test only lists the user's real home directory.
#[test]
fn the_home_directory_of_the_list_of_users_is_a_workspace_only_by_name() {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let uid = rustix::process::geteuid().as_raw().to_string();
    let is_own = |fields: &Vec<&str>| fields.get(2) == Some(&&*uid);
    let own = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(is_own);
    let home = own.expect("the list has this user")[5];
    for other in ["/nonexistent", "relative", "/usr", ""] {
        let mut command = Command::new(PROGRAM);
        command.args(["call", "file_list", "{}"]).current_dir(home).env("HOME", other);
        let refused = command.output().unwrap();
        let said = stdout(&refused);
        assert!(
            said.contains("the home directory, which is a workspace only where it is named"),
            "{other}: {said}"
        );
    }
}

/// The same value for a program, and nothing that a terminal obeys or that reorders what a person reads.
#[test]
fn hidden_characters_of_results_are_escapes_in_json() {
    let workspace = tempfile::tempdir().unwrap();
    let content = "a\u{9b}2J\u{202e}b\u{200b}\u{e0041}";
    std::fs::write(workspace.path().join("a"), content).unwrap();
    for more in [&[][..], &["--pretty"]] {
        let arguments = [&["file_read", r#"{"path": "a"}"#], more].concat();
        let shown = stdout(&call(workspace.path(), &arguments).output().unwrap()).to_owned();
        assert!(!shown.contains(['\u{9b}', '\u{202e}', '\u{200b}', '\u{e0041}']), "{shown:?}");
        if more.is_empty() {
            let result: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(result["content"], content);
        }
    }
}

#[test]
fn the_network_is_on_as_a_whole_or_by_the_names_that_are_attached() {
    let dir = tempfile::TempDir::new_in("/var/tmp").unwrap();
    let proxy = |arguments: &[&str]| {
        let command = r#"{"command": "echo ${http_proxy-none} ${npm_config_cache-none}"}"#;
        let fixed = ["shell_exec", command, "--default", "allow"];
        call(dir.path(), &[&fixed, arguments].concat()).output().unwrap()
    };
    let file = dir.path().join("settings.json");
    std::fs::write(&file, r#"{"sandbox": {"network": ["one.example"]}}"#).unwrap();
    let file = file.to_str().unwrap();
    for (arguments, printed) in [
        (&[][..], "none /tmp/.cache/npm"),
        (&["--network"], "none /tmp/.cache/npm"),
        (&["--network=one.example", "--network=*.two.example:443"], "http://127.0.0.1:3128 /tmp/.cache/npm"),
        (&["--settings", file], "http://127.0.0.1:3128 /tmp/.cache/npm"),
        (&["--settings", file, "--network"], "none /tmp/.cache/npm"),
        (&["--allow", "Network(domain:one.example)"], "http://127.0.0.1:3128 /tmp/.cache/npm"),
    ] {
        let output = proxy(arguments);
        assert!(stdout(&output).contains(&format!("\"{printed}\\n\"")), "{arguments:?}: {output:?}");
    }
    for (wrong, part) in [
        (&["--network", "--network=one.example"][..], "give one of them"),
        (&["--network=https://one.example"], "write example.com"),
    ] {
        let output = proxy(wrong);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(part), "{wrong:?}: {output:?}");
    }
    let output = proxy(&["--network", "--deny", "Network(domain:one.example)"]);
    assert!(stdout(&output).contains("cannot hold"), "{output:?}");
}
