//! What is told of a start: paths, links, interpreters, arguments, by whichever call it comes.

use super::{Fixture, Recorder, words};
use beamai_isolation::{ProgramStart, StartCoverage};
use beamai_process::ExitStatus;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
fn what_the_loader_loads_is_told_by_all_of_its_names() {
    let (fixture, judge) = (Fixture::new(), Recorder::all());
    std::os::unix::fs::symlink("/bin/true", fixture.path().join("link")).unwrap();
    let ran = fixture.run(&judge, "/lib64/ld-linux-x86-64.so.2 --argv0 x ./link y");
    assert_eq!(ran.exit(), ExitStatus::Code(0), "{ran:?}");
    let loaded = judge.starts().pop().unwrap().loaded.names;
    assert_eq!(loaded, [fixture.path().join("link"), "/bin/true".into(), "/usr/bin/true".into()]);
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
    assert_eq!(two.interpreters[0].program.names, sh);
    assert_eq!(two.interpreters[0].argument.as_deref(), Some("-e".as_ref()));
    let found = fs::metadata("/bin/sh").unwrap();
    assert_eq!(two.interpreters[0].program.identity, (found.dev(), found.ino()));
    let found = fs::metadata(at("real")).unwrap();
    assert_eq!((two.identity, two.given.to_str()), ((found.dev(), found.ino()), Some("./two")));
    assert!(two.is_writable);
    let three = judge.start("three");
    assert_eq!(three.links, [Path::new("/bin/true"), Path::new("/usr/bin/true")]);
    assert!(three.is_writable, "the link is");
    let second = judge.start("second");
    let names: Vec<_> = second.interpreters.into_iter().map(|one| one.program.names).collect();
    assert_eq!(names, [[at("one"), at("real")].to_vec(), sh.to_vec()]);
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
