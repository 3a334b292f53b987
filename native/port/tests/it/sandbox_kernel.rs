//! What sandboxed commands can ask of the kernel.

use crate::common::{Env, PROGRAM, assert_prevented};
use serde_json::json;
use std::process::Command;

#[test]
fn calls_that_lead_out_are_refused() {
    for call in [
        "ptrace",
        "process_vm_readv",
        "kcmp",
        "unshare",
        "clone3",
        "mount",
        "fsopen",
        "open_tree",
        "keyctl",
        "bpf",
        "perf_event_open",
        "io_uring_setup",
        "userfaultfd",
        "memfd_create",
        "open_by_handle_at",
        "packet_socket",
        "vsock_socket",
        "unix_socket",
        "uevent_socket",
    ] {
        assert_prevented(&format!("call {call}"));
    }
}

#[test]
fn every_namespace_is_refused_however_it_is_asked_for() {
    for flag in ["--user", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--time"] {
        let command = format!("unshare --user {flag} true; echo $?");
        assert!(Env::with("off").stdout(&command).starts_with('0'), "{flag}");
        assert!(!Env::with("required").stdout(&command).starts_with('0'), "{flag}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_another_architecture_end_the_program() {
    assert_prevented("foreign");
    let result = Env::with("required").run(&format!("{PROGRAM} attack foreign; echo $?"));
    assert_eq!(result["stdout"], "159\n", "{result}");
    // Few kernels have these; under the sandbox, none does.
    assert!(!Env::with("required").attack("other_numbers"));
}

#[test]
fn nothing_is_typed_into_a_terminal() {
    let command = format!("setsid -w {PROGRAM} attack terminal; echo $?");
    assert_eq!(Env::with("off").stdout(&command), "0\n");
    assert_eq!(Env::with("required").stdout(&command), "1\n");
}

#[test]
fn there_are_no_capabilities_and_none_are_to_be_had() {
    assert_prevented("privileges");
    assert!(!Env::with("required").attack("capability"));
    if rustix::process::geteuid().is_root() {
        assert_prevented("capability");
        assert_prevented("users");
    }
    // Whoever a program would run as, it runs as who started it.
    let env = Env::with("off");
    let result = env.run("cp $(command -v id) id && chown 65534 id && chmod 4755 id && ./id -u");
    if result["exit_code"] == 0 {
        assert_eq!(result["stdout"], "65534\n");
        let env = env.now_under(json!("required"));
        assert_eq!(env.stdout("./id -u"), format!("{}\n", rustix::process::geteuid().as_raw()));
    }
}

#[test]
fn processes_of_the_machine_are_neither_seen_nor_signalled() {
    let mut sleep = Command::new("sleep").arg("1000").spawn().unwrap();
    assert_prevented(&format!("process {}", sleep.id()));
    assert_prevented(&format!("signal {}", sleep.id()));
    sleep.kill().unwrap();
    sleep.wait().unwrap();
}

#[test]
fn limits_and_priority_of_the_reaper_are_not_changed() {
    assert_prevented("limit $PPID");
    assert_prevented("priority $PPID");
    // Those of others are the command's own business.
    let own = "sleep 9 & renice 5 $! && prlimit --pid $! --nofile=9:9 && chrt -b -p 0 $! && taskset -cp 0 $!";
    assert_eq!(Env::with("required").run(own)["exit_code"], 0);
}

#[test]
fn the_memory_of_the_reaper_is_not_read() {
    assert_prevented("open /proc/$PPID/mem");
}

#[test]
fn shared_memory_of_the_machine_is_out_of_reach() {
    let key = 0x6265 << 16 | (std::process::id() & 0xffff);
    let made = Command::new("python3")
        .args(["-c", &format!("import ctypes; print(ctypes.CDLL(None).shmget({key}, 4096, 0o1600))")])
        .output()
        .unwrap();
    let id = String::from_utf8(made.stdout).unwrap();
    assert_ne!(id.trim(), "-1");
    assert_prevented(&format!("shared_memory {key}"));
    assert!(Command::new("ipcrm").args(["-m", id.trim()]).status().unwrap().success());
}

#[test]
fn shared_memory_of_a_command_is_not_there_for_the_next() {
    let env = Env::with("required");
    let make = "python3 -c 'import ctypes; print(ctypes.CDLL(None).shmget(77, 4096, 0o1600) >= 0)'";
    assert_eq!(env.stdout(make), "True\n");
    assert!(!env.attack("shared_memory 77"));
}

/// A lease makes every other program that opens the file wait, or fail.
#[test]
fn no_file_is_leased() {
    let take = "python3 -c 'import fcntl; fcntl.fcntl(open(\"leased\"), fcntl.F_SETLEASE, fcntl.F_WRLCK)'";
    let landlock = json!({"mode": "required", "tier": "landlock"});
    for (sandbox, is_taken) in [(json!("off"), true), (json!("required"), false), (landlock, false)] {
        let env = Env::under(sandbox.clone());
        std::fs::write(env.path().join("leased"), "").unwrap();
        let done = env.run(take);
        assert_eq!(done["exit_code"] == 0, is_taken, "{sandbox}: {done}");
        assert!(is_taken || done["stderr"].as_str().unwrap().contains("PermissionError"), "{done}");
    }
}

#[test]
fn a_command_has_three_descriptors() {
    for sandbox in ["off", "required"] {
        // The third is of the listing itself.
        assert_eq!(Env::with(sandbox).stdout("ls /proc/self/fd"), "0\n1\n2\n3\n");
    }
}
