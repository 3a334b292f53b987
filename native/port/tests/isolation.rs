//! What stands between a command and the machine, and that results tell it truly.

mod common;

use beamai_tools::Reason;
use common::{Env, PROGRAM, assert_none_left, marker};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Leaves three processes behind that nothing but the reaper can find.
const LEAVES_THREE: &str = "setsid sleep 1000 >/dev/null 2>&1 & (setsid sleep 1000 &) >/dev/null 2>&1; \
                            sleep 1000 >/dev/null 2>&1 & id -u; cat /proc/self/status | grep CapEff";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The port program where everybody can execute it.
fn program_for_all(dir: &Path) -> PathBuf {
    let program = dir.join("beamai-port");
    std::fs::copy(PROGRAM, &program).unwrap();
    std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
    program
}

fn call(mut command: Command, workspace: &Path, args: &Value) -> Value {
    let output = command
        .args(["call", "--default", "allow", "--workspace"])
        .arg(workspace)
        .args(["shell_exec", &args.to_string()])
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn layers(result: &Value) -> Vec<&str> {
    result["isolation"]["on"].as_array().unwrap().iter().map(|layer| layer.as_str().unwrap()).collect()
}

fn why_off<'a>(result: &'a Value, layer: &str) -> Option<&'a str> {
    let off = result["isolation"]["off"].as_array().unwrap();
    off.iter().find(|one| one["layer"] == layer)?["why"].as_str()
}

#[test]
fn required_isolation_that_is_not_there_is_refused_before_anything_runs() {
    let env = Env::with("required");
    let error = env.fails(json!({"command": "touch ran"}));
    assert_eq!(error.reason, Reason::IsolationUnavailable);
    for part in ["network_namespace", "seccomp", "landlock", "best_effort"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert!(!env.path().join("ran").exists());
}

#[test]
fn the_result_says_what_was_on_and_what_was_off() {
    let result = Env::new().run("true");
    assert_eq!(result["isolation"]["mode"], "best_effort");
    assert_eq!(why_off(&result, "seccomp"), Some("not in this version"));
    let result = Env::with("off").run("true");
    assert_eq!(result["isolation"]["mode"], "off");
    assert!(layers(&result).is_empty());
    assert_eq!(why_off(&result, "pid_namespace"), Some("switched off"));
}

#[test]
fn a_command_sees_its_own_processes_only() {
    let own = std::process::id();
    let command = format!(
        "[ -e /proc/$$ ] && echo own; [ -e /proc/{own}/stat ] && echo host; set -- /proc/[0-9]*; echo $#"
    );
    let stdout = Env::new().stdout(&command);
    // Itself and its reaper.
    assert_eq!(stdout, "own\n2\n");
    assert!(Env::with("off").stdout(&command).contains("own\nhost\n"));
}

#[test]
fn what_a_command_mounts_is_mounted_for_nobody_else() {
    let env = Env::new();
    let result = env.run("mkdir m && mount -t tmpfs none m && touch m/inside && ls m");
    // Who may not mount has nothing to leak.
    assert_eq!(result["exit_code"] == 0, is_root(), "{result}");
    assert!(!env.path().join("m/inside").exists());
    assert_eq!(env.stdout("ls m"), "");
}

#[test]
fn without_privileges_a_user_namespace_leads_to_the_other_layers() {
    let (env, mark) = (Env::new(), marker());
    let program = program_for_all(env.path());
    let mut command = Command::new(program);
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let result = call(command, env.path(), &json!({"command": LEAVES_THREE, "env": {"MARK": mark}}));
    let on = layers(&result);
    if on.is_empty() {
        // A machine that forbids it: then the result has to say so.
        assert!(why_off(&result, "pid_namespace").unwrap().starts_with("cannot "), "{result}");
    } else {
        assert_eq!(on, ["user_namespace", "pid_namespace", "mount_namespace", "private_proc"]);
    }
    // Whoever is nobody special outside is nobody special inside.
    let stdout = result["stdout"].as_str().unwrap();
    assert!(stdout.ends_with("CapEff:\t0000000000000000\n") && !stdout.starts_with("0\n"), "{result}");
    assert_eq!(result["killed"], 3, "{result}");
    assert_none_left(&mark);
}

#[test]
fn where_namespaces_are_refused_the_result_says_why_and_nothing_survives_all_the_same() {
    let (env, mark) = (Env::new(), marker());
    // A user namespace in which there may be no further one, and no capability to do without.
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", PROGRAM]);
    let result = call(command, env.path(), &json!({"command": LEAVES_THREE, "env": {"MARK": mark}}));
    assert!(layers(&result).is_empty(), "{result}");
    for layer in ["pid_namespace", "mount_namespace", "private_proc"] {
        assert!(why_off(&result, layer).unwrap().starts_with("cannot make the namespaces: "), "{result}");
    }
    assert_eq!(result["killed"], 3, "{result}");
    assert_none_left(&mark);
}
