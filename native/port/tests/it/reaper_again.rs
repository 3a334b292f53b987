//! A reaper tends one command after the other only while each leaves nothing behind. The tests of a process share
//! one launcher, and here it has to be known which reaper comes next.

use crate::common::{Env, MODES};
use crate::own_process::is_own_process;
use serde_json::json;

/// Searches what a reaper can still read for a text that the search itself does not contain.
const SEARCH: &str = r#"
while read -r range mode _; do
  case $range$mode in *ff*vsyscall*|*-----*) continue;; esac
  start=$((16#${range%-*})); end=$((16#${range#*-}))
  [[ $mode == r* ]] && dd if=/proc/$PPID/mem bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) status=none 2>/dev/null
done </proc/$PPID/maps | grep -ac "$A$B"
"#;

/// The number of the shell tells how many processes its namespace has seen.
fn shell_number(env: &Env) -> u32 {
    env.stdout("echo $$").trim().parse().unwrap()
}

#[test]
fn a_reaper_goes_on_only_after_a_command_that_left_nothing() {
    if !is_own_process(module_path!(), "a_reaper_goes_on_only_after_a_command_that_left_nothing") {
        return;
    }
    let env = Env::new();
    let first = shell_number(&env);
    assert!((2..10).contains(&first));
    assert_eq!(shell_number(&env), first + 1);
    // A signal, an exit code, output and input leave nothing.
    env.run("kill -SEGV $$");
    env.ok(json!({"command": "cat; exit 7", "stdin": "x"}));
    assert!(shell_number(&env) > first + 1);
    // These do, and the next command has a reaper that knows nothing of it.
    for command in [
        "sleep 1000 >/dev/null 2>&1 &",
        "touch /dev/shm/x",
        "python3 -c 'import ctypes; ctypes.CDLL(None).shmget(77, 4096, 0o1600)'",
    ] {
        env.run(command);
        assert_eq!(shell_number(&env), first, "{command}");
    }
    what_is_done_to_a_reaper_does_not_reach_the_next_command();
    env.fails(json!({"command": "sleep 1000", "timeout": 50}));
    assert_eq!(shell_number(&env), first);
    let own = rustix::process::getpriority_process(None).unwrap();
    assert!(env.stdout("ulimit -n; nice").ends_with(&format!("\n{own}\n")));
    nothing_of_a_command_is_readable_in_the_next();
    one_mode_is_never_served_by_the_reaper_of_another();
}

/// Under a sandbox nobody does anything to a reaper; without one, another reaper takes its place.
fn what_is_done_to_a_reaper_does_not_reach_the_next_command() {
    let (env, free) = (Env::new(), Env::with("off"));
    for command in [
        "prlimit --pid $PPID --nofile=77:77",
        "renice -n 15 -p $PPID",
        "taskset -p 1 $PPID",
        "ionice -c 3 -p $PPID",
        "chrt --batch -p 0 $PPID",
    ] {
        assert_ne!(env.run(command)["exit_code"], 0, "{command}");
        let reaper = free.stdout("echo $PPID");
        assert_eq!(free.run(command)["exit_code"], 0, "{command}");
        assert_ne!(free.stdout("echo $PPID"), reaper, "{command}");
    }
    // Of all processes of a user it is one; without a sandbox that would be all of the machine's.
    for command in ["renice -n 15 -u $(id -u)", "ionice -c 3 -u $(id -u)"] {
        assert_ne!(env.run(command)["exit_code"], 0, "{command}");
    }
    assert!(shell_number(&env) > 3);
}

/// Under a sandbox nobody reads a reaper's memory; without one, root does.
fn nothing_of_a_command_is_readable_in_the_next() {
    let env = Env::with("off");
    let search = |a: &str, b: &str| {
        let result = env.ok(json!({"command": SEARCH, "env": {"A": a, "B": b}}));
        result["stdout"].as_str().unwrap().trim().parse::<u32>().unwrap()
    };
    let reaper = env.stdout("echo $PPID");
    env.ok(json!({"command": "true S3CR3T-WORD", "env": {"TOKEN": "S3CR3T-VALUE"}, "stdin": "S3CR3T-INPUT"}));
    assert_eq!(search("beamai-lau", "ncher") > 0, rustix::process::geteuid().is_root());
    assert_eq!(search("S3CR", "3T"), 0);
    assert_eq!(env.stdout("echo $PPID"), reaper, "another reaper was looked into");
}

fn one_mode_is_never_served_by_the_reaper_of_another() {
    for _ in 0..3 {
        for mode in MODES {
            assert_eq!(Env::with(mode).run("true")["isolation"]["mode"], mode);
        }
    }
    let numbers: Vec<u32> = (0..2).map(|_| shell_number(&Env::with("off"))).collect();
    assert!(numbers.iter().all(|number| *number > 100), "{numbers:?} are numbers of a namespace");
}
