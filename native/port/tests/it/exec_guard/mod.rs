//! Every start of a program beneath a guarded reaper is seen, and can be refused or held.

mod held;
mod lineage;
mod opened;
mod seen;
mod supervision;

use crate::common::PROGRAM;
use beamai_base::CancelToken;
use beamai_isolation::{
    GuardJudge, HeldStart, Isolation, ProgramStart, SandboxSettings, StartCoverage, StartDecision, Starter,
};
use beamai_policy::DeniedPaths;
use beamai_process::{
    CancelWaker, CommandReport, ExitStatus, Launcher, OutputSink, OutputStream, ProgramSpec, RunOptions,
    RunResult, Stdin, collect, set_program,
};
use beamai_sandbox::Confinement;
use beamai_workspace::Workspace;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

type Decide = dyn Fn(&ProgramStart) -> StartDecision + Send + Sync;
type Held = Vec<(ProgramStart, Box<dyn HeldStart>)>;

/// A judge that remembers what it was asked.
struct Recorder {
    decide: Box<Decide>,
    starts: Mutex<Vec<ProgramStart>>,
    held: Mutex<Held>,
    /// Paths that shells opened to write, and the files that they led to. Those named `refused` are.
    written: Mutex<Vec<(String, PathBuf)>>,
}

impl Recorder {
    fn new(decide: impl Fn(&ProgramStart) -> StartDecision + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            decide: Box::new(decide),
            starts: Mutex::default(),
            held: Mutex::default(),
            written: Mutex::default(),
        })
    }

    /// Lets everything start, covering nothing.
    fn all() -> Arc<Self> {
        Self::new(|_| StartDecision::Start(StartCoverage::Judged))
    }

    fn starts(&self) -> Vec<ProgramStart> {
        self.starts.lock().unwrap().clone()
    }

    /// The start of a program by this name, of which there is one.
    fn start(&self, name: &str) -> ProgramStart {
        let mut starts = self.starts();
        starts.retain(|start| start.called.file_name().is_some_and(|own| own == name));
        assert_eq!(starts.len(), 1, "{name}: {starts:?}");
        starts.remove(0)
    }

    /// Takes what is held, once there is something.
    fn held(&self) -> (ProgramStart, Box<dyn HeldStart>) {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(held) = self.held.lock().unwrap().pop() {
                return held;
            }
            assert!(Instant::now() < end, "nothing was held: {:?}", self.starts());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl GuardJudge for Recorder {
    fn decide(&self, start: &ProgramStart) -> StartDecision {
        self.starts.lock().unwrap().push(start.clone());
        (self.decide)(start)
    }

    fn writes(&self, path: &OsStr, file: Option<&Path>, by: &Starter) -> bool {
        let path = path.to_str().unwrap();
        if by.program.ends_with("bash") {
            self.written
                .lock()
                .unwrap()
                .push((path.to_owned(), file.map(Path::to_owned).unwrap_or_default()));
        }
        !path.ends_with("refused")
    }

    fn hold(&self, start: ProgramStart, held: Box<dyn HeldStart>) {
        self.held.lock().unwrap().push((start, held));
    }
}

#[derive(Default)]
struct Output(Vec<u8>, Vec<u8>);

impl OutputSink for Output {
    fn take(&mut self, source: OutputStream, bytes: &[u8]) {
        match source {
            OutputStream::Stdout => self.0.extend(bytes),
            OutputStream::Stderr => self.1.extend(bytes),
        }
    }
}

/// A workspace in which commands run under a guard.
struct Fixture {
    dir: TempDir,
    change: Box<dyn Fn(&mut Confinement)>,
}

/// What came of a command.
#[derive(Debug)]
struct Ran {
    collected: RunResult,
    isolation: Isolation,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn exit(&self) -> ExitStatus {
        let Ok(CommandReport::Ended { exit, .. }) = &self.collected.report else { panic!("{self:?}") };
        *exit
    }
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl Fn(&mut Confinement) + 'static) -> Self {
        set_program(PROGRAM);
        Self { dir: TempDir::new().unwrap(), change: Box::new(change) }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn spec(&self, judge: &Arc<Recorder>, command: &str) -> ProgramSpec {
        let workspace = Workspace::open(self.dir.path()).unwrap();
        let settings: SandboxSettings = crate::common::required().parse().unwrap();
        let confinement =
            Confinement::within(&workspace, &settings, &DeniedPaths::default(), &|| Ok(())).unwrap();
        let mut confinement = confinement.as_ref().clone();
        confinement.exec_guard = true;
        (self.change)(&mut confinement);
        ProgramSpec {
            program: "/bin/bash".into(),
            by_path: false,
            arguments: ["--noprofile", "--norc", "-c", command].map(Into::into).to_vec(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            directory: workspace.top().open_dir().unwrap(),
            stdin: Stdin::Empty,
            lingers: false,
            shortcut: None,
            confinement: Arc::new(confinement),
            judge: Some(Arc::clone(judge) as Arc<dyn GuardJudge>),
            coverage: StartCoverage::Judged,
        }
    }

    fn run(&self, judge: &Arc<Recorder>, command: &str) -> Ran {
        run(&self.spec(judge, command), &CancelToken::new())
    }
}

fn run(spec: &ProgramSpec, cancel: &CancelToken) -> Ran {
    let child = Launcher::shared().spawn(spec).unwrap();
    let wake = CancelWaker::on(cancel).unwrap();
    let (mut output, isolation) = (Output::default(), child.isolation.clone());
    let deadline = Some(Instant::now() + Duration::from_secs(60));
    let collected =
        collect(child, &RunOptions { input: &[], deadline, pause: None, wake, listener: None }, &mut output);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { collected, isolation, stdout: text(output.0), stderr: text(output.1) }
}

fn words(start: &ProgramStart) -> Vec<&str> {
    start.arguments.iter().map(|word| word.to_str().unwrap()).collect()
}

/// Whether a start is of a file by this name.
fn is(start: &ProgramStart, name: &str) -> bool {
    start.file.file_name().is_some_and(|own| own == name)
}
