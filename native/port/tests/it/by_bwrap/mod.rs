//! Machines that refuse namespaces to the port and not to `bwrap`: `required` works there, every attempt of the other tests
//! fails there, and what is missing is named. Machines are made by root; where somebody else runs the tests, there is
//! nothing to be made.

use crate::common::{LAYERS, MODES, PROGRAM, is_root};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// What refuses namespaces, as `machine.sh` knows it.
const KINDS: [&str; 2] = ["kernel", "profile"];

/// A user whom nobody knows, and whose processes do not count with those of others.
fn somebody() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // No more than a user namespace with 65,536 users has, and enough that none is there twice at the same time.
    20_000 + std::process::id() % 200 * 200 + NEXT.fetch_add(1, Ordering::Relaxed) % 200
}

/// A program that runs as a user on a machine that root has prepared.
fn on_machine(kind: &str, user: u32, preparation: &str, program: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/by_bwrap/machine.sh");
    let mut command = Command::new(script);
    command
        .arg(kind)
        .arg(user.to_string())
        .arg(Path::new(PROGRAM).parent().unwrap())
        .arg(preparation)
        .arg(program);
    command
}

/// A user's workspace.
fn workspace(user: u32) -> TempDir {
    let dir = TempDir::new().unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(dir.path(), Some(user), Some(user)).unwrap();
    dir
}

/// A machine, and how it was prepared.
struct Machine {
    kind: &'static str,
    user: u32,
    preparation: String,
}

impl Machine {
    fn new(kind: &'static str) -> Self {
        Self { kind, user: somebody(), preparation: ":".to_owned() }
    }

    /// One on which this is there in place of bwrap; of `bwrap` itself there is a copy in `/mnt`.
    fn with_bwrap(script: &str) -> Self {
        let place = "\"$(readlink -f \"$(command -v bwrap)\")\"";
        let write = format!("printf '%s\\n' '{script}' >/mnt/other; chmod 755 /mnt/other");
        Self { preparation: format!("{write}; mount --bind /mnt/other {place}"), ..Self::new("profile") }
    }

    /// One whose bwrap is told something else: what `sed` makes of the arguments, and further ones.
    fn with_changes(sed: &str, more: &str) -> Self {
        let lines = r#"tr "\\0" "\\n" </proc/self/fd/5"#;
        let zeros = r#"tr "\\n" "\\0" >/run/arguments.$$; exec 5</run/arguments.$$"#;
        let exec = format!("exec /mnt/bwrap --args 5 {more} -- /proc/self/fd/6 reaper");
        Self::with_bwrap(&format!("#!/bin/sh\n{lines} | sed \"{sed}\" | {zeros}; {exec}"))
    }

    /// The result or the error of a command in a workspace under a sandbox, given as settings.
    fn run_in(&self, workspace: &Path, sandbox: &Value, command: &str) -> Value {
        self.call_in(workspace, sandbox, &json!({"command": command, "timeout": 30_000}))
    }

