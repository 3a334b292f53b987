//! What stands between a command and the machine, and that results tell it truly.

use crate::common::{Env, LAYERS, PROGRAM, assert_none_left, is_root, marker};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Leaves three processes behind that nothing but the reaper can find.
const LEAVES_THREE: &str = "setsid sleep 1000 >/dev/null 2>&1 & (setsid sleep 1000 &) >/dev/null 2>&1; \
                            sleep 1000 >/dev/null 2>&1 & id -u; cat /proc/self/status | grep CapEff";

/// The port program where everybody can execute it.
fn program_for_all(dir: &Path) -> PathBuf {
    let program = dir.join("beamai-port");
    std::fs::copy(PROGRAM, &program).unwrap();
    std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
    program
}

fn call(mut command: Command, sandbox: &str, workspace: &Path, args: &Value) -> Value {
    let output = command
        .args(["call", "--default", "allow", "--sandbox", sandbox, "--workspace"])
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

/// The port program in a user namespace in which there may be no further one, and without a capability to do without.
fn where_namespaces_are_refused() -> Command {
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", PROGRAM]);
    command
}

#[test]
fn privileges_do_in_place_of_a_user_namespace_for_a_host_that_takes_what_there_is() {
    let env = Env::new();
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", PROGRAM]);
    let victim = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    let attempt = format!("echo x > {}; grep CapEff /proc/self/status", victim.path().display());
    let result = call(command, "best_effort", env.path(), &json!({"command": attempt}));
    assert_eq!(layers(&result), LAYERS[1..], "{result}");
    assert_eq!(
        why_off(&result, "user_namespace"),
        Some("cannot make the namespace: no space left on device")
    );
    assert_eq!(result["stdout"], "CapEff:\t0000000000000000\n");
    assert_eq!(std::fs::read(victim.path()).unwrap(), b"");
}

#[test]
fn required_isolation_that_is_not_there_is_refused_before_anything_runs() {
    let env = Env::new();
    let error =
        call(where_namespaces_are_refused(), "required", env.path(), &json!({"command": "touch ran"}));
    assert_eq!(error["details"]["reason"], "isolation_unavailable", "{error}");
    assert_eq!(error["details"]["layer"], "user_namespace");
    let message = error["message"].as_str().unwrap();
    for part in ["user_namespace", "no space left", "doctor", "best_effort"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!env.path().join("ran").exists());
}

#[test]
fn the_result_says_what_was_on_and_what_was_off() {
    let result = Env::with("best_effort").run("true");
    assert_eq!(result["isolation"]["mode"], "best_effort");
    assert_eq!((layers(&result), &result["isolation"]["off"]), (LAYERS.to_vec(), &json!([])));
    let result = Env::under(json!({"network": true})).run("true");
    assert_eq!(why_off(&result, "network_namespace"), Some("the network is switched on"));
    assert_eq!(layers(&result).len(), LAYERS.len() - 1);
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
fn without_privileges_a_user_namespace_leads_to_the_other_layers() {
    let (env, mark) = (Env::new(), marker());
    let program = program_for_all(env.path());
    let mut command = Command::new(program);
    if is_root() {
        // Such a user may not look for a settings file in the home directory of this one.
        command.uid(65_534).gid(65_534).env("HOME", "/nonexistent").env_remove("XDG_CONFIG_HOME");
    }
    let args = json!({"command": LEAVES_THREE, "env": {"MARK": mark}});
    let result = call(command, "required", env.path(), &args);
    // All layers are on.
    assert_eq!(result["isolation"], Value::Null, "{result}");
    // Whoever is nobody special outside is nobody special inside.
    let stdout = result["stdout"].as_str().unwrap();
    assert!(stdout.ends_with("CapEff:\t0000000000000000\n") && !stdout.starts_with("0\n"), "{result}");
    assert_eq!(result["killed"], 3, "{result}");
    assert_none_left(&mark);
}

#[test]
fn where_namespaces_are_refused_the_result_says_why_and_nothing_survives_all_the_same() {
    let (env, mark) = (Env::new(), marker());
    let victim = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    let command = format!("{LEAVES_THREE}; echo x > {}; touch here", victim.path().display());
    let args = json!({"command": command, "env": {"MARK": mark}});
    let result = call(where_namespaces_are_refused(), "best_effort", env.path(), &args);
    // What is left holds without them.
    assert_eq!(
        layers(&result),
        ["resource_limits", "no_capabilities", "no_new_privileges", "landlock", "signal_scope", "seccomp"],
        "{result}"
    );
    assert_eq!(std::fs::read(victim.path()).unwrap(), b"");
    assert!(env.path().join("here").exists());
    assert_eq!(
        why_off(&result, "user_namespace"),
        Some("cannot make the namespace: no space left on device")
    );
    for layer in ["pid_namespace", "mount_namespace", "private_proc"] {
        assert!(why_off(&result, layer).unwrap().starts_with("not without user_namespace: "), "{result}");
    }
    assert_eq!(result["killed"], 3, "{result}");
    assert_none_left(&mark);
}

#[test]
fn where_namespaces_are_refused_secrets_and_sockets_are_out_of_reach_all_the_same() {
    let (env, home) = (Env::new(), tempfile::TempDir::new_in("/var/tmp").unwrap());
    std::fs::create_dir(home.path().join(".ssh")).unwrap();
    for (file, text) in [(".ssh/id", "SECRET "), (".netrc", "SECRET "), (".profile", "PLAIN ")] {
        std::fs::write(home.path().join(file), text).unwrap();
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let service = std::os::unix::net::UnixListener::bind(home.path().join("service")).unwrap();
    let attempts = [
        format!("tcp {}", listener.local_addr().unwrap()),
        format!("unix {}", home.path().join("service").display()),
        "call ptrace".to_owned(),
        "call io_uring_setup".to_owned(),
        "call keyctl".to_owned(),
        "signal $launcher".to_owned(),
    ];
    let attempts = attempts.map(|attempt| format!("{PROGRAM} attack {attempt} 2>/dev/null && echo done"));
    // The token is in the environment of the port.
    let search = "grep -al token-of-the-port /proc/[0-9]*/environ 2>/dev/null | wc -l";
    let command = format!(
        "read -r _ _ _ launcher _ </proc/$PPID/stat; cat ~/.ssh/id ~/.netrc ~/.profile 2>/dev/null; {search}; {}; true",
        attempts.join("; ")
    );
    let run = |sandbox: &str| {
        let mut port = where_namespaces_are_refused();
        port.env("HOME", home.path()).env("TOKEN", "token-of-the-port");
        let result = call(port, sandbox, env.path(), &json!({"command": command}));
        result["stdout"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    };
    let free = run("off");
    assert!(free.starts_with("SECRET SECRET PLAIN ") && !free.contains("PLAIN 0\n"), "{free}");
    assert_eq!(free.matches("done").count(), attempts.len(), "{free}");
    assert_eq!(run("best_effort"), "PLAIN 0\n");
    drop((listener, service));
}

/// Every layer was on: that is what the host asked for, and costs a model 14 names with each command to hear.
#[test]
fn a_result_speaks_of_isolation_where_a_layer_is_off_or_the_host_wants_to_hear_it() {
    let isolation = |sandbox: Value| {
        let dir = tempfile::tempdir().unwrap();
        let workspace = beamai_workspace::Workspace::open(dir.path()).unwrap().id();
        let settings =
            json!({"workspace": workspace, "permissions": {"default": "allow"}, "sandbox": sandbox});
        beamai_process::set_program(PROGRAM);
        let host = beamai_engine::Host::new(
            &serde_json::from_value(settings).unwrap(),
            std::sync::Arc::new(beamai_services::services()),
        )
        .unwrap();
        let call = crate::common::call(json!({"command": "true"}));
        match host.call(call, beamai_engine::CallOptions::default()) {
            beamai_engine::CallOutcome::Ok(result, _) => result.get("isolation").cloned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(isolation(json!({})), None);
    assert_eq!(isolation(json!({"report": "always"})).unwrap()["off"], json!([]));
    assert_eq!(isolation(json!({"network": true})).unwrap()["off"][0]["layer"], "network_namespace");
    assert_eq!(isolation(json!("off")).unwrap()["mode"], "off");
}
