//! The supervisor itself: its listener, its cost in descriptors, and what may be executed at all.

use super::{Fixture, Recorder, run};
use crate::own_process::is_own_process;
use beamai_base::CancelToken;
use beamai_process::{CommandReport, ExitStatus, Launcher, ProgramSpec};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

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

/// The tests of this module as a user whom nobody knows.
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
