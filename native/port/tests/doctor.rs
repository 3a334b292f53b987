//! `beamai-port doctor`.

mod common;

use common::PROGRAM;
use serde_json::Value;
use std::process::{Command, Output};

fn doctor(mut command: Command) -> Output {
    let dir = tempfile::tempdir().unwrap();
    command.args(["doctor", "--json", "--workspace"]).arg(dir.path()).output().unwrap()
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn states(report: &Value) -> Vec<(&str, &str)> {
    let layers = report["layers"].as_array().unwrap().iter();
    layers.map(|layer| (layer["layer"].as_str().unwrap(), layer["state"].as_str().unwrap())).collect()
}

#[test]
fn every_layer_is_proved() {
    let output = doctor(Command::new(PROGRAM));
    let report = report(&output);
    assert!(output.status.success() && report["required_works"] == true, "{report:#}");
    let states = states(&report);
    let layers: std::collections::HashSet<&str> = states.iter().map(|(layer, _)| *layer).collect();
    assert_eq!((layers.len(), states.len()), (14, 16));
    for (layer, state) in states {
        // What only root can lose, only root can prove.
        let needs_root = ["no_capabilities", "landlock"].contains(&layer);
        assert!(state == "proved" || (needs_root && state == "on"), "{layer}: {state}");
    }
    assert!(report["programs"].as_array().unwrap().iter().any(|one| one["name"] == "bash"));
    assert!(report["language_servers"].as_array().unwrap().len() >= 7);
    assert_eq!(report["git"]["repository"], false);
    // Others of these tests may be at it.
    let is_left =
        |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".beamai-doctor");
    common::wait_until(|| !std::fs::read_dir("/var/tmp").unwrap().flatten().any(is_left));
}

#[test]
fn what_is_missing_is_told_with_the_reason() {
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", PROGRAM]);
    let output = doctor(command);
    let report = report(&output);
    assert!(output.status.code() == Some(1) && report["required_works"] == false, "{report:#}");
    let states = states(&report);
    assert!(
        states.contains(&("user_namespace", "off")) && states.contains(&("seccomp", "proved")),
        "{states:?}"
    );
    let user =
        report["layers"].as_array().unwrap().iter().find(|one| one["layer"] == "user_namespace").unwrap();
    assert!(user["why"].as_str().unwrap().contains("no space left on device"), "{user}");
}

#[test]
fn people_get_a_text_with_the_verdict() {
    let output = Command::new(PROGRAM).arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["isolation of commands", "ok  seccomp", "programs", "language servers", "works here"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(Command::new(PROGRAM).args(["doctor", "--jsn"]).output().unwrap().status.code(), Some(2));
}
