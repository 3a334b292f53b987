//! What sandboxed commands can use up.

mod common;

use common::{Env, PROGRAM};
use serde_json::json;

#[test]
fn memory() {
    let env = Env::under(json!({"memory": 256 << 20}));
    assert!(env.attack(&format!("memory {}", 32 << 20)));
    assert!(!env.attack(&format!("memory {}", 512 << 20)));
    assert!(Env::with("off").attack(&format!("memory {}", 512 << 20)));
    let result = env.run("head -c 1G /dev/zero | tail | wc -c; echo ${PIPESTATUS[1]}");
    assert!(result["stderr"].as_str().unwrap().contains("memory exhausted"), "{result}");
    // By default nobody gets all of it.
    assert!(!Env::with("required").attack(&format!("memory {}", 1_u64 << 44)));
    assert!(Env::with("off").attack(&format!("memory {}", 1_u64 << 44)));
}

#[test]
fn memory_that_looks_like_files() {
    let env = Env::under(json!({"memory": 64 << 20}));
    for place in ["/tmp", "/dev/shm"] {
        let result =
            env.run_alone(&format!("head -c 100M /dev/zero > {place}/file; stat -c %s {place}/file"));
        let size: u64 = result["stdout"].as_str().unwrap().trim().parse().unwrap();
        assert!(size <= 64 << 20, "{place}: {result}");
    }
}

#[test]
fn processes() {
    let env = Env::under(json!({"processes": 100}));
    assert!(env.attack("processes 90"));
    assert!(!env.attack("processes 1000"));
    assert!(Env::with("off").attack("processes 1000"));
    assert!(Env::with("required").attack("processes 1000"));
}

#[test]
fn time_of_the_processor() {
    let command = "bash -c 'while :; do :; done'; echo $?";
    let result = Env::under(json!({"cpu": 1})).run(command);
    // SIGKILL or SIGXCPU.
    assert!(["137\n", "152\n"].contains(&result["stdout"].as_str().unwrap()), "{result}");
    let error = Env::with("off").fails(json!({"command": command, "timeout": 2000}));
    assert_eq!(error.reason, beamai_tools::Reason::Timeout);
}

#[test]
fn the_size_of_files() {
    let size = |sandbox| {
        let env = Env::under(sandbox);
        env.run("head -c 3M /dev/zero > file");
        std::fs::metadata(env.path().join("file")).unwrap().len()
    };
    assert_eq!(size(json!({"file_size": 1 << 20})), 1 << 20);
    assert_eq!(size(json!("off")), 3 << 20);
}

#[test]
fn what_is_limited_cannot_be_raised() {
    let env = Env::under(json!({"memory": 256 << 20, "processes": 100}));
    let result = env.run(&format!(
        "ulimit -d unlimited; prlimit --pid $$ --data=unlimited; prlimit --pid $PPID --data=unlimited; \
         echo 100000 > /proc/sys/kernel/pid_max; {PROGRAM} attack memory {}; echo $?",
        512 << 20
    ));
    assert_eq!(result["stdout"], "1\n", "{result}");
    assert!(!env.attack("processes 1000"));
}
