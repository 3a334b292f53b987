//! What sandboxed commands can use up.

use crate::common::{Env, InSession, PROGRAM};
use beamai_base::Reason;
use beamai_engine::CallOutcome;
use serde_json::json;

#[test]
fn memory() {
    let env = Env::under(json!({"memory": 256 << 20}));
    assert!(env.attack(&format!("memory {}", 32 << 20)));
    assert!(!env.attack(&format!("memory {}", 512 << 20)));
    assert!(Env::with("off").attack(&format!("memory {}", 512 << 20)));
    // The process meets its own limit, unless the watch over all of them is quicker.
    match env.call(json!({"command": "head -c 1G /dev/zero | tail | wc -c; echo ${PIPESTATUS[1]}"})) {
        CallOutcome::Ok(result, _) => {
            assert!(result["stderr"].as_str().unwrap().contains("memory exhausted"), "{result}");
        }
        CallOutcome::Error(error) => assert_eq!(error.reason, Reason::OutOfMemory, "{error}"),
        other => panic!("{other:?}"),
    }
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
    assert_eq!(error.reason, Reason::Timeout);
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

const HOG: &str = "echo begun; exec PORT attack memory_together 8 67108864";

#[test]
fn memory_of_all_processes_together() {
    let hog = json!({"command": HOG.replace("PORT", PROGRAM), "timeout": 60_000});
    // 8 processes of 64 MiB each are too much for 256 MiB, and for 1 GiB they are not.
    let error = Env::under(json!({"memory": 256 << 20})).fails(hog.clone());
    assert_eq!(error.reason, Reason::OutOfMemory, "{error:?}");
    assert!(error.message.contains("256 MiB"), "{}", error.message);
    assert_eq!(error.details["stdout"], "begun\n");
    assert!(error.details["killed"].as_u64().unwrap() > 0, "{error:?}");
    assert_eq!(error.details["memory_limit"], 256 << 20);
    for sandbox in [json!({"memory": 1 << 30}), json!("off")] {
        assert_eq!(Env::under(sandbox).ok(hog.clone())["exit_code"], 0);
    }
}

#[test]
fn memory_that_processes_share_counts_once() {
    let command = "python3 -c \"import os,time; x=bytearray(os.urandom(1<<20)*60)\n\
                   for _ in range(6):\n  if not os.fork(): time.sleep(2); os._exit(0)\n\
                   time.sleep(2)\"";
    assert_eq!(Env::under(json!({"memory": 256 << 20})).run(command)["exit_code"], 0);
}

/// Processes end while they are looked at: what they shared is not theirs any more.
#[test]
fn memory_that_ending_processes_shared_counts_once() {
    let command = "python3 -c \"import os,time; x=bytearray(os.urandom(1<<20)*60)\n\
                   for _ in range(150):\n  for _ in range(6):\n    if not os.fork(): time.sleep(.01); os._exit(0)\n\
                   \x20 for _ in range(6): os.wait()\"";
    assert_eq!(Env::under(json!({"memory": 256 << 20})).run(command)["exit_code"], 0);
}

/// As between vfork(2) and the start of a program.
#[test]
fn memory_of_children_with_the_address_space_of_their_parent_counts_once() {
    const CLONE_VM: i32 = 0x100;
    let command = format!(
        "python3 -c \"import ctypes, time; c = ctypes.CDLL(None); x = b'x' * (70 << 20); s = ctypes.create_string_buffer(1 << 20); \
         n = min(c.clone(c.pause, ctypes.c_void_p(ctypes.addressof(s) + (at << 16) - 64), {}, None) for at in range(1, 9)); \
         time.sleep(2); print(n > 0)\"",
        CLONE_VM | libc::SIGCHLD
    );
    assert_eq!(Env::under(json!({"memory": 128 << 20})).stdout(&command), "True\n");
}

#[test]
fn memory_of_processes_whose_first_thread_has_ended() {
    let command = "python3 -c \"import ctypes,os,threading,time\n\
                   def hog():\n  x=b'x'*(60<<20); time.sleep(50)\n\
                   for _ in range(8):\n  if not os.fork():\n    threading.Thread(target=hog).start()\n\
                   \x20   ctypes.CDLL(None).pthread_exit(None)\n\
                   time.sleep(50)\"";
    let error =
        Env::under(json!({"memory": 256 << 20})).fails(json!({"command": command, "timeout": 40_000}));
    assert_eq!(error.reason, Reason::OutOfMemory, "{error:?}");
}

#[test]
fn memory_of_a_background_command() {
    let env = Env::under(json!({"memory": 256 << 20}));
    let session = InSession::new(&env.host);
    let id = session.start(json!({"command": HOG.replace("PORT", PROGRAM)}));
    let answer = session.ended(&id);
    assert_eq!((&answer["status"], &answer["stdout"]), (&json!("failed"), &json!("begun\n")), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("256 MiB"), "{answer}");
}

/// Where many processes end before their memory is measured, all are stopped, and continued for two seconds. Children
/// that nobody reaps are such only while they end. Without a PID namespace, processes of others that end at that moment
/// count, too, so that it is tried again.
#[test]
fn a_process_that_the_command_has_stopped_stays_so_beside_children_that_nobody_reaps() {
    let command = "python3 -c \"import os, signal, time
for _ in range(20):
    if os.fork() == 0: os._exit(0)
time.sleep(3.5)
stopped = os.fork()
if stopped == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
time.sleep(1.5)
print(open(f'/proc/{stopped}/stat').read().split()[2])
os.kill(stopped, 9)\"";
    let stays = || Env::under(json!({"memory": 256 << 20})).stdout(command) == "T\n";
    assert!((0..6).any(|_| stays()));
}

/// Each fills its memory, forks a child and ends, so that a look at `/proc` finds few of them.
#[test]
fn memory_that_is_handed_on() {
    let hop =
        "x = bytearray(8 << 20)\n  while True:\n   if os.fork(): os._exit(0)\n   x[::4096] = bytes(2048)";
    let command = format!(
        "python3 -c $'import os, time\nfor _ in range(40):\n if not os.fork():\n  os.setsid()\n  {hop}\ntime.sleep(100)'"
    );
    let error =
        Env::under(json!({"memory": 128 << 20})).fails(json!({"command": command, "timeout": 40_000}));
    assert_eq!(error.reason, Reason::OutOfMemory, "{error:?}");
}

#[test]
fn memory_of_nobody() {
    let take = |bytes: u64| {
        format!(
            "python3 -c \"import ctypes; c=ctypes.CDLL(None); print(all(c.shmget(0, {}, 0o1600) >= 0 for _ in range(8)))\"",
            bytes / 8
        )
    };
    for (sandbox, expected) in
        [(json!({"memory": 1 << 30}), "True\n"), (json!({"memory": 256 << 20}), "False\n")]
    {
        assert_eq!(Env::under(sandbox.clone()).stdout(&take(512 << 20)), expected, "{sandbox}");
    }
}

/// Segments that no process has attached, and semaphores, where the Linux kernel does not limit them.
#[test]
fn memory_that_calls_of_system_v_keep() {
    let command = "python3 -c \"import ctypes, time; c=ctypes.CDLL(None); \
                   print(all(c.semget(0, 32000, 0o1600) >= 0 for _ in range(200)), flush=True); time.sleep(50)\"";
    let error =
        Env::under(json!({"memory": 256 << 20})).fails(json!({"command": command, "timeout": 40_000}));
    assert_eq!(error.reason, Reason::OutOfMemory, "{error:?}");
}

#[test]
fn a_swarm_of_short_processes_does_not_keep_the_memory_from_being_looked_at() {
    let env = Env::under(json!({"memory": 128 << 20}));
    let swarm = "while :; do /bin/true; done & while :; do /bin/true; done & ";
    let hog = "for i in 1 2 3 4; do python3 -c 'import time; x=b\"x\"*(60<<20); time.sleep(50)' & done; wait";
    let error = env.fails(json!({"command": format!("{swarm}{hog}"), "timeout": 40_000}));
    assert_eq!(error.reason, Reason::OutOfMemory, "{error:?}");
}

#[test]
fn memory_of_tables_alone() {
    let attempt = format!("{PROGRAM} attack page_tables {}", 512 << 20);
    let run = |memory: u64| {
        Env::under(json!({"memory": memory})).call(json!({"command": attempt, "timeout": 60_000}))
    };
    let CallOutcome::Ok(result, _) = run(2 << 30) else { panic!() };
    assert_eq!(result["exit_code"], 0, "{result}");
    assert_eq!(crate::common::error(run(128 << 20)).reason, Reason::OutOfMemory);
}

#[test]
fn shared_memory_that_is_in_no_page_table() {
    let attempt = format!("exec {PROGRAM} attack dropped_memory 32 {}", 16 << 20);
    let run = |memory: u64| {
        Env::under(json!({"memory": memory})).call(json!({"command": attempt, "timeout": 60_000}))
    };
    let CallOutcome::Ok(result, _) = run(2 << 30) else { panic!() };
    assert_eq!(result["exit_code"], 0, "{result}");
    assert_eq!(crate::common::error(run(256 << 20)).reason, Reason::OutOfMemory);
}

/// Several map what one has filled, and have a large private reservation besides, as some runtimes do.
#[test]
fn shared_memory_counts_once_and_reservations_do_not() {
    let command = "python3 -c \"import mmap,os,time; x=mmap.mmap(-1,60<<20); x.write(b'x'*(60<<20))\n\
                   p=mmap.mmap(-1,1<<40,mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS,mmap.PROT_READ)\n\
                   for _ in range(6):\n  if not os.fork(): sum(x[::4096]); time.sleep(2); os._exit(0)\n\
                   time.sleep(2)\"";
    let result = Env::under(json!({"memory": 256 << 20})).run(command);
    assert_eq!(result["exit_code"], 0, "{result}");
}
