//! Every start of a program beneath a guarded reaper is seen, and can be refused or held.

use crate::{common::PROGRAM, own_process::is_own_process};
use beamai_base::CancelToken;
use beamai_isolation::{
    HeldStart, Isolation, ProgramStart, SandboxSettings, StartCoverage, StartDecision, StartJudge,
};
use beamai_policy::DeniedPaths;
use beamai_process::{
    CancelWaker, CommandReport, ExitStatus, Launcher, OutputSink, OutputStream, ProgramSpec, RunOptions,
    RunResult, Shortcut, Stdin, collect, set_program,
};
use beamai_sandbox::Confinement;
use beamai_workspace::Workspace;
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
}

impl Recorder {
    fn new(decide: impl Fn(&ProgramStart) -> StartDecision + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { decide: Box::new(decide), starts: Mutex::default(), held: Mutex::default() })
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

impl StartJudge for Recorder {
    fn decide(&self, start: &ProgramStart) -> StartDecision {
        self.starts.lock().unwrap().push(start.clone());
        (self.decide)(start)
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
            judge: Some(Arc::clone(judge) as Arc<dyn StartJudge>),
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

#[test]
fn every_start_of_a_pipeline_is_seen_with_its_path_and_its_arguments() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    let ran =
        fixture.run(&judge, "printf '%s\\n' b a | sort | head -n 1; /usr/bin/env -i /bin/echo 'x y' ''");
    assert_eq!((ran.stdout.as_str(), ran.exit()), ("a\nx y \n", ExitStatus::Code(0)), "{ran:?}");
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
    assert_eq!(env.starter.coverage, StartCoverage::Judged);
    assert_eq!(echo.starter.program, Path::new("/usr/bin/env"));
    assert_eq!(judge.starts().len(), 4);
}

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
fn what_the_loader_loads_is_told_by_all_of_its_names() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    std::os::unix::fs::symlink("/bin/true", fixture.path().join("link")).unwrap();
    let ran = fixture.run(&judge, "/lib64/ld-linux-x86-64.so.2 --argv0 x ./link y");
    assert_eq!(ran.exit(), ExitStatus::Code(0), "{ran:?}");
    let loaded = judge.starts().pop().unwrap().loaded;
    assert_eq!(loaded, [fixture.path().join("link"), "/bin/true".into(), "/usr/bin/true".into()]);
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

#[test]
fn links_and_interpreters_are_told_one_by_one() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    fixture.put("real", "#! /bin/sh -e\nexit 0\n");
    fixture.put("second", &format!("#!{}\n", fixture.path().join("one").display()));
    for (target, link) in [("real", "one"), ("./../DIR/one", "two"), ("/bin/true", "three")] {
        let name = fixture.path().file_name().unwrap().to_str().unwrap().to_owned();
        std::os::unix::fs::symlink(target.replace("DIR", &name), fixture.path().join(link)).unwrap();
    }
    let ran = fixture.run(&judge, "./two a; ./three; ./second");
    assert_eq!(ran.exit(), ExitStatus::Code(0), "{ran:?}");
    let at = |name: &str| fixture.path().join(name);
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

/// Whether a start is of a file by this name.
fn is(start: &ProgramStart, name: &str) -> bool {
    start.file.file_name().is_some_and(|own| own == name)
}

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

#[test]
fn starts_by_threads_and_by_every_call_are_seen() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    fixture.put(
        "ways.py",
        r#"
import os, subprocess, threading
def child(work):
    if os.fork() == 0:
        work()
    os.wait()
def in_thread():
    thread = threading.Thread(target=lambda: os.execv("/bin/echo", ["echo", "thread"]))
    thread.start()
    thread.join()
os.waitpid(os.posix_spawn("/bin/echo", ["echo", "spawn"], {}), 0)
subprocess.run(["/bin/echo", "vfork"])
child(in_thread)
child(lambda: os.execve(os.open("/bin/echo", os.O_RDONLY), ["echo", "descriptor"], {}))
child(lambda: os.execv("/proc/self/exe", ["python3", "-c", "print('itself')"]))
child(lambda: os.execv("/dev/fd/%d" % os.dup2(os.open("/bin/echo", os.O_RDONLY), 77), ["echo", "link"]))
os.chdir("/bin")
child(lambda: os.execv("./echo", ["echo", "relative"]))
child(lambda: os.execv("../bin/./..//bin/echo", ["echo", "parent"]))
"#,
    );
    let ran = fixture.run(&judge, "python3 -u ways.py 2>&1");
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    lines.sort_unstable();
    let all = ["descriptor", "itself", "link", "parent", "relative", "spawn", "thread", "vfork"];
    assert_eq!(lines, all, "{ran:?}");
    let starts = judge.starts();
    let by = |word: &str| {
        let own = |start: &&ProgramStart| start.arguments.last().is_some_and(|last| last == word);
        starts.iter().find(own).unwrap_or_else(|| panic!("{word}: {starts:?}"))
    };
    for word in all.into_iter().filter(|word| *word != "itself") {
        assert_eq!(by(word).file, Path::new("/usr/bin/echo"), "{word}");
        // A link in `/dev`, which lies in memory under the full tier; that of the machine cannot be changed.
        assert_eq!(by(word).is_writable, word == "link" && crate::common::is_full(), "{word}");
    }
    let itself = by("print('itself')");
    assert_eq!(itself.called, Path::new("/proc/self/exe"));
    assert!(itself.file.to_str().unwrap().starts_with("/usr/bin/python3"), "{itself:?}");
    assert_eq!(by("relative").called, Path::new("/usr/bin/echo"));
    assert_eq!(by("parent").called, Path::new("/usr/bin/echo"));
    assert_eq!(by("link").called, Path::new("/dev/fd/77"));
}

#[test]
fn what_has_no_path_is_told_as_writable() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    fixture.put(
        "nameless.py",
        r#"
import os, shutil
shutil.copy("/bin/echo", "copy")
fd = os.open("copy", os.O_RDONLY)
os.unlink("copy")
os.execve(fd, ["echo", "nameless"], {})
"#,
    );
    let ran = fixture.run(&judge, "python3 nameless.py");
    assert_eq!(ran.stdout, "nameless\n", "{ran:?}");
    let start = judge.starts().pop().unwrap();
    assert!(start.is_writable && start.file.to_str().unwrap().ends_with(" (deleted)"), "{start:?}");
}

