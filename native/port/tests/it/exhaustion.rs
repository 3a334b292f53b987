//! What uses up memory, time, names and room: it ends, it says so, and other callers go on meanwhile.
#![cfg(target_os = "linux")]

use crate::common::{Env, host};
use beamai_base::{CancelToken, Reason};
use beamai_engine::{CallOptions, CallOutcome, Host};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A call that has to end within the milliseconds given.
fn call(host: &Host, tool: &str, args: Value, timeout: Option<u64>, cancel: &CancelToken) -> CallOutcome {
    let call = json!({"tool": tool, "args": args, "timeout": timeout});
    host.call(
        serde_json::from_value(call).unwrap(),
        CallOptions { cancel: cancel.clone(), ..CallOptions::default() },
    )
}

#[track_caller]
fn ok(host: &Host, tool: &str, args: Value) -> Value {
    match call(host, tool, args, None, &CancelToken::new()) {
        CallOutcome::Ok(value, _) => value,
        other => panic!("{other:?}"),
    }
}

/// Asserts that small calls are answered soon, again and again, while `busy` runs.
fn assert_others_go_on(host: &Host, busy: &[&(dyn Fn() + Sync)]) {
    std::thread::scope(|scope| {
        let busy: Vec<_> = busy.iter().map(|work| scope.spawn(work)).collect();
        let is_busy = || busy.iter().any(|work| !work.is_finished());
        let mut rounds = 0;
        while rounds < 20 && is_busy() {
            let start = Instant::now();
            assert_eq!(ok(host, "file_read", json!({"path": "small"}))["content"], "small\n");
            assert_eq!(ok(host, "shell_exec", json!({"command": "echo said"}))["stdout"], "said\n");
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
            rounds += 1;
        }
        // On a slow machine a round takes seconds, and what is busy ends by the clock.
        assert!(rounds > 0, "there was nothing to hold anybody up");
        busy.into_iter().for_each(|work| work.join().unwrap());
    });
}

/// Names in each of the directories: a quarter of a million in all, or with `BEAMAI_LONG` a million. Most file systems
/// allow a file no more than 65,000.
fn names() -> usize {
    if std::env::var_os("BEAMAI_LONG").is_some() { 62_500 } else { 15_625 }
}

const DIRECTORIES: usize = 16;

/// Very many names of files, in directories side by side. They are names of a few files: nobody's inodes run out.
fn very_many(dir: &Path) {
    std::thread::scope(|scope| {
        for directory in 0..DIRECTORIES {
            let directory = dir.join(format!("d{directory}"));
            scope.spawn(move || {
                std::fs::create_dir(&directory).unwrap();
                std::fs::write(directory.join("n0"), "needle\n").unwrap();
                for name in 1..names() {
                    std::fs::hard_link(directory.join("n0"), directory.join(format!("n{name}"))).unwrap();
                }
            });
        }
    });
}

/// Removing them takes as long as making them.
fn remove(dir: &Path) {
    std::thread::scope(|scope| {
        for directory in std::fs::read_dir(dir).unwrap() {
            scope.spawn(|| std::fs::remove_dir_all(directory.unwrap().path()));
        }
    });
}

#[test]
fn very_many_files_hold_nobody_up() {
    let (files, dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    very_many(files.path());
    std::fs::write(dir.path().join("small"), "small\n").unwrap();
    let many = host(files.path(), json!({"default": "allow"}), "required");
    let few = host(dir.path(), json!({"default": "allow"}), "required");
    // What is asked for is found, in an answer of bounded size.
    let found = ok(&many, "file_glob", json!({"pattern": "d3/n*", "limit": 10}));
    assert_eq!((found["files"].as_array().unwrap().len(), &found["truncated"]), (10, &json!(true)));
    let searches = [
        ("file_glob", json!({"pattern": "**/n*"})),
        ("file_list", json!({"depth": 5})),
        ("file_grep", json!({"pattern": "needle"})),
        ("shell_exec", json!({"command": "find . | wc -c"})),
    ];
    let search = |(tool, args): &(&str, Value)| {
        let start = Instant::now();
        match call(&many, tool, args.clone(), Some(4000), &CancelToken::new()) {
            CallOutcome::Ok(answer, _) => assert!(answer.to_string().len() < 1 << 20, "{tool}"),
            CallOutcome::Error(error) => assert_eq!(error.reason, Reason::Timeout, "{tool}: {error}"),
            other => panic!("{other:?}"),
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{tool}: {:?}", start.elapsed());
    };
    let work = searches.each_ref().map(|one| move || search(one));
    assert_others_go_on(&few, &work.each_ref().map(|work| work as &(dyn Fn() + Sync)));
    let cancel = CancelToken::new();
    std::thread::scope(|scope| {
        let grep = scope.spawn(|| call(&many, "file_grep", json!({"pattern": "nothing"}), None, &cancel));
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
        let start = Instant::now();
        assert!(
            matches!(grep.join().unwrap(), CallOutcome::Error(error) if error.reason == Reason::Cancelled)
        );
        assert!(start.elapsed() < Duration::from_secs(20), "{:?} after the cancel", start.elapsed());
    });
    remove(files.path());
}

const MEMORY_HOG: &str = "while :; do head -c 1G /dev/zero | tail >/dev/null; done";

#[test]
fn what_eats_memory_writes_without_end_or_never_sleeps_holds_nobody_up() {
    let env = Env::under(json!({"memory": 256 << 20, "processes": 200}));
    std::fs::write(env.path().join("small"), "small\n").unwrap();
    let hogs = [
        "yes",
        "yes >&2 & yes; wait",
        MEMORY_HOG,
        "while :; do for i in {1..300}; do sleep 1000 & done; wait; done",
        "while :; do :; done",
    ];
    let hog = |command: &&str| {
        let args = json!({"command": command, "timeout": 3000});
        match call(&env.host, "shell_exec", args, None, &CancelToken::new()) {
            // The kernel refuses each process more than the limit; together they may come to it first.
            CallOutcome::Error(error) if *command == MEMORY_HOG && error.reason == Reason::OutOfMemory => {}
            CallOutcome::Error(error) => assert_eq!(error.reason, Reason::Timeout, "{command}: {error}"),
            other => panic!("{command}: {other:?}"),
        }
    };
    let work = hogs.each_ref().map(|one| move || hog(one));
    assert_others_go_on(&env.host, &work.each_ref().map(|work| work as &(dyn Fn() + Sync)));
}

#[test]
fn a_line_of_64_mb_gives_a_small_answer() {
    let env = Env::new();
    let mut line = "x".repeat(64_000_000);
    line.push_str("needle");
    let written = ok(&env.host, "file_write", json!({"path": "f", "content": line}));
    assert_eq!(written["bytes_written"], 64_000_006);
    let calls = [
        ("file_read", json!({"path": "f"})),
        ("file_grep", json!({"pattern": "needle"})),
        ("file_edit", json!({"path": "f", "old_string": "needle", "new_string": "pin"})),
        ("shell_exec", json!({"command": "cat f"})),
        ("shell_exec", json!({"command": "cat f >&2"})),
    ];
    for (tool, args) in calls {
        let answer = ok(&env.host, tool, args.clone()).to_string();
        assert!(answer.len() < 1_200_000, "{tool} {args}: {} bytes", answer.len());
    }
    assert_eq!(std::fs::metadata(env.path().join("f")).unwrap().len(), 64_000_003);
}
