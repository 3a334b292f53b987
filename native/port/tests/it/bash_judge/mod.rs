//! What the reader of commands finds, held against what bash does.
//!
//! Generated commands, in plain and in hostile spellings, are run by a real bash in which every program and every file is
//! replaced by a record. Whatever ran or was opened must be in the reader's list, or the command was doubted.
//! `BEAMAI_COMMANDS` tries more commands, `BEAMAI_SEED` others, and `BEAMAI_THREADS` says how many at a time. A million
//! take about ten minutes of one core in a release build.
#![cfg(target_os = "linux")]

mod attempts;
mod generator;
mod held;
mod recorder;

use beamai_bash_reader::{Analysis, FIND_EXEC, Invocation, InvocationKind, Word, analyse, is_shell, started};
use beamai_engine::{CallRequest, Host};
use beamai_workspace::Workspace;
use generator::Generator;
use recorder::{Did, Recorder};
use serde_json::json;
use std::path::Path;

/// Commands in all, unless BEAMAI_COMMANDS says otherwise.
const COMMANDS: u64 = 6000;
/// Commands at a time, unless BEAMAI_THREADS says otherwise.
const THREADS: u64 = 2;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Whether a listed program can be what ran.
fn is_of(program: &Invocation, name: &str, args: &[String]) -> bool {
    let base = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let words = &program.words[1..];
    let is_name =
        program.name().is_some_and(|listed| base(&listed) == base(name)) || program.words[0].may_be(name);
    let has_any = words.iter().any(Word::may_split);
    is_name
        && (has_any
            || words.len() == args.len() && words.iter().zip(args).all(|(word, arg)| word.may_be(arg)))
}

fn is_among<'a>(mut files: impl Iterator<Item = &'a Word>, path: &str) -> bool {
    files.any(|file| file.may_be(path))
}

/// Whether a listed shell may run a file. What it reads there is its own: rules are about the shell, or the file.
fn may_be_its_script(program: &Invocation, path: &str) -> bool {
    program.standing == InvocationKind::Judged
        && program.name().is_some_and(|name| is_shell(name.rsplit('/').next().unwrap_or_default()))
        && program.words[1..].iter().any(|word| word.may_split() || word.may_be(path))
}

/// Whether `find` may start something, because the text does not show all of an option of it. The exec guard decides about that.
fn may_start_unseen(program: &Invocation) -> bool {
    let may_be_exec = |word: &Word| FIND_EXEC.iter().any(|exec| word.may_be(exec));
    let is_option = |word: &Word| word.text().is_none() && may_be_exec(word) && !word.may_be("x");
    program.system_name().is_some_and(|name| name == "find") && program.words.iter().any(is_option)
}

/// Whether what a command did is in the list.
fn is_listed(found: &Analysis, did: &Did) -> bool {
    match did {
        _ if found.programs.iter().any(may_start_unseen) => true,
        Did::Ran { name, args } => found.programs.iter().any(|program| is_of(program, name, args)),
        Did::Read(path) => {
            is_among(found.reads.iter().chain(&found.inputs), path)
                || found.programs.iter().any(|program| may_be_its_script(program, path))
        }
        Did::Wrote(path) => is_among(found.writes.iter(), path),
        Did::Set => false,
    }
}

/// A policy that allows everything but rm.
fn without_rm(directory: &Path) -> Host {
    let workspace = Workspace::open(directory).unwrap().id();
    let permissions = json!({"allow": ["Bash"], "deny": ["Bash(rm:*)"]});
    let settings = json!({"workspace": workspace, "permissions": permissions, "sandbox": "off"});
    Host::new(&serde_json::from_value(settings).unwrap(), std::sync::Arc::new(beamai_services::services()))
        .unwrap()
}

fn allows(host: &Host, command: &str) -> bool {
    let call: CallRequest =
        serde_json::from_value(json!({"tool": "shell_exec", "args": {"command": command}})).unwrap();
    host.explain(call).is_ok_and(|explained| explained["verdict"] == "allow")
}

#[derive(Default)]
struct Count {
    /// Commands without a doubt.
    sure: u64,
    /// Programs that these ran.
    ran: u64,
    /// Files that these opened.
    opened: u64,
    /// Commands that went on for ever.
    endless: u64,
    faults: Vec<String>,
}

