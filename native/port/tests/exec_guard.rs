//! Every start of a program beneath a guarded reaper is seen, and can be refused or held.

mod common;

use beamai_tools::cancel::CancelToken;
use beamai_tools::policy::Sealed;
use beamai_tools::process::{
    Collected, Confinement, Coverage, Decision, Exit, HeldStart, Isolation, Launcher, Report, Shortcut, Sink,
    Source, Spec, Start, StartJudge, Stdin, Terms, Wake, collect, set_program,
};
use beamai_tools::sandbox::{Sandbox, SandboxSettings};
use beamai_tools::workspace::Workspace;
use common::PROGRAM;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

type Decide = dyn Fn(&Start) -> Decision + Send + Sync;
type Held = Vec<(Start, Box<dyn HeldStart>)>;

/// A judge that remembers what it was asked.
struct Recorder {
    decide: Box<Decide>,
    starts: Mutex<Vec<Start>>,
    held: Mutex<Held>,
}

impl Recorder {
    fn new(decide: impl Fn(&Start) -> Decision + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { decide: Box::new(decide), starts: Mutex::default(), held: Mutex::default() })
    }

    /// Lets everything start, covering nothing.
    fn all() -> Arc<Self> {
        Self::new(|_| Decision::Start(Coverage::Judged))
    }

    fn starts(&self) -> Vec<Start> {
        self.starts.lock().unwrap().clone()
    }

    /// The start of a program by this name, of which there is one.
    fn start(&self, name: &str) -> Start {
        let mut starts = self.starts();
        starts.retain(|start| start.called.file_name().is_some_and(|own| own == name));
        assert_eq!(starts.len(), 1, "{name}: {starts:?}");
        starts.remove(0)
    }

    /// Takes what is held, once there is something.
    fn held(&self) -> (Start, Box<dyn HeldStart>) {
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

impl StartJudge for Recorder {
    fn decide(&self, start: &Start) -> Decision {
        self.starts.lock().unwrap().push(start.clone());
        (self.decide)(start)
    }

    fn hold(&self, start: Start, held: Box<dyn HeldStart>) {
        self.held.lock().unwrap().push((start, held));
    }
}

#[derive(Default)]
struct Output(Vec<u8>, Vec<u8>);

impl Sink for Output {
    fn take(&mut self, source: Source, bytes: &[u8]) {
        match source {
            Source::Stdout => self.0.extend(bytes),
            Source::Stderr => self.1.extend(bytes),
        }
    }
}

/// A workspace in which commands run under a guard.
struct Scene {
    dir: TempDir,
    change: Box<dyn Fn(&mut Confinement)>,
}

/// What came of a command.
#[derive(Debug)]
struct Ran {
    collected: Collected,
    isolation: Isolation,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn exit(&self) -> Exit {
        let Ok(Report::Ended { exit, .. }) = &self.collected.report else { panic!("{self:?}") };
        *exit
    }
}

impl Scene {
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

    fn spec(&self, judge: &Arc<Recorder>, command: &str) -> Spec {
        let workspace = Workspace::open(self.dir.path()).unwrap();
        let settings = SandboxSettings::from(Sandbox::Required);
        let confinement = Confinement::within(&workspace, &settings, &Sealed::default(), &|| Ok(())).unwrap();
        let mut confinement = confinement.as_ref().clone();
        confinement.exec_guard = true;
        (self.change)(&mut confinement);
        Spec {
            program: "/bin/bash".into(),
            by_path: false,
            arguments: ["--noprofile", "--norc", "-c", command].map(Into::into).to_vec(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            directory: workspace.top().open_dir().unwrap(),
            stdin: Stdin::Empty,
            lingers: false,
            shortcut: None,
            confinement: Arc::new(confinement),
            judge: Some(Arc::clone(judge) as Arc<dyn StartJudge>),
            coverage: Coverage::Judged,
        }
    }

    fn run(&self, judge: &Arc<Recorder>, command: &str) -> Ran {
        run(&self.spec(judge, command), &CancelToken::new())
    }
}

fn run(spec: &Spec, cancel: &CancelToken) -> Ran {
    let child = Launcher::shared().spawn(spec).unwrap();
    let wake = Wake::on(cancel).unwrap();
    let (mut output, isolation) = (Output::default(), child.isolation.clone());
    let deadline = Some(Instant::now() + Duration::from_secs(60));
    let collected = collect(child, &Terms { input: &[], deadline, wake, listener: None }, &mut output);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { collected, isolation, stdout: text(output.0), stderr: text(output.1) }
}

fn words(start: &Start) -> Vec<&str> {
    start.arguments.iter().map(|word| word.to_str().unwrap()).collect()
}

#[test]
fn every_start_of_a_pipeline_is_seen_with_its_path_and_its_arguments() {
    let (scene, judge) = (Scene::new(), Recorder::all());
    let ran = scene.run(&judge, "printf '%s\\n' b a | sort | head -n 1; /usr/bin/env -i /bin/echo 'x y' ''");
    assert_eq!((ran.stdout.as_str(), ran.exit()), ("a\nx y \n", Exit::Code(0)), "{ran:?}");
    assert!(ran.isolation.on.contains(&"exec_guard".to_owned()), "{:?}", ran.isolation);
    let (sort, head, env, echo) =
        (judge.start("sort"), judge.start("head"), judge.start("env"), judge.start("echo"));
    assert_eq!(sort.called, Path::new("/usr/bin/sort"));
    assert_eq!((words(&head), head.has_all_arguments), (vec!["head", "-n", "1"], true));
    assert_eq!(words(&env), ["/usr/bin/env", "-i", "/bin/echo", "x y", ""]);
    assert_eq!(echo.called, Path::new("/bin/echo"));
    assert_eq!(echo.links, [Path::new("/usr/bin/echo")]);
    assert_eq!(echo.file, Path::new("/usr/bin/echo"));
    assert!(!sort.is_writable && !echo.is_writable);
    assert_eq!(sort.starter.program, Path::new("/bin/bash"));
    assert_eq!(env.starter.coverage, Coverage::Judged);
    assert_eq!(echo.starter.program, Path::new("/usr/bin/env"));
    assert_eq!(judge.starts().len(), 4);
}

#[test]
fn a_start_that_is_refused_fails_and_the_command_goes_on() {
    let scene = Scene::new();
    let judge = Recorder::new(|start| match start.file.ends_with("rm") {
        true => Decision::Refuse,
        false => Decision::Start(Coverage::Judged),
    });
    scene.put("file", "");
    let ran = scene.run(&judge, "rm file; echo $?; find . -name file -exec rm {} \\;; ls");
    assert_eq!(ran.stdout, "126\nfile\n", "{ran:?}");
    assert!(ran.stderr.contains("Permission denied"), "{ran:?}");
    assert!(judge.starts().iter().any(|start| start.starter.program == Path::new("/usr/bin/find")));
}

#[test]
fn a_start_that_is_held_waits_for_its_answer_while_others_go_on() {
    let scene = Scene::new();
    let judge = || {
        Recorder::new(|start| match start.file.ends_with("date") {
            true => Decision::Hold,
            false => Decision::Start(Coverage::Judged),
        })
    };
    type Answer = fn(Box<dyn HeldStart>);
    let answers: [(Answer, &str); 3] = [
        (|held| held.start(Coverage::Everything), "other\n2001\n0\n"),
        (|held| held.refuse(), "other\n126\n"),
        (|held| drop(held), "other\n126\n"),
    ];
    for (answer, expected) in answers {
        let judge = judge();
        let command = "{ date -d 2001-01-01 +%Y; echo $?; } & sleep 0.2; /bin/echo other > out; cat out; wait";
        let spec = scene.spec(&judge, command);
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&spec, &CancelToken::new()));
            let (start, held) = judge.held();
            assert_eq!(words(&start), ["date", "-d", "2001-01-01", "+%Y"]);
            std::thread::sleep(Duration::from_millis(400));
            answer(held);
            running.join().unwrap()
        });
        assert_eq!(ran.stdout, expected, "{ran:?}");
    }
}

