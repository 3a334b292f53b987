//! Starts that are refused or held, and what the answer is worth.

use super::{Fixture, Recorder, run, words};
use beamai_base::CancelToken;
use beamai_isolation::{HeldStart, StartCoverage, StartDecision};
use beamai_process::{ExitStatus, ProgramSpec, Shortcut};
use std::fs;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_start_that_is_refused_fails_and_the_command_goes_on() {
    let fixture = Fixture::new();
    let judge = Recorder::new(|start| match start.file.ends_with("rm") {
        true => StartDecision::Refuse,
        false => StartDecision::Start(StartCoverage::Judged),
    });
    fixture.put("file", "");
    let ran = fixture.run(&judge, "rm file; echo $?; find . -name file -exec rm {} \\;; ls");
    assert_eq!(ran.stdout, "126\nfile\n", "{ran:?}");
    assert!(ran.stderr.contains("Permission denied"), "{ran:?}");
    assert!(judge.starts().iter().any(|start| start.starter.program == Path::new("/usr/bin/find")));
}

#[test]
fn a_start_that_is_held_waits_for_its_answer_while_others_go_on() {
    let fixture = Fixture::new();
    let judge = || {
        Recorder::new(|start| match start.file.ends_with("date") {
            true => StartDecision::Hold,
            false => StartDecision::Start(StartCoverage::Judged),
        })
    };
    type Answer = fn(Box<dyn HeldStart>);
    let answers: [(Answer, &str); 3] = [
        (|held| held.start(StartCoverage::Everything), "other\n2001\n0\n"),
        (|held| held.refuse(), "other\n126\n"),
        (|held| drop(held), "other\n126\n"),
    ];
    for (answer, expected) in answers {
        let judge = judge();
        let command = "{ date -d 2001-01-01 +%Y; echo $?; } & sleep 0.2; /bin/echo other > out; cat out; : > went-on; wait";
        let spec = fixture.spec(&judge, command);
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&spec, &CancelToken::new()));
            let (start, held) = judge.held();
            assert_eq!(words(&start), ["date", "-d", "2001-01-01", "+%Y"]);
            let went_on = fixture.path().join("went-on");
            crate::common::wait_until(|| went_on.exists());
            answer(held);
            running.join().unwrap()
        });
        std::fs::remove_file(fixture.path().join("went-on")).unwrap();
        assert_eq!(ran.stdout, expected, "{ran:?}");
    }
}

#[test]
fn a_command_is_killed_while_a_start_of_it_is_held_and_the_answer_comes_too_late() {
    let fixture = Fixture::new();
    let judge = Recorder::new(|_| StartDecision::Hold);
    let cancel = CancelToken::new();
    let spec = fixture.spec(&judge, "date; touch never");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&spec, &cancel));
        let (_, held) = judge.held();
        cancel.cancel();
        let ran = running.join().unwrap();
        assert_eq!(ran.exit(), ExitStatus::Signal(9), "{ran:?}");
        held.start(StartCoverage::Everything);
    });
    assert!(!fixture.path().join("never").exists());
    // The next command has nothing of it.
    assert_eq!(fixture.run(&Recorder::all(), "/bin/echo next").stdout, "next\n");
}

/// A person takes time to answer, in which another process can exchange what was shown.
#[test]
fn an_allowed_start_is_of_what_was_asked_about_or_fails() {
    type Change = fn(&Fixture);
    fn link(fixture: &Fixture, target: &str) {
        let path = fixture.path().join("link");
        _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(target, path).unwrap();
    }
    let changes: [(Change, &str); 4] = [
        (|_| (), "x\n0\n"),
        (|fixture| link(fixture, "/bin/date"), "126\n"),
        (|fixture| fixture.put("script", "#!/bin/sh\necho another\n"), "126\n"),
        (|fixture| fs::remove_file(fixture.path().join("script")).unwrap(), "126\n"),
    ];
    for (at, (change, expected)) in changes.into_iter().enumerate() {
        let fixture = Fixture::new();
        fixture.put("script", "#!/bin/sh\necho \"$1\"\n");
        link(&fixture, "script");
        let judge = Recorder::new(|start| match start.called.ends_with("link") {
            true => StartDecision::Hold,
            false => StartDecision::Start(StartCoverage::Judged),
        });
        let spec = fixture.spec(&judge, "./link x; echo $?");
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&spec, &CancelToken::new()));
            let (_, held) = judge.held();
            change(&fixture);
            held.start(StartCoverage::Everything);
            running.join().unwrap()
        });
        assert_eq!(ran.stdout, expected, "{at}: {ran:?}");
    }
}

#[test]
fn what_takes_the_shells_place_is_judged_as_if_the_shell_started_it() {
    let fixture = Fixture::new();
    let spec = |judge: &Arc<Recorder>| ProgramSpec {
        shortcut: Some(Shortcut {
            candidates: ["/nowhere/true", "/bin/true"].map(Into::into).to_vec(),
            words: vec!["true".into(), "x".into()],
        }),
        ..fixture.spec(judge, "echo by shell")
    };
    let judge = Recorder::all();
    let ran = run(&spec(&judge), &CancelToken::new());
    assert_eq!((ran.stdout.as_str(), ran.exit()), ("", ExitStatus::Code(0)), "{ran:?}");
    let start = judge.start("true");
    assert_eq!((words(&start), start.called.as_path()), (vec!["true", "x"], Path::new("/bin/true")));
    assert_eq!(start.starter.program, Path::new("/bin/bash"));
    for decision in [StartDecision::Refuse, StartDecision::Hold] {
        let ran = run(&spec(&Recorder::new(move |_| decision)), &CancelToken::new());
        assert_eq!(ran.stdout, "by shell\n", "{ran:?}");
    }
}