impl Count {
    fn check(&mut self, seed: u64, recorder: &mut Recorder, no_rm: &Host) {
        let command = Generator::new(seed, recorder.shims()).command();
        let found = analyse(&command, Some(recorder::HOME));
        // The same when a program starts a shell with it, which takes no text for options.
        let shell = ["bash", "-c", &format!(" {command}")].map(str::to_owned);
        let started = started(&shell);
        // A command that is doubted is never run unasked.
        if !found.is_certain() {
            if started.is_certain() {
                self.faults
                    .push(format!("seed {seed}: {command:?} is doubted, but not as the text of a shell"));
            }
            return;
        }
        self.sure += 1;
        let Some(done) = recorder.run(&command) else { return self.endless += 1 };
        for did in &done {
            match did {
                Did::Ran { .. } => self.ran += 1,
                _ => self.opened += 1,
            }
        }
        // Nobody knows what a program that nobody knows runs; where a rule allows that program, so be it.
        let is_run = |wanted: &str| {
            done.iter()
                .any(|did| matches!(did, Did::Ran { name, .. } if name.rsplit('/').next() == Some(wanted)))
        };
        // The home directory of a started shell is not known, so more is doubted there.
        let is_doubted = !started.is_certain();
        let is_missed = |did: &&Did| !is_listed(&found, did) || !is_doubted && !is_listed(&started, did);
        if let Some(missed) = done.iter().find(is_missed).filter(|_| !is_run("wrap")) {
            let listed: Vec<String> = found.programs.iter().map(Invocation::shown).collect();
            self.faults.push(format!("seed {seed}: {command:?} did {missed:?}, not in {listed:?}"));
        }
        // Nor can words tell what such a program starts: the exec guard does.
        if is_run("rm") && !is_run("wrap") && allows(no_rm, &command) {
            self.faults.push(format!("seed {seed}: {command:?} ran rm, which is denied"));
        }
    }
}

fn work(thread: u64, threads: u64, commands: u64) -> Count {
    let mut recorder = Recorder::new();
    let no_rm = without_rm(&recorder.workspace());
    let first = number("BEAMAI_SEED", 0);
    let mut count = Count::default();
    for seed in (thread..commands).step_by(threads as usize) {
        count.check(first + seed, &mut recorder, &no_rm);
        if count.faults.len() >= 50 {
            break;
        }
    }
    count
}

#[test]
fn whatever_bash_does_is_in_the_list_or_was_doubted() {
    let commands = number("BEAMAI_COMMANDS", COMMANDS);
    let count = number("BEAMAI_THREADS", THREADS).max(1);
    let threads: Vec<_> =
        (0..count).map(|thread| std::thread::spawn(move || work(thread, count, commands))).collect();
    let mut all = Count::default();
    for thread in threads {
        let count = thread.join().unwrap();
        all.sure += count.sure;
        all.ran += count.ran;
        all.opened += count.opened;
        all.endless += count.endless;
        all.faults.extend(count.faults);
    }
    println!(
        "{commands} commands, {} without a doubt: {} programs run, {} files opened, {} endless",
        all.sure, all.ran, all.opened, all.endless
    );
    assert!(all.faults.is_empty(), "{} faults:\n{}", all.faults.len(), all.faults.join("\n"));
    // The comparison means something: much was sure, and much of it was run.
    assert!(all.sure > commands / 6 && all.ran > commands / 5 && all.opened > commands / 40);
    assert!(all.endless < commands / 200);
}

#[test]
fn the_recorder_sees_what_happens() {
    let mut recorder = Recorder::new();
    let done = recorder.run("git 'a b' && env X=1 rm -rf x | cat > out < null; export GIT_X=1").unwrap();
    let ran = |wanted: &str, args: &[&str]| {
        done.iter().any(|did| {
            matches!(did, Did::Ran { name, args: got } if name.rsplit('/').next() == Some(wanted) && got == args)
        })
    };
    assert!(
        ran("git", &["a b"]) && ran("env", &["X=1", "rm", "-rf", "x"]) && ran("rm", &["-rf", "x"]),
        "{done:?}"
    );
    for did in [Did::Wrote("out".into()), Did::Read("null".into()), Did::Set] {
        assert!(done.contains(&did), "{did:?} in {done:?}");
    }
    // What one command leaves behind is no matter of the next.
    assert_eq!(recorder.run("(no; a) & exit 3").unwrap().len(), 2);
    assert_eq!(recorder.run(":").unwrap(), []);
    assert_eq!(recorder.run("while :; do :; done"), None);
    assert_eq!(recorder.run("b").unwrap().len(), 1);
    assert!(!recorder.workspace().join("out").exists());
}
