//! What the host's own `HOME` and `PATH` mean where they lead through links.

use crate::common::{PROGRAM, required};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn call(variable: (&str, &Path), workspace: &Path, rules: &[&str], tool: &str, args: &Value) -> Value {
    call_with(&[variable], workspace, rules, tool, args)
}

fn call_with(
    variables: &[(&str, &Path)],
    workspace: &Path,
    rules: &[&str],
    tool: &str,
    args: &Value,
) -> Value {
    let mut command = Command::new(PROGRAM);
    command.args(["call", tool, &args.to_string(), "--settings", "none", "--sandbox", &required()]);
    command.args(rules).arg("--workspace").arg(workspace).envs(variables.iter().copied());
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// A `..` that follows a link leaves the directory that the link leads to.
#[test]
fn rules_and_commands_mean_the_same_home_directory() {
    let dir = TempDir::new_in("/var/tmp").unwrap();
    let top = dir.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("x/y")).unwrap();
    symlink("x/y", top.join("link")).unwrap();
    fs::write(top.join("secret"), "SECRET").unwrap();
    fs::write(top.join("script"), "cat secret; echo x > new").unwrap();
    for home in [top.clone(), top.join("link/../..")] {
        let rules =
            ["--deny", "Read(~/secret)", "--deny", "Edit(~/new)", "--allow", "Bash", "--allow", "Write"];
        let run = |tool: &str, args: Value| call(("HOME", &home), &top, &rules, tool, &args);
        let shell = |command: &str| run("shell_exec", json!({"command": command}));
        // No word of the command names the files.
        let read = shell("echo ~; sh ./script");
        assert_eq!(read["stdout"], format!("{}\n", top.display()), "{read}");
        let read = run("file_read", json!({"path": "secret"}));
        assert_eq!(read["details"]["matched_rule"], "Read(~/secret)", "{read}");
        let written = run("file_write", json!({"path": "new", "content": "x"}));
        assert_eq!(written["details"]["matched_rule"], "Edit(~/new)", "{written}");
        assert!(!top.join("new").exists());
    }
    let allowed = ["--allow", "Write(~/**)", "--default", "deny"];
    let home = top.join("link/..");
    let write = |path: &str| {
        call(("HOME", &home), &top, &allowed, "file_write", &json!({"path": path, "content": ""}))
    };
    assert_eq!(write("elsewhere")["details"]["reason"], "denied");
    assert!(write("x/there").get("details").is_none() && top.join("x/there").exists());
}

fn program_at(path: &Path) {
    fs::write(path, "#!/bin/sh\necho ran\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn commands_find_programs_where_rules_look_for_their_names() {
    let (dir, home) = (TempDir::new_in("/var/tmp").unwrap(), TempDir::new_in("/var/tmp").unwrap());
    let (workspace, home) = (dir.path(), home.path());
    fs::create_dir(home.join("bin")).unwrap();
    fs::create_dir(workspace.join("here")).unwrap();
    let program = home.join("program");
    program_at(&program);
    program_at(&workspace.join("here/relative"));
    symlink(&program, home.join("bin/tool")).unwrap();
    let variables = [("HOME", home), ("PATH", Path::new("~/bin:./here:/proc/self/cwd/here::/usr/bin:/bin"))];
    let run = |rules: &[&str], command: &str| {
        let args = json!({"command": command});
        call_with(&variables, workspace, rules, "shell_exec", &args)["stdout"].clone()
    };
    let listed = format!("{}:/usr/bin:/bin\nran\n", home.join("bin").display());
    assert_eq!(run(&["--allow", "Bash"], "echo \"$PATH\"; tool; relative"), listed);
    for command in ["tool", program.to_str().unwrap()] {
        assert_ne!(run(&["--allow", "Bash", "--deny", "Bash(tool:*)"], command), "ran\n", "{command}");
    }
}

#[test]
fn a_denied_name_is_also_the_file_that_a_link_in_the_workspace_leads_to() {
    let (dir, other) = (TempDir::new_in("/var/tmp").unwrap(), TempDir::new_in("/var/tmp").unwrap());
    fs::create_dir(other.path().join("bin")).unwrap();
    let program = other.path().join("program");
    program_at(&program);
    symlink(&program, other.path().join("bin/tool")).unwrap();
    symlink(other.path().join("bin"), dir.path().join("link")).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.path().join("link").display());
    let command = json!({"command": program});
    let run = |rules: &[&str]| {
        call(("PATH", path.as_ref()), dir.path(), rules, "shell_exec", &command)["stdout"].clone()
    };
    assert_eq!(run(&["--allow", "Bash"]), "ran\n");
    assert_ne!(run(&["--allow", "Bash", "--deny", "Bash(tool:*)"]), "ran\n");
}
