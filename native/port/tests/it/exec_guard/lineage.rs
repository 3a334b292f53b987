//! What a start covers, and whose descendants have it.

use super::{Fixture, Recorder, is};
use beamai_isolation::{StartCoverage, StartDecision};
use beamai_process::ExitStatus;
use std::path::Path;
use std::sync::Arc;

/// Lets everything start; what `name` starts covers everything.
fn runner(name: &'static str) -> Arc<Recorder> {
    Recorder::new(move |start| match is(start, name) {
        true => StartDecision::Start(StartCoverage::Everything),
        false => StartDecision::Start(StartCoverage::Judged),
    })
}

#[test]
fn what_a_start_covers_counts_once_it_has_happened() {
    let (fixture, judge) = (Fixture::new(), runner("run"));
    fixture.put("run", "#!/bin/bash\n/bin/echo in\n");
    let ran = fixture.run(&judge, "./run; /bin/date > /dev/null; exec ./run");
    assert_eq!(ran.stdout, "in\nin\n", "{ran:?}");
    let starts = judge.starts();
    assert!(starts.iter().filter(|start| is(start, "echo")).all(|start| {
        start.starter.coverage == StartCoverage::Everything
            && start.starter.program == fixture.path().join("run")
    }));
    assert_eq!(judge.start("date").starter.coverage, StartCoverage::Judged);
}

#[test]
fn a_start_that_fails_covers_nothing() {
    let (fixture, judge) = (Fixture::new(), runner("run"));
    // The shell has the image that the start would give it.
    fixture.put("run", "#!/bin/bash\n:\n");
    let ran = fixture.run(
        &judge,
        "shopt -s execfail; long=$(printf %0200000d 1); exec ./run $long; echo $?; /bin/date >/dev/null",
    );
    assert_eq!(ran.stdout, "126\n", "{ran:?}");
    assert_eq!(judge.start("date").starter.coverage, StartCoverage::Judged);
    assert_eq!(judge.start("date").starter.program, Path::new("/bin/bash"));
    assert!(!judge.start("run").has_all_arguments);
    // What the kernel does not know how to run, bash interprets itself.
    let judge = runner("run");
    fixture.put("run", "/bin/date >/dev/null\necho interpreted\n");
    let ran = fixture.run(&judge, "./run; exec ./run");
    assert_eq!(ran.stdout, "interpreted\ninterpreted\n", "{ran:?}");
    let starts = judge.starts();
    let dates: Vec<_> = starts.iter().filter(|start| is(start, "date")).collect();
    assert!(
        dates.len() == 2 && dates.iter().all(|date| date.starter.coverage == StartCoverage::Judged),
        "{starts:?}"
    );
}

#[test]
fn what_was_forked_before_a_start_has_nothing_of_it() {
    let (fixture, judge) = (Fixture::new(), runner("run"));
    fixture.put("run", "#!/bin/bash\n/bin/echo in; sleep 0.5\n");
    let ran = fixture.run(&judge, "{ (read -t 0.2 <> <(:); /bin/date) & } >/dev/null; exec ./run");
    assert_eq!(ran.exit(), ExitStatus::Code(0), "{ran:?}");
    assert_eq!(judge.start("echo").starter.coverage, StartCoverage::Everything);
    assert_eq!(judge.start("date").starter.coverage, StartCoverage::Judged);
}

/// Forks twice, waits for the end of the process between, and starts a program.
const ORPHAN: &str = r"
import os, time
if os.fork() == 0:
    between = os.getpid()
    if os.fork() == 0:
        while os.getppid() == between: time.sleep(0.01)
        os.execv('/bin/date', ['date'])
    os._exit(0)
os.wait()
";

#[test]
fn an_orphan_has_the_least_that_its_program_has() {
    let (fixture, judge) = (
        Fixture::new(),
        Recorder::new(|start| {
            let has = |word: &str| start.arguments.iter().any(|own| own == word);
            match (is(start, "date"), has("much")) {
                (false, true) => StartDecision::Start(StartCoverage::Everything),
                _ => StartDecision::Start(StartCoverage::Judged),
            }
        }),
    );
    fixture.put("orphan.py", ORPHAN);
    let run = |command: &str| {
        judge.starts.lock().unwrap().clear();
        let ran = fixture.run(&judge, command);
        assert_eq!(ran.exit(), ExitStatus::Code(0), "{ran:?}");
        judge.start("date").starter
    };
    // Its own start is the only one that there is of its image. The pipe is open until the orphan ends.
    assert_eq!(run("python3 orphan.py much | cat >/dev/null").coverage, StartCoverage::Everything);
    let other = "mkfifo began; python3 -c 'import time; open(\"began\", \"w\").close(); time.sleep(100)' & read <began; ";
    let beside = format!("{other} python3 orphan.py much | cat >/dev/null; kill $!");
    assert_eq!(run(&beside).coverage, StartCoverage::Judged);
    assert_eq!(run("python3 -c '' much; python3 orphan.py | cat >/dev/null").coverage, StartCoverage::Judged);
}

/// Without random addresses, two starts of a program cannot be told from each other.
#[test]
fn programs_without_random_addresses_have_the_least_of_their_file() {
    let (fixture, judge) = (Fixture::new(), runner("run"));
    fixture.put("run", "#!/bin/bash\n/bin/echo in\n(/bin/echo below)\n");
    let ran = fixture.run(&judge, "setarch -R ./run; setarch -R /bin/bash -c '(/bin/date >/dev/null); :'");
    assert_eq!((ran.stdout.as_str(), ran.exit()), ("in\nbelow\n", ExitStatus::Code(0)), "{ran:?}");
    let starts = judge.starts();
    let inner: Vec<_> = starts.iter().filter(|start| is(start, "echo") || is(start, "date")).collect();
    assert!(
        inner.len() == 3 && inner.iter().all(|start| start.starter.coverage == StartCoverage::Judged),
        "{starts:?}"
    );
}
