//! The settings file that a person keeps in the usual place.

use crate::common::{PROGRAM, required, wait_until};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const DENYING: &str = r#"{"permissions": {"deny": ["Read(secret)"]}}"#;

struct Fixture {
    config: TempDir,
    workspace: TempDir,
}

impl Fixture {
    fn new(settings: &str) -> Self {
        let (config, workspace) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        std::fs::create_dir(config.path().join("beamai")).unwrap();
        std::fs::write(config.path().join("beamai/settings.json"), settings).unwrap();
        std::fs::write(workspace.path().join("secret"), "x\n").unwrap();
        Self { config, workspace }
    }

    fn read(&self, workspace: &Path, more: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(["call", "file_read", "--path", "secret", "--workspace"]).arg(workspace).args(more);
        command.env("XDG_CONFIG_HOME", self.config.path()).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn it_is_read_unless_another_one_or_none_is_named() {
    let fixture = Fixture::new(DENYING);
    let workspace = fixture.workspace.path();
    let refused = fixture.read(workspace, &[]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(said(&refused).contains("Read(secret)"), "{}", said(&refused));
    let other = fixture.config.path().join("other.json");
    std::fs::write(&other, r#"{"sandbox": "required"}"#).unwrap();
    for more in [["--settings", "none"], ["--settings", other.to_str().unwrap()]] {
        let allowed = fixture.read(workspace, &more);
        assert!(allowed.status.success(), "{more:?}: {allowed:?}");
    }
}

#[test]
fn mistakes_in_it_are_named_with_its_path() {
    let fixture = Fixture::new("{\"permissions\": ");
    let wrong = fixture.read(fixture.workspace.path(), &[]);
    assert_eq!(wrong.status.code(), Some(2));
    let path = fixture.config.path().join("beamai/settings.json");
    assert!(
        said(&wrong).contains(&format!("settings file {}: it is not JSON from", path.display())),
        "{}",
        said(&wrong)
    );
}

/// A tool must not write what the next call is allowed to do.
#[test]
fn it_is_not_taken_from_where_tools_or_other_users_can_change_it() {
    let fixture = Fixture::new(DENYING);
    std::fs::write(fixture.config.path().join("secret"), "x\n").unwrap();
    let inside = fixture.read(fixture.config.path(), &[]);
    assert_eq!(inside.status.code(), Some(1), "{inside:?}");
    assert!(said(&inside).contains("where tools can change it"), "{}", said(&inside));

    let file = fixture.config.path().join("beamai/settings.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let writable = fixture.read(fixture.workspace.path(), &[]);
    assert_eq!(writable.status.code(), Some(2), "{writable:?}");
    assert!(said(&writable).contains("other users can change"), "{}", said(&writable));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();

    let above = fixture.config.path().join("beamai");
    std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o777)).unwrap();
    let replaceable = fixture.read(fixture.workspace.path(), &[]);
    let why = format!("other users can change {},", above.display());
    assert!(replaceable.status.code() == Some(2) && said(&replaceable).contains(&why), "{replaceable:?}");
    // Also where a link leads through it and out again.
    let through = fixture.config.path().join("through");
    std::fs::create_dir_all(through.join("in")).unwrap();
    std::fs::set_permissions(&through, std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o755)).unwrap();
    let kept = fixture.config.path().join("kept.json");
    std::fs::rename(&file, &kept).unwrap();
    std::os::unix::fs::symlink("../through/in/../../kept.json", &file).unwrap();
    let led = fixture.read(fixture.workspace.path(), &[]);
    let why = format!("other users can change {},", through.display());
    assert!(led.status.code() == Some(2) && said(&led).contains(&why), "{led:?}");
    std::fs::rename(&kept, &file).unwrap();

    std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o1777)).unwrap();
    let kept = fixture.read(fixture.workspace.path(), &[]);
    assert!(!said(&kept).contains("other users can change"), "{kept:?}");

    std::fs::hard_link(&file, fixture.config.path().join("other")).unwrap();
    let shared = fixture.read(fixture.workspace.path(), &[]);
    assert_eq!(shared.status.code(), Some(2), "{shared:?}");
    assert!(said(&shared).contains("several names"), "{}", said(&shared));
}

#[test]
fn a_link_into_the_workspace_is_seen_through() {
    let fixture = Fixture::new(DENYING);
    let own = fixture.config.path().join("beamai/settings.json");
    let inside = fixture.workspace.path().join("settings.json");
    std::fs::rename(&own, &inside).unwrap();
    std::os::unix::fs::symlink(&inside, &own).unwrap();
    let refused = fixture.read(fixture.workspace.path(), &[]);
    assert!(said(&refused).contains("where tools can change it"), "{}", said(&refused));
}

/// It may hold the key of a search engine.
#[test]
fn commands_do_not_see_it() {
    let fixture = Fixture::new(DENYING);
    let mut command = Command::new(PROGRAM);
    let shown = format!("cat {}/beamai/settings.json", fixture.config.path().display());
    command.args(["call", "shell_exec", "--command", &shown, "--allow", "Bash", "--workspace"]);
    let output =
        command.arg(fixture.workspace.path()).env("XDG_CONFIG_HOME", fixture.config.path()).output().unwrap();
    assert!(output.status.success() && !said(&output).contains("Read(secret)"), "{output:?}");
}

