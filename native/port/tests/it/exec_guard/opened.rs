//! Every file that a shell opens to write is seen, and can be refused.

use super::{Fixture, Ran, Recorder, is, run};
use beamai_base::CancelToken;
use beamai_isolation::{StartCoverage, StartDecision};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs a command whose shell's files are judged.
fn run_judged(fixture: &Fixture, judge: &Arc<Recorder>, command: &str) -> Ran {
    let mut spec = fixture.spec(judge, command);
    spec.coverage = StartCoverage::JudgedWithFiles;
    run(&spec, &CancelToken::new())
}

/// The files that a shell opens for a command, by their paths.
fn written(command: &str) -> (Fixture, Vec<(String, PathBuf)>) {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    fixture.put("there", "as it was\n");
    run_judged(&fixture, &judge, command);
    let written = judge.written.lock().unwrap().clone();
    (fixture, written)
}

#[test]
fn each_redirection_is_seen_as_the_shell_opens_it() {
    for (command, expected) in [
        ("echo x > a", &["a"][..]),
        ("echo x >> a; echo y >| ./b; : <> c", &["a", "./b", "c"]),
        ("set -C; echo x > a", &["a"]),
        ("cat &> a; { echo x; } 2>&1 > b; (exec 3> c)", &["a", "b", "c"]),
        ("n=a; echo x > $n$n; f() { echo y; } > b; f", &["aa", "b"]),
        ("exec {d}> a; echo x >&$d", &["a"]),
        ("cd /tmp && echo x > $OLDPWD/a; : < there", &["/a"]),
        ("cat <<< x; cat << END\n$(seq 30000)\nEND\n: > /dev/null", &["/dev/null"]),
        ("echo x > >(cat); echo x > /dev/stdout; echo x > /dev/fd/2", &[]),
        ("echo x | tee a; touch b; cp there c; cc --version > /dev/null", &["/dev/null"]),
    ] {
        let (_fixture, found) = written(command);
        assert_eq!(found.len(), expected.len(), "{command}: {found:?}");
        let is_it = |((found, _), expected): (&(String, PathBuf), &&str)| found.ends_with(expected);
        assert!(found.iter().zip(expected).all(is_it), "{command}: {found:?}");
    }
}

#[test]
fn a_descriptor_that_only_reads_is_opened_again_by_its_file() {
    for command in
        ["exec 2< there; echo x > /dev/stderr", "echo x 3< there > /dev/fd/3", "cat 2< there &> /dev/stderr"]
    {
        let (fixture, found) = written(command);
        let there = fixture.path().join("there");
        assert_eq!(found, [(there.to_str().unwrap().to_owned(), there)], "{command}");
    }
}

#[test]
fn a_refused_file_is_neither_made_nor_changed() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    fixture.put("old.refused", "as it was\n");
    let command = "echo x > refused; echo x >> old.refused; echo x 3< old.refused > /dev/fd/3; echo on";
    let ran = run_judged(&fixture, &judge, command);
    assert_eq!(ran.stdout, "on\n", "{ran:?}");
    assert_eq!(ran.stderr.matches("Permission denied").count(), 3, "{ran:?}");
    assert!(!fixture.path().join("refused").exists());
    assert_eq!(fs::read_to_string(fixture.path().join("old.refused")).unwrap(), "as it was\n");
}

#[test]
fn what_can_be_no_file_fails_as_it_does_without_the_guard() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    fixture.put("there", "as it was\n");
    let ran = run_judged(&fixture, &judge, r#"echo x > no/refused; echo x > there/refused; echo x > "$v""#);
    assert_eq!(ran.stderr.matches("No such file or directory").count(), 2, "{ran:?}");
    assert_eq!(ran.stderr.matches("Not a directory").count(), 1, "{ran:?}");
    assert_eq!(*judge.written.lock().unwrap(), []);
}

#[test]
fn a_file_is_told_by_where_its_path_leads_when_it_is_opened() {
    for (command, expected) in [
        ("echo x > a", "a"),
        ("mkdir d; cd d; echo x > ../b", "b"),
        ("ln -s there l; echo x > l", "there"),
        ("ln -s new l; ln -s l m; echo x > ./m", "new"),
        ("mkdir -p d/e; ln -s d/e l; echo x > l/../a", "d/a"),
        ("mkdir d; ln -s $PWD/d l; ln -s ../there d/m; echo x > l/m", "there"),
        ("cd /tmp; echo x > $OLDPWD/a", "a"),
    ] {
        let (fixture, found) = written(command);
        let files: Vec<_> = found.into_iter().map(|(_, file)| file).collect();
        assert_eq!(files, [fixture.path().join(expected)], "{command}");
    }
}

/// Files of other programs are not.
#[test]
fn the_files_of_each_shell_whose_text_was_judged_are_decided() {
    for (coverage, expected) in [
        (StartCoverage::JudgedWithFiles, &["a", "b", "d.refused"][..]),
        (StartCoverage::Judged, &["a"]),
        (StartCoverage::Everything, &["a"]),
    ] {
        let decide = move |is_shell| if is_shell { coverage } else { StartCoverage::Judged };
        let judge = Recorder::new(move |start| StartDecision::Start(decide(is(start, "bash"))));
        let fixture = Fixture::new();
        let inner = "(echo x > b); tee c < /dev/null; echo x > d.refused; :";
        run_judged(&fixture, &judge, &format!("echo x > a; env bash -c '{inner}'; :"));
        let written: Vec<_> = judge.written.lock().unwrap().iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(written, expected, "{coverage:?}");
        assert_eq!(fixture.path().join("d.refused").exists(), expected.len() == 1, "{coverage:?}");
    }
}

/// The port has descriptors with these numbers, too.
#[test]
fn what_a_link_to_a_descriptor_leads_to_is_not_known() {
    for command in [
        "exec 3< there; ln -s /proc/self/fd/3 l; echo x > l",
        "ln -s /proc/self/fd l; echo x > l/3 3< there",
        "ln -s /dev/fd/3 l; ln -s l m; echo x > m 3< there",
        "ln -s /proc/thread-self/fd l; echo x > l/0 < there",
        "ln -s /proc l; echo x > l/self/fd/3 3< there",
        "ln -s /proc/self/cwd l; echo x > l/there",
    ] {
        let (_fixture, found) = written(command);
        assert_eq!(found.len(), 1, "{command}: {found:?}");
        assert_eq!(found[0].1, PathBuf::new(), "{command}: {found:?}");
    }
}