#[test]
fn nobody_is_asked_about_what_the_kernel_would_not_run() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    fixture.put("locked", "#!/bin/sh\n");
    fs::set_permissions(fixture.path().join("locked"), fs::Permissions::from_mode(0o644)).unwrap();
    fixture.put("hollow", "#!/nowhere/at/all\n");
    std::os::unix::fs::symlink("loop", fixture.path().join("loop")).unwrap();
    let ran = fixture.run(
        &judge,
        "for f in ./locked ./hollow ./loop ./none ./locked/x / no-such-program; do $f 2>/dev/null; echo $?; done",
    );
    assert_eq!(ran.stdout, "126\n127\n126\n127\n126\n126\n127\n", "{ran:?}");
    assert_eq!(judge.starts(), []);
}

/// Tries to run something that it has made, by every way there is, and names those that it could.
const RUN_OWN: &str = r#"
for place in . /tmp /dev/shm; do
  cp /bin/true $place/evil && $place/evil && echo $place
  /lib64/ld-linux-x86-64.so.2 $place/evil && echo loader $place
done
cat > e.c <<'END'
__attribute__((constructor)) static void run(void) { __builtin_puts("plugin"); }
int onload(void *transfer) { return 1; }
END
cc -shared -fPIC -o e.so e.c && nm --plugin ./e.so /bin/true | grep plugin
LD_PRELOAD=./e.so /bin/true
"#;