    /// The same for a call with all of its arguments.
    fn call_in(&self, workspace: &Path, sandbox: &Value, args: &Value) -> Value {
        let settings = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(settings.path(), PermissionsExt::from_mode(0o644)).unwrap();
        let sandbox = crate::common::reporting(sandbox.clone());
        let text = json!({"sandbox": sandbox, "permissions": {"default": "allow"}});
        std::fs::write(settings.path(), text.to_string()).unwrap();
        let mut port = on_machine(self.kind, self.user, &self.preparation, Path::new(PROGRAM));
        let port = port.args(["call", "--settings"]).arg(settings.path()).arg("--workspace").arg(workspace);
        let output = port.args(["shell_exec", &args.to_string()]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    fn run(&self, sandbox: Value, command: &str) -> Value {
        self.run_in(workspace(self.user).path(), &sandbox, command)
    }

    /// Whether an attempt succeeds.
    fn attack(&self, sandbox: &str, attempt: &str) -> bool {
        let result = self.run(json!(sandbox), &format!("exec {PROGRAM} attack {attempt}"));
        assert!(result["exit_code"].is_i64() && result["exit_code"] != 2, "{attempt}: {result}");
        result["exit_code"] == 0
    }
}

#[test]
fn every_layer_is_there_and_the_result_says_who_made_it() {
    for kind in KINDS.into_iter().filter(|_| is_root()) {
        for mode in ["required", "best_effort"] {
            let machine = Machine::new(kind);
            let result = machine.run(json!(mode), "id -u; echo made > made; cat made");
            let isolation = &result["isolation"];
            assert_eq!(result["stdout"], format!("{}\nmade\n", machine.user), "{result}");
            assert_eq!(isolation["by"], "bwrap");
            // Where the kernel has no user namespaces, bwrap has none either.
            let expected = if kind == "kernel" { &LAYERS[1..] } else { &LAYERS[..] };
            assert_eq!(isolation["on"], json!(expected), "{result}");
            let off: Vec<&Value> =
                isolation["off"].as_array().unwrap().iter().map(|off| &off["layer"]).collect();
            assert_eq!(off, LAYERS[..LAYERS.len() - expected.len()], "{result}");
            assert!(isolation.get("partly").is_none(), "{result}");
        }
        let result = Machine::new(kind).run(json!("off"), "true");
        assert!(result["isolation"].get("by").is_none(), "{result}");
    }
}

#[test]
fn names_go_through_a_proxy_in_its_namespace() {
    for kind in KINDS.into_iter().filter(|_| is_root()) {
        for mode in ["required", "best_effort"] {
            let sandbox = json!({"mode": mode, "network": ["one.example"]});
            let result = Machine::new(kind).run(sandbox, "curl -sS http://other.example/");
            assert_eq!(result["isolation"]["by"], "bwrap", "{result}");
            let used = &result["network"][0];
            assert_eq!(
                (&used["name"], &used["refused"]),
                (&json!("other.example:80"), &json!(1)),
                "{result}"
            );
            assert!(result["stdout"].as_str().unwrap().contains("nobody can be asked"), "{result}");
        }
    }
}

#[test]
fn nobody_needs_bwrap_where_namespaces_are_not_refused() {
    let env = crate::common::Env::new();
    assert!(env.run("true")["isolation"].get("by").is_none());
}

/// Runs the tests of a module on machines of these kinds, but for those that cannot be there: they show something first
/// that nobody may, or depend on who bounds memory. Tests of this file are in their place.
pub(crate) fn run_tests(kinds: &[&str], module: &str, not: &[&str], least: usize) {
    for kind in kinds.iter().filter(|_| is_root()) {
        let mut tests = on_machine(kind, somebody(), ":", &std::env::current_exe().unwrap());
        // Where there are no namespaces of users, the processes of one test count for the next to it.
        let threads = if module == "sandbox_limits" { "1" } else { "2" };
        tests.arg(format!("{module}::")).args(["--test-threads", threads]);
        tests.args(not.iter().flat_map(|test| ["--skip", test]));
        let output = tests.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{kind}: {stdout}\n{}", String::from_utf8_lossy(&output.stderr));
        let passed = stdout.lines().filter(|line| line.ends_with("... ok")).count();
        assert!(passed >= least, "{kind}: {stdout}");
    }
}

#[test]
fn what_cannot_be_read_or_written() {
    // What bwrap hides is empty, whatever reads it.
    let not =
        ["every_layer_is_on_and_the_result_says_so", "what_is_hidden_is_a_document_where_programs_read_one"];
    run_tests(&KINDS, "sandbox_files", &not, 21);
}

#[test]
fn what_cannot_be_asked_of_the_kernel() {
    let not = [
        "every_namespace_is_refused_however_it_is_asked_for",
        "calls_that_lead_out_are_refused",
        "the_memory_of_the_reaper_is_not_read",
        "there_are_no_capabilities_and_none_are_to_be_had",
    ];
    run_tests(&KINDS, "sandbox_kernel", &not, 7);
}

#[test]
fn what_cannot_be_talked_to() {
    run_tests(&KINDS, "sandbox_network", &[], 9);
}

#[test]
fn what_cannot_be_used_up() {
    run_tests(&KINDS, "sandbox_limits", &["memory_of_nobody", "memory_that_looks_like_files"], 12);
}

#[test]
fn what_deny_rules_keep() {
    run_tests(&KINDS, "sandbox_paths", &["more_than_can_be_protected_is_refused_or_said"], 13);
}

#[test]
fn nothing_survives() {
    run_tests(&KINDS, "kill", &[], 9);
    for (kind, mode) in KINDS.into_iter().flat_map(|kind| MODES.map(|mode| (kind, mode))) {
        if !is_root() {
            return;
        }
        // Processes count for each user, and each machine has one of its own: other tests have theirs all the while.
        let (machine, mark) = (Machine::new(kind), crate::common::marker());
        let bomb = json!({
            "command": "bomb() { bomb | bomb & }; bomb; sleep 1000", "env": {"MARK": mark}, "timeout": 300});
        let error = machine.call_in(workspace(machine.user).path(), &json!(mode), &bomb);
        assert_eq!(error["details"]["reason"], "timeout", "{kind}, {mode}: {error}");
        assert!(error["details"]["killed"].as_u64().unwrap() > 10, "{kind}, {mode}: {error}");
        crate::common::assert_none_left(&mark);
    }
}

/// The parents of a process, up to the first that is called so.
fn above(pid: u32, name: &str) -> u32 {
    let mut pid = pid;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let value =
            |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned();
        if value("Name:") == name {
            return pid;
        }
        pid = value("PPid:").parse().unwrap();
        assert!(pid > 1, "there is no {name} above");
    }
}

#[test]
fn the_death_of_bwrap_or_of_the_reaper_kills_everything() {
    for (kind, victim) in [("kernel", "bwrap"), ("profile", "bwrap"), ("profile", "beamai-reaper")] {
        if !is_root() {
            return;
        }
        let mark = crate::common::marker();
        let command = "trap \"\" TERM; (setsid sleep 1000 &); sleep 1000 & wait";
        let error = std::thread::scope(|scope| {
            let command = format!("export MARK={mark}; {command}");
            let running = scope.spawn(move || Machine::new(kind).run(json!("required"), &command));
            let sleeps = || -> Vec<u32> {
                let is_sleep = |pid: &u32| {
                    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text.starts_with(b"sleep"))
                };
                crate::common::marked(&mark).into_iter().filter(is_sleep).collect()
            };
            crate::common::wait_until(|| sleeps().len() == 2);
            let one = sleeps()[0];
            let victim = above(one, victim);
            assert!(Command::new("kill").args(["-KILL", &victim.to_string()]).status().unwrap().success());
            running.join().unwrap()
        });
        assert_eq!(error["details"]["reason"], "io", "{error}");
        crate::common::wait_until(|| crate::common::marked(&mark).is_empty());
    }
}

