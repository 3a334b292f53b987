//! What the judge of commands finds, held against what bash does.
//!
//! Thousands of generated commands, in plain and in hostile spellings, are run by a real bash whose PATH has nothing but
//! programs that record how they are called. Whatever ran must be in the judge's list, or the verdict was not allow.
#![cfg(target_os = "linux")]

mod generator;
mod recorder;

use beamai_tools::command::{Program, analyse};
use beamai_tools::engine::{Call, Host};
use beamai_tools::workspace::Workspace;
use generator::Generator;
use recorder::{Ran, Recorder};
use serde_json::{Value, json};

/// Commands in all.
const COMMANDS: u64 = 6000;
const THREADS: u64 = 4;

fn host(directory: &std::path::Path, permissions: Value) -> Host {
    let workspace = Workspace::open(directory).unwrap().id();
    let settings = json!({"workspace": workspace, "permissions": permissions, "sandbox": "off"});
    Host::new(&serde_json::from_value(settings).unwrap()).unwrap()
}

fn allows(host: &Host, command: &str) -> bool {
    let call: Call =
        serde_json::from_value(json!({"tool": "shell_exec", "args": {"command": command}})).unwrap();
    host.explain(call).is_ok_and(|explained| explained["verdict"] == "allow")
}

/// Whether a listed program can be what ran.
fn is_of(program: &Program, ran: &Ran) -> bool {
    let name = program.name().is_some_and(|name| name.rsplit('/').next() == Some(&ran.name));
    let args = &program.words[1..];
    // A tilde is a directory, and which one is no matter of the words.
    let is_known = args.iter().all(|word| word.text().is_some_and(|text| !text.starts_with('~')));
    name && (!is_known || args.iter().map(|word| word.text().unwrap()).eq(ran.args.iter().cloned()))
}

#[derive(Default)]
struct Count {
    ran: usize,
    allowed: usize,
    faults: Vec<String>,
}

fn check(seed: u64, recorder: &Recorder, hosts: &[Host; 2], count: &mut Count) {
    let command = Generator::new(seed, recorder.shims()).command();
    let [everything, no_rm] = hosts;
    let is_allowed = allows(everything, &command);
    let is_free_of_rm = allows(no_rm, &command);
    let ran = recorder.run(&command);
    count.ran += ran.len();
    count.allowed += usize::from(is_allowed);
    let found = analyse(&command);
    let missed = ran.iter().find(|ran| !found.programs.iter().any(|program| is_of(program, ran)));
    // Nobody knows what a program that nobody knows runs; where a rule allows that program, so be it.
    let is_known = !ran.iter().any(|ran| ran.name == "wrap");
    if let Some(missed) = missed.filter(|_| is_allowed && is_known) {
        let listed: Vec<String> = found.programs.iter().map(Program::shown).collect();
        count.faults.push(format!("seed {seed}: {command:?} ran {missed:?}, not in {listed:?}"));
    }
    if is_free_of_rm && ran.iter().any(|ran| ran.name == "rm") {
        count.faults.push(format!("seed {seed}: {command:?} ran rm, which is denied"));
    }
}

/// Where the seeds begin; another number in BEAMAI_SEED tries other commands.
fn first_seed() -> u64 {
    std::env::var("BEAMAI_SEED").map_or(0, |seed| seed.parse().expect("BEAMAI_SEED is a number"))
}

fn work(thread: u64) -> Count {
    let recorder = Recorder::new();
    let hosts = [
        host(recorder.workspace(), json!({"allow": ["Bash(*)", "Write"]})),
        host(recorder.workspace(), json!({"allow": ["Bash"], "deny": ["Bash(rm:*)"]})),
    ];
    let mut count = Count::default();
    for seed in (thread..COMMANDS).step_by(THREADS as usize) {
        check(first_seed() + seed, &recorder, &hosts, &mut count);
    }
    count
}

#[test]
fn whatever_bash_runs_is_in_the_list_or_was_not_allowed() {
    let threads: Vec<_> = (0..THREADS).map(|thread| std::thread::spawn(move || work(thread))).collect();
    let mut all = Count::default();
    for thread in threads {
        let count = thread.join().unwrap();
        all.ran += count.ran;
        all.allowed += count.allowed;
        all.faults.extend(count.faults);
    }
    println!("{COMMANDS} commands, {} programs run, {} commands allowed", all.ran, all.allowed);
    assert!(all.faults.is_empty(), "{} faults:\n{}", all.faults.len(), all.faults.join("\n"));
    // The comparison means something: much was run, and much of it was allowed.
    assert!(all.ran > 10_000 && all.allowed > COMMANDS as usize / 10, "{} {}", all.ran, all.allowed);
}

#[test]
fn the_recorder_sees_what_runs() {
    let recorder = Recorder::new();
    let ran = recorder.run("git 'a b' && env X=1 rm -rf x | cat");
    let mut names: Vec<&str> = ran.iter().map(|ran| &*ran.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["cat", "env", "git", "rm"]);
    assert_eq!(ran.iter().find(|ran| ran.name == "git").unwrap().args, ["a b"]);
}