#[test]
fn a_command_is_killed_while_a_start_of_it_is_held_and_the_answer_comes_too_late() {
    let scene = Scene::new();
    let judge = Recorder::new(|_| Decision::Hold);
    let cancel = CancelToken::new();
    let spec = scene.spec(&judge, "date; touch never");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&spec, &cancel));
        let (_, held) = judge.held();
        cancel.cancel();
        let ran = running.join().unwrap();
        assert_eq!(ran.exit(), Exit::Signal(9), "{ran:?}");
        held.start(Coverage::Everything);
    });
    assert!(!scene.path().join("never").exists());
    // The next command has nothing of it.
    assert_eq!(scene.run(&Recorder::all(), "/bin/echo next").stdout, "next\n");
}

#[test]
fn links_and_interpreters_are_told_one_by_one() {
    let (scene, judge) = (Scene::new(), Recorder::all());
    scene.put("real", "#! /bin/sh -e\nexit 0\n");
    scene.put("second", &format!("#!{}\n", scene.path().join("one").display()));
    for (target, link) in [("real", "one"), ("./../DIR/one", "two"), ("/bin/true", "three")] {
        let name = scene.path().file_name().unwrap().to_str().unwrap().to_owned();
        std::os::unix::fs::symlink(target.replace("DIR", &name), scene.path().join(link)).unwrap();
    }
    let ran = scene.run(&judge, "./two a; ./three; ./second");
    assert_eq!(ran.exit(), Exit::Code(0), "{ran:?}");
    let at = |name: &str| scene.path().join(name);
    let two = judge.start("two");
    assert_eq!((&two.called, &two.file), (&at("two"), &at("real")));
    assert_eq!(two.links, [at("one"), at("real")]);
    let sh = ["/bin/sh", "/usr/bin/sh", "/usr/bin/dash"].map(PathBuf::from);
    assert_eq!(two.interpreters, sh);
    assert!(two.is_writable);
    let three = judge.start("three");
    assert_eq!(three.links, [Path::new("/bin/true"), Path::new("/usr/bin/true")]);
    assert!(three.is_writable, "the link is");
    let second = judge.start("second");
    assert_eq!(second.interpreters, [[at("one"), at("real")].to_vec(), sh.to_vec()].concat());
}

#[test]
fn what_takes_the_shells_place_is_judged_as_if_the_shell_started_it() {
    let scene = Scene::new();
    let spec = |judge: &Arc<Recorder>| Spec {
        shortcut: Some(Shortcut {
            places: ["/nowhere/true", "/bin/true"].map(Into::into).to_vec(),
            words: vec!["true".into(), "x".into()],
        }),
        ..scene.spec(judge, "echo by shell")
    };
    let judge = Recorder::all();
    let ran = run(&spec(&judge), &CancelToken::new());
    assert_eq!((ran.stdout.as_str(), ran.exit()), ("", Exit::Code(0)), "{ran:?}");
    let start = judge.start("true");
    assert_eq!((words(&start), start.called.as_path()), (vec!["true", "x"], Path::new("/bin/true")));
    assert_eq!(start.starter.program, Path::new("/bin/bash"));
    for decision in [Decision::Refuse, Decision::Hold] {
        let ran = run(&spec(&Recorder::new(move |_| decision)), &CancelToken::new());
        assert_eq!(ran.stdout, "by shell\n", "{ran:?}");
    }
}