#[test]
fn what_can_be_written_is_not_executed_where_that_is_not_wanted() {
    let run = |exec_writable: bool| {
        let fixture = Fixture::with(move |confinement| confinement.exec_writable = exec_writable);
        let ran = fixture.run(&Recorder::all(), &format!("exec 2>/dev/null; {RUN_OWN}"));
        (ran.isolation, ran.stdout)
    };
    let all = ".\nloader .\n/tmp\nloader /tmp\n/dev/shm\nloader /dev/shm\nplugin\nplugin\n";
    if !crate::common::is_full() {
        // Neither `/tmp`, where the compiler would work too, nor `/dev/shm` can be written. What is no program can be
        // loaded by one that may start.
        assert_eq!(run(true).1, ".\nloader .\n");
        assert_eq!(run(false).1, "loader .\n");
        return;
    }
    assert_eq!(run(true).1, all);
    let (isolation, ran) = run(false);
    let is_partly = isolation.partly.iter().any(|partly| partly.layer == "read_only_filesystem");
    assert_eq!((is_partly, ran.as_str()), (false, ""));
}

/// The listeners that a process has.
fn listeners(pid: &str) -> usize {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_str() == Some("anon_inode:seccomp notify")).count()
}

/// Were there one, starts would wait for ever once the port is gone.
#[test]
fn nobody_but_the_port_has_the_listener() {
    if !is_own_process(module_path!(), "nobody_but_the_port_has_the_listener") {
        return;
    }
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    let spec = fixture.spec(&judge, "sleep 1; ls /proc/*/fd -l | grep -c seccomp");
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&spec, &CancelToken::new()));
        let end = Instant::now() + Duration::from_secs(10);
        while judge.starts().is_empty() {
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(listeners("self") > 0);
        let mut beneath = vec![std::process::id().to_string()];
        while let Some(pid) = beneath.pop() {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            for task in tasks {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                for child in children.split_ascii_whitespace() {
                    assert_eq!(listeners(child), 0, "{child}");
                    beneath.push(child.to_owned());
                }
            }
        }
        running.join().unwrap()
    });
    assert_eq!(ran.stdout, "0\n", "{ran:?}");
}

#[test]
fn thousands_of_short_processes_leave_nothing_behind() {
    if !is_own_process(module_path!(), "thousands_of_short_processes_leave_nothing_behind") {
        return;
    }
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = count();
    // Within the minute that a command has here, also on a busy machine.
    let each = if std::env::var_os("BEAMAI_LONG").is_some() { 2_500 } else { 1_000 };
    let some = format!("for i in {{1..{each}}}; do /bin/true; done");
    let ran = fixture.run(&judge, &format!("{some} & {some}; wait"));
    assert_eq!(ran.exit(), ExitStatus::Code(0), "{ran:?}");
    assert_eq!(judge.starts().len(), 2 * each);
    assert!(count() < before + 50, "{before} descriptors before, {} after", count());
    let Ok(CommandReport::Ended { is_ready, .. }) = ran.collected.report else { panic!() };
    // Where there is no pid namespace, a reaper is for one command.
    assert_eq!(is_ready, crate::common::is_full());
}

#[test]
fn a_guard_without_a_judge_starts_nothing() {
    let fixture = Fixture::new();
    let spec = ProgramSpec { judge: None, ..fixture.spec(&Recorder::all(), "touch ran") };
    let error = Launcher::shared().spawn(&spec).unwrap_err();
    assert!(error.to_string().contains("without a judge"), "{error}");
    assert!(!fixture.path().join("ran").exists());
}

/// The tests of this file as a user whom nobody knows.
#[test]
fn all_of_this_holds_for_a_plain_user() {
    const OWN: &str = "all_of_this_holds_for_a_plain_user";
    if !crate::common::is_root() {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/plain_user.sh");
    let mut command = std::process::Command::new(script);
    command.arg("23457").arg(Path::new(crate::common::PROGRAM).parent().unwrap()).arg(tests);
    let output = command.args(["exec_guard::", "--test-threads", "2", "--skip", OWN]).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let passed = stdout.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(output.status.success() && passed >= 17, "{stdout}");
}
