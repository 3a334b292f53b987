//! What the exec guard costs: the same commands with it and without it, in turns, so that what else the machine does
//! falls on both. Prints the least and the middle time of each and their ratio.
//!
//! `cargo run --release -p beamai-port --example exec_guard_cost -- [ROUNDS [NAME]]`, where NAME is how the names of
//! the works to do begin.

use beamai_base::CancelToken;
use beamai_isolation::{GuardJudge, HeldStart, ProgramStart, StartCoverage, StartDecision};
use beamai_isolation::{SandboxMode, SandboxSettings};
use beamai_policy::DeniedPaths;
use beamai_process::{
    CancelWaker, CommandReport, ExitStatus, Launcher, OutputSink, OutputStream, ProgramSpec, RunOptions,
    Shortcut, Stdin, collect, set_program,
};
use beamai_sandbox::Confinement;
use beamai_workspace::Workspace;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lets everything start, as a judge does that has nothing to look up.
struct Anything;

impl GuardJudge for Anything {
    fn decide(&self, _: &ProgramStart) -> StartDecision {
        StartDecision::Start(StartCoverage::Judged)
    }

    fn hold(&self, _: ProgramStart, _: Box<dyn HeldStart>) {}
}

struct Nowhere;

impl OutputSink for Nowhere {
    fn take(&mut self, _: OutputStream, _: &[u8]) {}
}

/// A command, how often it is given in a round, and how often it repeats itself.
struct Work {
    name: &'static str,
    command: &'static str,
    calls: usize,
    is_plain: bool,
}

const WORK: [Work; 3] = [
    Work {
        name: "cc -c, 20 times",
        command: "for i in {1..20}; do cc -c small.c -o small.o; done",
        calls: 1,
        is_plain: false,
    },
    Work {
        name: "env true over nine directories, 50 times",
        command: "PATH=/n1:/n2:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/usr/games:/n3:/usr/bin; \
                  for i in {1..50}; do env true; done",
        calls: 1,
        is_plain: false,
    },
    Work { name: "true by itself, 40 times", command: "true", calls: 40, is_plain: true },
];

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(40);
    let own = std::env::current_exe().expect("this program has a path");
    set_program(own.parent().and_then(Path::parent).expect("it is two deep").join("beamai-port"));
    let dir = tempfile::tempdir().expect("a directory to work in");
    std::fs::write(dir.path().join("small.c"), "int f(int x) { return x + 1; }\n")
        .expect("a file to compile");
    let wanted = std::env::args().nth(2).unwrap_or_default();
    for work in WORK.into_iter().filter(|work| work.name.starts_with(&wanted)) {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for guarded in [false, true] {
                let started = Instant::now();
                (0..work.calls).for_each(|_| run(dir.path(), &work, guarded));
                times[usize::from(guarded)].push(started.elapsed());
            }
        }
        times.iter_mut().for_each(|times| times.sort());
        let at = |nth: usize| times.each_ref().map(|times| times[nth]);
        tell(work.name, "least", at(0));
        tell(work.name, "middle", at(rounds / 2));
    }
}

fn tell(name: &str, which: &str, [without, with]: [Duration; 2]) {
    let ratio = with.as_secs_f64() / without.as_secs_f64();
    println!("{name}, {which}: {without:.1?} without, {with:.1?} with the guard: {ratio:.3}");
}

fn run(dir: &Path, work: &Work, guarded: bool) {
    let workspace = Workspace::open(dir).expect("the workspace is there");
    let settings = SandboxSettings::from(SandboxMode::Required);
    let confinement = Confinement::within(&workspace, &settings, &DeniedPaths::default(), &|| Ok(()));
    let mut confinement = confinement.expect("nothing is to be protected").as_ref().clone();
    confinement.exec_guard = guarded;
    let spec = ProgramSpec {
        program: "/bin/bash".into(),
        by_path: false,
        arguments: ["--noprofile", "--norc", "-c", work.command].map(Into::into).to_vec(),
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        directory: workspace.top().open_dir().expect("the workspace can be opened"),
        stdin: Stdin::Empty,
        lingers: false,
        shortcut: work
            .is_plain
            .then(|| Shortcut { candidates: vec!["/usr/bin/true".into()], words: vec!["true".into()] }),
        confinement: Arc::new(confinement),
        judge: Some(Arc::new(Anything)),
        coverage: StartCoverage::JudgedWithFiles,
    };
    let child = Launcher::shared().spawn(&spec).expect("it starts");
    let wake = CancelWaker::on(&CancelToken::new()).expect("a bell");
    let collected = collect(
        child,
        &RunOptions { input: &[], deadline: None, pause: None, wake, listener: None },
        &mut Nowhere,
    );
    assert!(
        matches!(collected.report, Ok(CommandReport::Ended { exit: ExitStatus::Code(0), .. })),
        "{:?}",
        collected.report
    );
}