#[test]
fn a_place_that_leads_nowhere_or_is_no_file_is_an_error() {
    let fixture = Fixture::new(DENYING);
    let (beamai, workspace) = (fixture.config.path().join("beamai"), fixture.workspace.path());
    let file = beamai.join("settings.json");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("missing", &file).unwrap();
    assert!(said(&fixture.read(workspace, &[])).contains("settings.json leads nowhere"));
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(said(&fixture.read(workspace, &[])).contains("it is not a file"));
    std::fs::remove_dir_all(&beamai).unwrap();
    std::os::unix::fs::symlink("missing", &beamai).unwrap();
    assert!(said(&fixture.read(workspace, &[])).contains("beamai leads nowhere"));
    std::fs::remove_file(&beamai).unwrap();
    assert!(fixture.read(workspace, &[]).status.success());
}

/// A `..` leads where a link or a directory before it leads, and tools may exchange these.
#[test]
fn a_place_by_way_of_dots_is_refused() {
    let fixture = Fixture::new(DENYING);
    std::fs::create_dir(fixture.workspace.path().join("x")).unwrap();
    let dots = fixture.workspace.path().join("x/../config");
    for (variable, other) in [("XDG_CONFIG_HOME", "HOME"), ("HOME", "XDG_CONFIG_HOME")] {
        let mut command = Command::new(PROGRAM);
        command.args(["call", "file_read", "--path", "secret", "--workspace"]).arg(fixture.workspace.path());
        let output = command.env_remove(other).env(variable, &dots).output().unwrap();
        assert!(output.status.code() == Some(2) && said(&output).contains("has `..`"), "{output:?}");
        let output = command.args(["--settings", "none"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

/// A settings file that a tool made would apply to all later calls of the person.
#[test]
fn tools_do_not_make_it_where_it_is_missing() {
    for (workspace, made) in
        [("", ".config/beamai"), (".config", "beamai"), (".config/beamai", "."), ("dot", "b")]
    {
        let home = TempDir::new().unwrap();
        let home = home.path().canonicalize().unwrap();
        let config = home.join(".config");
        std::fs::create_dir_all(home.join("dot")).unwrap();
        std::fs::create_dir_all(if workspace == ".config/beamai" {
            config.join("beamai")
        } else {
            config.clone()
        })
        .unwrap();
        if workspace == "dot" {
            std::os::unix::fs::symlink("../dot/b", config.join("beamai")).unwrap();
        }
        let workspace = home.join(workspace);
        let path = format!("{made}/settings.json");
        // In a script, so that no word of the command names the file.
        std::fs::write(workspace.join("script"), format!("mkdir -p {made}; echo {{}} > {path}")).unwrap();
        let run = |tool: &str, args: serde_json::Value, sandbox: &str| {
            let mut command = Command::new(PROGRAM);
            command.args(["call", tool, &args.to_string(), "--default", "allow", "--settings", "none"]);
            command.args(["--sandbox", sandbox, "--workspace"]).arg(&workspace);
            command.env("HOME", &home).env_remove("XDG_CONFIG_HOME").output().unwrap()
        };
        for sandbox in [required(), "required:landlock".to_owned()] {
            let other = run("shell_exec", serde_json::json!({"command": "echo x > other"}), &sandbox);
            assert!(other.status.success(), "{}", said(&other));
            run("shell_exec", serde_json::json!({"command": "sh script"}), &sandbox);
            // For up to a second, an empty file may stand there.
            let made = std::fs::read_to_string(home.join(".config/beamai/settings.json"));
            assert_eq!(made.unwrap_or_default(), "", "{} {sandbox}", workspace.display());
        }
        let refused = run("file_write", serde_json::json!({"path": path, "content": "{}"}), &required());
        assert!(said(&refused).contains("permission_denied"), "{}", said(&refused));
        let kept = run("file_write", serde_json::json!({"path": "other", "content": "{}"}), &required());
        assert!(kept.status.success(), "{}", said(&kept));
        // Where the place is another one, the same script makes the file.
        std::fs::remove_file(config.join("beamai")).ok();
        let mut command = Command::new(PROGRAM);
        command.args([
            "call",
            "shell_exec",
            r#"{"command": "sh script"}"#,
            "--default",
            "allow",
            "--settings",
            "none",
        ]);
        command.args(["--sandbox", &required(), "--workspace"]).arg(&workspace).env("HOME", "/nonexistent");
        command.env_remove("XDG_CONFIG_HOME");
        assert!(command.status().unwrap().success());
        assert!(workspace.join(&path).exists(), "{}", workspace.display());
    }
}

#[test]
fn the_empty_file_that_keeps_commands_from_making_it_gives_no_settings() {
    let fixture = Fixture::new("");
    let (config, workspace) = (fixture.config.path(), fixture.workspace.path());
    let beamai = config.join("beamai");
    let file = beamai.join("settings.json");
    std::fs::remove_file(&file).unwrap();
    let mut running = Command::new(PROGRAM);
    let command = "touch started; until test -e go; do sleep 0.01; done";
    running.args(["call", "shell_exec", "--command", command, "--allow", "Bash", "--sandbox", &required()]);
    running.arg("--workspace").arg(&beamai).env("XDG_CONFIG_HOME", config).stdout(Stdio::null());
    let mut running = running.spawn().unwrap();
    wait_until(|| beamai.join("started").exists());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
    let meanwhile = fixture.read(workspace, &[]);
    std::fs::write(beamai.join("go"), "").unwrap();
    assert!(running.wait().unwrap().success());
    assert!(meanwhile.status.success(), "{}", said(&meanwhile));
    wait_until(|| !file.exists());
    // An empty file of the person is a mistake.
    std::fs::write(&file, "").unwrap();
    assert_eq!(fixture.read(workspace, &[]).status.code(), Some(2));
}
