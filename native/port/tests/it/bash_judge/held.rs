//! What the judge allows, held against the exec guard.
//!
//! Both read the same words, the judge in a text and the guard as a program starts. Where they differ, a command that needed no
//! approval ends in the middle.

use super::generator::Generator;
use super::number;
use crate::common::PROGRAM;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Commands in all, unless BEAMAI_HELD_COMMANDS says otherwise.
const COMMANDS: u64 = 400;

/// The programs of the generated commands, and those that take their places.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("/usr/bin/true", &["git", "rm", "ls", "cat", "cp", "npm", "make", "a", "b", "curl", "sudo", "busybox"]),
    ("/usr/bin/echo", &["say"]),
    ("/usr/bin/false", &["no"]),
];
/// Programs of the system that need rules, too.
const OTHERS: [&str; 5] = ["find", "bash", "sh", "env", "true"];

/// A directory of programs that commands cannot write, and rules for all of them.
struct Scene {
    tools: TempDir,
    rules: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let tools = TempDir::new_in("/var/tmp").unwrap();
        let mut rules = vec!["Write(**)".to_owned()];
        for (program, names) in PROGRAMS {
            for name in names {
                std::fs::copy(program, tools.path().join(name)).unwrap();
                rules.push(format!("Bash({name}:*)"));
            }
        }
        rules.extend(OTHERS.map(|name| format!("Bash({name}:*)")));
        Self { tools, rules }
    }

    /// The result of a command in a workspace of its own, and what in it went wrong.
    fn run(&self, command: &str) -> (bool, Option<Value>) {
        let workspace = TempDir::new_in("/var/tmp").unwrap();
        for name in ["null", "x1"] {
            std::fs::write(workspace.path().join(name), "x\n").unwrap();
        }
        let mut port = Command::new(PROGRAM);
        port.args(["call", "shell_exec", "-"]);
        port.args(self.rules.iter().flat_map(|rule| ["--allow", rule]));
        port.current_dir(workspace.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.tools.path().display()));
        let mut port = port.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let call = json!({"command": command, "timeout": 4000}).to_string();
        port.stdin.take().unwrap().write_all(call.as_bytes()).unwrap();
        let output = port.wait_with_output().unwrap();
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let refused = value["refused"].as_array().into_iter().flatten();
        let is_wrong = !value["details"]["stopped"].is_null()
            || refused
                .filter_map(|refused| refused["program"].as_str())
                .any(|path| may_be_file(workspace.path(), path));
        (output.status.success(), is_wrong.then_some(value))
    }
}

/// Whether the rules cover what is written there, and it can be a file.
fn may_be_file(workspace: &Path, path: &str) -> bool {
    let path: PathBuf = workspace.join(path).components().collect();
    path.starts_with(workspace) && !path.is_dir()
}

#[test]
fn what_rules_cover_is_neither_ended_nor_refused() {
    let (scene, first) = (Scene::new(), number("BEAMAI_SEED", 0));
    let (commands, mut ran, mut faults) = (number("BEAMAI_HELD_COMMANDS", COMMANDS), 0, Vec::new());
    for seed in first..first + commands {
        let command = Generator::new(seed, scene.tools.path().to_owned()).command();
        let (is_ok, wrong) = scene.run(&command);
        ran += u64::from(is_ok);
        faults.extend(wrong.map(|value| format!("seed {seed}: {command:?}: {value}")));
    }
    println!("{commands} commands, {ran} ran");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(ran > commands / 10, "{ran}");
}
