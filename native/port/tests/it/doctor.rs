//! `beamai-port doctor`.

use crate::common::PROGRAM;
use serde_json::Value;
use std::path::PathBuf;
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

/// What doctors have made outside of workspaces and not yet removed.
fn of_doctors() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/var/tmp").unwrap().flatten();
    let is_one =
        |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".beamai-doctor");
    entries.filter(is_one).map(|entry| entry.path()).collect()
}

#[test]
fn every_layer_is_proved() {
    let before = of_doctors();
    let output = doctor(Command::new(PROGRAM));
    let report = report(&output);
    assert!(output.status.success() && report["required_works"] == true, "{report:#}");
    let states = states(&report);
    let layers: std::collections::HashSet<&str> = states.iter().map(|(layer, _)| *layer).collect();
    assert_eq!((layers.len(), states.len()), (15, 17));
    for (layer, state) in states {
        // What only root can lose, only root can prove.
        let needs_root = ["no_capabilities", "landlock"].contains(&layer);
        assert!(state == "proved" || (needs_root && state == "on"), "{layer}: {state}");
    }
    assert!(report["programs"].as_array().unwrap().iter().any(|one| one["name"] == "bash"));
    assert!(report["language_servers"].as_array().unwrap().len() >= 7);
    assert_eq!(report["git"]["repository"], false);
    // Other doctors may be at it meanwhile; what they make goes as well.
    let left: Vec<PathBuf> = of_doctors().into_iter().filter(|path| !before.contains(path)).collect();
    crate::common::wait_until(|| left.iter().all(|path| !path.exists()));
}

#[test]
fn in_brief_there_is_a_line_for_what_is_missing_and_none_for_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let said = |path: &std::path::Path, args: &[&str]| {
        let output =
            Command::new(PROGRAM).args(["doctor", "--brief"]).args(args).env("PATH", path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let bin = tempfile::tempdir().unwrap();
    let nothing = said(bin.path(), &[]);
    for part in
        ["bash is not on the PATH", "git is not on the PATH", "sh (npm install", "python (pip install"]
    {
        assert!(nothing.contains(part), "{part}: {nothing}");
    }
    for name in ["bash", "git", "bash-language-server", "pylsp"] {
        std::os::unix::fs::symlink("/bin/sh", bin.path().join(name)).unwrap();
    }
    let less = said(bin.path(), &[]);
    assert!(!less.contains("not on the PATH") && !less.contains("pip install"), "{less}");
    assert!(less.contains("no language server for c ("), "{less}");
    let here = dir.path().to_str().unwrap();
    assert!(said(bin.path(), &["--workspace", here]).contains("no git repository for the git tools: "));
    assert!(!less.contains("repository"), "{less}");
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

#[test]
fn the_advice_is_that_for_people() {
    let bin = tempfile::tempdir().unwrap();
    let output = Command::new(PROGRAM).arg("doctor").env("PATH", bin.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Install pylsp: pip install") && text.contains("for --settings"), "{text}");
    assert!(!text.contains("Use grep") && !text.contains("The user can"), "{text}");
}