#[test]
fn a_reaper_serves_many_commands() {
    run_tests(&KINDS, "reaper_again", &[], 1);
}

#[test]
fn calls_that_lead_out_are_refused_to_nobody_too() {
    // Those that nobody may make where nothing forbids them; the others are for root.
    let anybody = [
        "ptrace",
        "process_vm_readv",
        "clone3",
        "io_uring_setup",
        "memfd_create",
        "unix_socket",
        "uevent_socket",
    ];
    for kind in KINDS.into_iter().filter(|_| is_root()) {
        let attempts = anybody.map(|call| format!("call {call}"));
        let script = |attempts: &[String]| {
            let one = |attempt| format!("{PROGRAM} attack {attempt} 2>/dev/null && echo {attempt}; ");
            attempts.iter().map(one).collect::<String>() + "true"
        };
        let said = |sandbox: &str, attempts: &[String]| {
            let result = Machine::new(kind).run(json!(sandbox), &script(attempts));
            result["stdout"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
        };
        assert_eq!(said("off", &attempts), attempts.map(|attempt| attempt + "\n").concat());
        let root =
            ["unshare", "mount", "fsopen", "open_tree", "keyctl", "bpf", "perf_event_open", "userfaultfd"];
        let root = root.into_iter().chain(["open_by_handle_at", "packet_socket", "vsock_socket"]);
        let all: Vec<_> = anybody.into_iter().chain(root).map(|call| format!("call {call}")).collect();
        assert_eq!(said("required", &all), "");
        assert_eq!(said("required", &["open /proc/$PPID/mem".to_owned(), "capability".to_owned()]), "");
    }
}

#[test]
fn nobody_becomes_anybody_else() {
    for kind in KINDS.into_iter().filter(|_| is_root()) {
        let machine = Machine::new(kind);
        // On the machine, there is a program that runs as another user.
        assert_eq!(machine.run(json!("off"), "/mnt/id -u")["stdout"], "65533\n");
        assert_eq!(machine.run(json!("required"), "/mnt/id -u")["stdout"], format!("{}\n", machine.user));
        let become_others = "for id in 0 1 65533; do setpriv --reuid=$id true 2>/dev/null && echo $id; \
                             setpriv --regid=$id true 2>/dev/null && echo $id; done; chown 65533 . && echo chown; true";
        assert_eq!(machine.run(json!("required"), become_others)["stdout"], "");
        assert!(machine.attack("off", "privileges") && !machine.attack("required", "privileges"));
        assert!(!machine.attack("required", "capability"));
    }
}

#[test]
fn memory_that_no_process_has_is_looked_at() {
    let shared = "import ctypes,time; c=ctypes.CDLL(None); c.shmat.restype=ctypes.c_void_p\nfor _ in range(5):\n  \
                  a=c.shmat(c.shmget(0,40<<20,0o1600),None,0); ctypes.memset(a,1,40<<20); c.shmdt(ctypes.c_void_p(a))\n\
                  time.sleep(2); print(\"kept\")";
    let attempts = [
        "head -c 200M /dev/zero > /tmp/file; sleep 2; echo kept".to_owned(),
        "head -c 200M /dev/zero > /dev/shm/file; sleep 2; echo kept".to_owned(),
        format!("python3 -c '{shared}'"),
    ];
    for kind in KINDS.into_iter().filter(|_| is_root()) {
        for attempt in &attempts {
            let run = |memory: u64| Machine::new(kind).run(json!({"memory": memory}), attempt);
            assert_eq!(run(1 << 30)["stdout"], "kept\n", "{attempt}");
            let error = run(128 << 20);
            assert_eq!(error["details"]["reason"], "out_of_memory", "{attempt}: {error}");
        }
    }
}

/// Asserts that `required` runs nothing, names the layer, and says why.
fn assert_refused(machine: &Machine, layer: &str, why: &[&str]) {
    let dir = workspace(machine.user);
    let error = machine.run_in(dir.path(), &json!("required"), "touch ran");
    assert_eq!(error["details"]["reason"], "isolation_unavailable", "{error}");
    assert_eq!(error["details"]["layer"], layer, "{error}");
    for part in why {
        assert!(error["message"].as_str().unwrap().contains(part), "{part}: {error}");
    }
    assert!(!dir.path().join("ran").exists());
    // What is left without it is not nothing.
    let result = machine.run_in(dir.path(), &json!("best_effort"), "touch ran");
    let last = result["isolation"]["on"].as_array().and_then(|on| on.last());
    assert!(last.is_some_and(|last| last == "seccomp"), "{result}");
    assert!(result["isolation"].get("by").is_none() && dir.path().join("ran").exists());
}

#[test]
fn without_a_bwrap_that_can_be_trusted_required_refuses_and_says_why() {
    if !is_root() {
        return;
    }
    let prepared =
        |preparation: &str| Machine { preparation: preparation.to_owned(), ..Machine::new("profile") };
    let absent = "umount /usr/bin/bwrap; mkdir /mnt/bin; mount --rbind /usr/bin /mnt/bin; \
                  mount -t tmpfs -o mode=755 tmpfs /usr/bin; /mnt/bin/cp -as /mnt/bin/. /usr/bin/; rm /usr/bin/bwrap";
    let refusal = "cannot make the namespace: operation not permitted";
    assert_refused(&prepared(absent), "user_namespace", &[refusal, "bwrap (bubblewrap)", "is not installed"]);
    for change in ["chown 65534 /mnt/bwrap", "chmod o+w /mnt/bwrap", "chmod g+w /mnt/bwrap"] {
        assert_refused(
            &prepared(change),
            "user_namespace",
            &[refusal, "is not used", "others than root can change"],
        );
    }
}

#[test]
fn what_bwrap_has_not_done_is_noticed() {
    if !is_root() {
        return;
    }
    let broken = [
        ("#!/bin/sh\necho no way >&2; exit 3", "user_namespace", "no way"),
        ("#!/bin/sh\nexec sleep 1000.77", "user_namespace", "timed out"),
        // Nothing but to start what it should.
        (
            "#!/bin/sh\nwhile [ $1 != -- ]; do shift; done; shift; exec \"$@\"",
            "pid_namespace",
            "should have made",
        ),
    ];
    for (script, layer, why) in broken {
        assert_refused(&Machine::with_bwrap(script), layer, &["bwrap", why]);
    }
    crate::common::assert_none_left("1000.77");
    // Where no device can be opened, the reaper does not come as far as to its layers.
    let no_devices = "#!/bin/sh\nexec /mnt/bwrap --unshare-cgroup --ro-bind / / -- /proc/self/fd/6 reaper";
    assert_refused(
        &Machine::with_bwrap(no_devices),
        "user_namespace",
        &["cannot begin", "permission denied"],
    );
    // Each of these leaves one thing out, or adds one.
    let namespaces = ["user", "cgroup", "pid", "ipc", "uts", "net"];
    let all = namespaces.map(|name| format!("--unshare-{name}"));
    let tell = |options: &str| {
        format!(
            "#!/bin/sh\nexec /mnt/bwrap --as-pid-1 --die-with-parent {options} --chdir / -- /proc/self/fd/6 reaper"
        )
    };
    let tree = "--ro-bind / / --proc /proc --dev /dev --perms 1777 --tmpfs /dev/shm --remount-ro /dev";
    for (left_out, layer) in
        [("ipc", "ipc_namespace"), ("uts", "uts_namespace"), ("net", "network_namespace")]
    {
        let some: Vec<_> = all.iter().filter(|option| !option.ends_with(left_out)).cloned().collect();
        let machine = Machine::with_bwrap(&tell(&format!("{} {tree}", some.join(" "))));
        assert_refused(&machine, layer, &["should have made"]);
    }
    let all = all.join(" ");
    for (tree, layer) in [
        ("--bind / / --proc /proc --dev /dev --remount-ro /dev", "read_only_filesystem"),
        ("--ro-bind / / --proc /proc --bind /tmp /tmp --dev /dev --remount-ro /dev", "read_only_filesystem"),
        ("--ro-bind / / --dev /dev --remount-ro /dev", "private_proc"),
        // The workspace is missing, and everything that is to be hidden.
        (tree, "read_only_filesystem"),
    ] {
        assert_refused(&Machine::with_bwrap(&tell(&format!("{all} {tree}"))), layer, &["bwrap"]);
    }
}

#[test]
fn what_bwrap_has_mounted_otherwise_is_noticed() {
    if !is_root() {
        return;
    }
    let unchanged = Machine::with_changes("s#a#a#", "").run(json!("required"), "true");
    assert_eq!(unchanged["exit_code"], 0, "{unchanged}");
    for (sed, more, why) in [
        ("s#a#a#", "--bind /var/tmp /var/tmp", "have made read-only /var/tmp"),
        ("0,/--ro-bind/s//--bind/", "", "have made read-only /"),
        (r"s#^/etc/shadow\$#/etc/passwd#", "", "have mounted /etc/shadow"),
        ("s#a#a#", "--tmpfs /tmp", "have mounted /tmp"),
        ("s#a#a#", "--dev-bind /dev /dev", "have made read-only /dev"),
    ] {
        assert_refused(&Machine::with_changes(sed, more), "read_only_filesystem", &[why]);
    }
}

#[test]
fn protected_paths_that_are_not_mounted_are_noticed() {
    if !is_root() {
        return;
    }
    let machine = Machine::new("profile");
    let dir = workspace(machine.user);
    let git = dir.path().join(".git");
    for name in ["hooks", "objects"] {
        std::fs::create_dir_all(git.join(name)).unwrap();
    }
    for (file, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")] {
        std::fs::write(git.join(file), text).unwrap();
    }
    let owner = format!("{0}:{0}", machine.user);
    assert!(Command::new("chown").args(["-R", &owner]).arg(dir.path()).status().unwrap().success());
    let evil = "echo evil > .git/hooks/pre-commit; ls .git/hooks";
    let whole = machine.run_in(dir.path(), &json!("required"), evil);
    assert_eq!(whole["stdout"], "", "{whole}");
    // In place of the hooks, something else is mounted.
    let other = Machine::with_changes(r"s#/.git/hooks\$#/.git/objects#", "");
    let other = Machine { user: machine.user, ..other };
    let error = other.run_in(dir.path(), &json!("required"), evil);
    assert_eq!(error["details"]["layer"], "protected_paths", "{error}");
    assert!(error["message"].as_str().unwrap().contains(".git/hooks"), "{error}");
    assert!(!git.join("hooks/pre-commit").exists());
}

#[test]
fn more_than_bwrap_can_be_told_is_refused() {
    if !is_root() {
        return;
    }
    let user = somebody();
    let dir = workspace(user);
    for number in 0..1_200 {
        std::fs::write(dir.path().join(format!("{number}.pem")), "").unwrap();
    }
    let run = |count: u32| {
        let settings =
            json!({"sandbox": "required", "permissions": {"default": "allow", "deny": ["Read(**/*.pem)"]}});
        for number in count..1_200 {
            _ = std::fs::remove_file(dir.path().join(format!("{number}.pem")));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o644)).unwrap();
        std::fs::write(file.path(), settings.to_string()).unwrap();
        let mut port = on_machine("kernel", user, "ulimit -S -n 256", Path::new(PROGRAM));
        let port = port.args(["call", "--settings"]).arg(file.path()).arg("--workspace").arg(dir.path());
        let output = port.args(["shell_exec", r#"{"command": "touch ran; ulimit -n"}"#]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let error = run(1_200);
    assert_eq!(error["details"]["layer"], "protected_paths", "{error}");
    assert!(!dir.path().join("ran").exists());
    let result = run(400);
    // What had to be raised for it was taken back.
    assert_eq!(result["stdout"], "256\n", "{result}");
}

fn doctor(machine: &Machine) -> (Output, Value) {
    let mut port = on_machine(machine.kind, machine.user, &machine.preparation, Path::new(PROGRAM));
    let output = port.args(["doctor", "--json", "--workspace", "/tmp"]).output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output, report)
}

#[test]
fn the_doctor_says_who_makes_the_namespaces_and_that_required_works() {
    for kind in KINDS.into_iter().filter(|_| is_root()) {
        let (output, report) = doctor(&Machine::new(kind));
        assert!(output.status.success() && report["required_works"] == true, "{report:#}");
        assert_eq!(report["by"], "bwrap");
        let known = ["proved", "on", "not_needed"];
        let layers = report["layers"].as_array().unwrap();
        assert!(layers.iter().all(|layer| known.contains(&layer["state"].as_str().unwrap())), "{report:#}");
        let proved = layers.iter().filter(|layer| layer["state"] == "proved").count();
        assert!(proved >= layers.len() - 3, "{report:#}");
    }
    if is_root() {
        let (output, report) = doctor(&Machine::with_bwrap("#!/bin/sh\nexit 3"));
        assert!(!output.status.success() && report["required_works"] == false, "{report:#}");
    }
}

#[test]
fn a_reaper_is_not_started_by_hand() {
    let output = Command::new(PROGRAM).arg("reaper").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not by hand"), "{output:?}");
}
