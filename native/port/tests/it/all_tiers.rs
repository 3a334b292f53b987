//! The tier `landlock`: the attempts that the other tests make, on a machine that refuses namespaces, with what differs in a
//! table; and what is said where a tier is not to be had.

mod denied;
mod hidden_processes;
mod number_of_processes;
mod rights;
mod temp_dirs;

use crate::common::{LAYERS, PROGRAM, is_root};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Layers of the tier, as results list them.
const OWN_LAYERS: [&str; 6] =
    ["resource_limits", "no_capabilities", "no_new_privileges", "landlock", "signal_scope", "seccomp"];

/// Namespaces, by the flags of clone; the other one is of cgroups.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Calls that Docker's default profile refuses to containers without further capabilities, of those that a sandbox could
/// want.
const BY_DOCKER: [libc::c_long; 15] = [
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// A filter that answers these calls with an error.
fn filter(rules: Rules, errno: libc::c_int) -> BpfProgram {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap().try_into().unwrap()
}

/// Clones into namespaces.
fn clones(flags: &[libc::c_int]) -> Rules {
    let rule = |flag: &libc::c_int| {
        let flag = u64::from(flag.cast_unsigned());
        let has = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag);
        SeccompRule::new(vec![has.unwrap()]).unwrap()
    };
    Rules::from([(libc::SYS_clone, flags.iter().map(rule).collect())])
}

/// As Docker's default profile.
fn docker() -> Vec<BpfProgram> {
    let mut refused = clones(&NAMESPACES);
    refused.extend(BY_DOCKER.map(|number| (number, Vec::new())));
    let missing = Rules::from([(libc::SYS_clone3, Vec::new())]);
    vec![filter(refused, libc::EPERM), filter(missing, libc::ENOSYS)]
}

/// No more than keeps the launcher from making a user namespace, so that attempts outside of a sandbox have their effect.
fn no_user_namespaces() -> Vec<BpfProgram> {
    vec![filter(clones(&[libc::CLONE_NEWUSER]), libc::EPERM)]
}

/// The command under these filters.
fn under(mut command: Command, filters: Vec<BpfProgram>) -> Command {
    // SAFETY: two system calls for each filter, between fork and exec.
    unsafe {
        command.pre_exec(move || {
            filters.iter().try_for_each(|filter| {
                seccompiler::apply_filter(filter).map_err(|_| std::io::Error::from_raw_os_error(libc::EINVAL))
            })
        });
    }
    command
}

fn call(filters: Vec<BpfProgram>, sandbox: &str, workspace: &Path, command: &str) -> (Value, String) {
    let mut port = under(Command::new(PROGRAM), filters);
    port.args(["call", "--default", "allow", "--sandbox", sandbox, "--workspace"]).arg(workspace);
    let output = port.args(["shell_exec", &json!({"command": command}).to_string()]).output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (value, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn under_a_filter_like_dockers_the_second_tier_works_and_says_what_is_off() {
    let dir = TempDir::new().unwrap();
    let attempt = "echo x > in; echo $?; echo x > /var/tmp/beamai-out; echo $?; [ -n \"$TMPDIR\" ] && mktemp >t; echo $?";
    let (result, said) = call(docker(), "required:landlock", dir.path(), attempt);
    assert_eq!(result["stdout"], "0\n1\n0\n", "{result}");
    assert_eq!(result["isolation"]["tier"], "landlock", "{result}");
    let on = result["isolation"]["on"].as_array().unwrap();
    assert_eq!(on, OWN_LAYERS.as_slice());
    let off = result["isolation"]["off"].as_array().unwrap();
    let off: Vec<&str> = off.iter().map(|one| one["layer"].as_str().unwrap()).collect();
    let expected: Vec<&str> = LAYERS.into_iter().filter(|layer| !OWN_LAYERS.contains(layer)).collect();
    assert_eq!(off, expected, "{result}");
    assert_eq!(said, "");
    // Where there is more to be had, it is had.
    let (result, _) = call(Vec::new(), "required:landlock", dir.path(), "true");
    assert!(result.get("isolation").is_none(), "{result}");
}

#[test]
fn under_a_filter_like_dockers_the_full_tier_is_refused_with_what_to_do() {
    let dir = TempDir::new().unwrap();
    for sandbox in ["required", "required:full"] {
        let (error, said) = call(docker(), sandbox, dir.path(), "touch ran");
        assert_eq!(error["details"]["reason"], "isolation_unavailable", "{error}");
        let message = error["message"].as_str().unwrap();
        for part in ["user_namespace", "seccomp=unconfined", "required:landlock", "doctor"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(said.contains("no command will run") && said.contains("seccomp=unconfined"), "{said}");
        assert!(!dir.path().join("ran").exists());
    }
    let (result, said) = call(docker(), "best_effort", dir.path(), "true");
    assert_eq!(result["isolation"]["tier"], "landlock", "{result}");
    assert!(said.contains("without some layers"), "{said}");
}

#[test]
fn the_server_of_a_model_context_says_at_its_start_what_will_be_refused() {
    let dir = TempDir::new().unwrap();
    let said = |sandbox: &str| {
        let mut port = under(Command::new(PROGRAM), docker());
        let output =
            port.args(["mcp", "--sandbox", sandbox, "--workspace"]).arg(dir.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let all = said("required");
    assert!(all.contains("no command will run") && all.contains("seccomp=unconfined"), "{all}");
    assert_eq!((said("required:landlock"), said("off")), (String::new(), String::new()));
}

fn doctor(mut command: Command) -> Value {
    let dir = TempDir::new().unwrap();
    let output = command.args(["doctor", "--json", "--workspace"]).arg(dir.path()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn states(report: &Value) -> BTreeMap<&str, &str> {
    let layers = report["layers"].as_array().unwrap().iter();
    layers.map(|layer| (layer["layer"].as_str().unwrap(), layer["state"].as_str().unwrap())).collect()
}

/// What `doctor` names as being in the way.
fn obstacles(report: &Value) -> Vec<&str> {
    report["obstacles"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn doctor_names_a_filter_and_the_tier_that_works() {
    let report = doctor(under(Command::new(PROGRAM), docker()));
    assert_eq!(obstacles(&report), ["filtered_namespaces"], "{report:#}");
    assert_eq!((&report["tier"], &report["required_works"]), (&json!("landlock"), &json!(false)));
    let states = states(&report);
    assert_eq!((states["user_namespace"], states["seccomp"]), ("off", "proved"));
    assert!(!states.values().any(|state| *state == "broken"), "{report:#}");
    assert!(obstacles(&doctor(Command::new(PROGRAM))).is_empty());
    let mut command = under(Command::new(PROGRAM), docker());
    let output = command.args(["doctor", "--brief"]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("seccomp=unconfined"));
}

#[test]
fn doctor_names_settings_of_the_kernel() {
    let mut command = Command::new("unshare");
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", PROGRAM]);
    let report = doctor(command);
    assert_eq!(obstacles(&report), ["no_user_namespaces"], "{report:#}");
    assert_eq!(report["tier"], "landlock");
}

#[test]
fn root_without_its_capabilities_is_recognised() {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "setpriv", "--bounding-set=-setfcap", PROGRAM]);
    let report = doctor(command);
    assert_eq!(obstacles(&report), ["no_setfcap"], "{report:#}");
    assert_eq!(report["tier"], "landlock");
}

/// A container whose `/proc` is masked, as those of podman are.
fn masked() -> Command {
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs tmpfs /proc/acpi 2>/dev/null || mount --bind /dev/null /proc/kcore; \
                  mount --bind -o ro /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec \"$@\"";
    command.args(["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", PROGRAM]);
    command
}

#[test]
fn where_proc_is_masked_the_remedy_is_named_and_what_is_left_out_by_the_host_is_not_missed() {
    if !is_root() {
        return;
    }
    let report = doctor(masked());
    assert_eq!(obstacles(&report), ["masked_proc"], "{report:#}");
    assert_eq!(report["tier"], "landlock", "{report:#}");
    assert!(!states(&report).values().any(|state| *state == "broken"), "{report:#}");
    let dir = TempDir::new().unwrap();
    let run = |sandbox: Value, script: &str| -> Value {
        let settings = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(settings.path(), json!({"sandbox": sandbox}).to_string()).unwrap();
        let mut port = masked();
        port.args(["call", "--default", "allow", "--settings"]).arg(settings.path());
        port.arg("--workspace").arg(dir.path());
        let output = port.args(["shell_exec", &json!({"command": script}).to_string()]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let error = run(json!("required"), "touch ran");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("unmask=ALL") && message.contains("without => [private_proc]"), "{message}");
    // Its processes can be seen, and neither looked into nor signalled.
    let script = "cat /proc/1/cmdline >/dev/null && echo seen; cat /proc/1/environ 2>/dev/null && echo read; \
                  echo x >/var/tmp/beamai-out && echo written; (setsid sleep 1000 &) >/dev/null 2>&1";
    let result = run(json!({"without": ["private_proc"]}), script);
    assert_eq!((&result["stdout"], &result["killed"]), (&json!("seen\n"), &json!(1)), "{result}");
    assert_eq!(result["isolation"]["tier"], "full", "{result}");
    let off = &result["isolation"]["off"][0];
    assert_eq!((&off["layer"], &off["why"]), (&json!("private_proc"), &json!("the host does without it")));
}

#[test]
fn doctor_calls_no_layer_broken_as_process_1_of_a_namespace_nor_for_what_an_exec_cannot_give() {
    if !is_root() {
        return;
    }
    let as_first = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", PROGRAM]);
        command
    };
    let report = doctor(as_first());
    assert!(report["required_works"] == true, "{report:#}");
    assert_eq!((states(&report)["pid_namespace"], states(&report)["private_proc"]), ("proved", "proved"));
    // A user that has a bounding set, and may not lower it.
    let target = Path::new(PROGRAM).parent().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/plain_user.sh");
    let mut command = Command::new(script);
    command.arg("23456").arg(target).arg(PROGRAM);
    let report = doctor(under(command, no_user_namespaces()));
    assert!(!states(&report).values().any(|state| *state == "broken"), "{report:#}");
    assert_eq!(states(&report)["no_capabilities"], "on", "{report:#}");
}

#[test]
fn what_the_tier_cannot_hold_is_refused() {
    let dir = TempDir::new().unwrap();
    let run = |sandbox: Value| -> Value {
        let settings = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(settings.path(), json!({"sandbox": sandbox}).to_string()).unwrap();
        let mut port = under(Command::new(PROGRAM), no_user_namespaces());
        port.args(["call", "--default", "allow", "--settings"]).arg(settings.path());
        port.arg("--workspace").arg(dir.path());
        let output = port.args(["shell_exec", r#"{"command": "touch ran"}"#]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    // Linux can keep commands from sockets that have a path from version 9 of Landlock on.
    if beamai_sandbox::layers::landlock_version().unwrap() < 9 {
        let error = run(json!({"tier": "landlock", "unix_sockets": true}));
        assert_eq!(error["details"]["layer"], "landlock", "{error}");
        assert!(error["message"].as_str().unwrap().contains("unix_sockets"), "{error}");
        assert!(!dir.path().join("ran").exists());
    }
    // More lies beside what is denied than can be permitted one by one.
    for number in 0..20_001 {
        std::fs::write(dir.path().join(number.to_string()), "").unwrap();
    }
    let mut port = under(Command::new(PROGRAM), no_user_namespaces());
    port.args(["call", "--default", "allow", "--sandbox", "required:landlock", "--deny", "Read(key)"]);
    std::fs::write(dir.path().join("key"), "").unwrap();
    let output =
        port.arg("--workspace").arg(dir.path()).args(["shell_exec", r#"{"command": "touch ran"}"#]).output();
    let error: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert_eq!(error["details"]["layer"], "landlock", "{error}");
    assert!(!dir.path().join("ran").exists());
}

#[test]
fn a_command_cannot_end_what_watches_over_it() {
    let dir = TempDir::new().unwrap();
    let command = "kill -9 $PPID; echo $?; kill -STOP $PPID; echo $?; sleep 100 & kill $! && echo own";
    let (result, _) = call(no_user_namespaces(), "required:landlock", dir.path(), command);
    assert_eq!(result["stdout"], "1\n1\nown\n", "{result}");
}

#[test]
fn hooks_and_settings_that_a_command_plants_are_taken_out_and_harmless_ones_stay() {
    let dir = TempDir::new().unwrap();
    for command in [
        "git init -q . && git config core.pager cat && mkdir -p .git/hooks",
        "echo true > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
    ] {
        assert!(Command::new("sh").args(["-c", command]).current_dir(dir.path()).status().unwrap().success());
    }
    let plant = "git config core.fsmonitor ./evil; git config user.name N; echo evil > .git/hooks/pre-commit; \
                 echo evil > .git/hooks/post-checkout; echo new > new";
    let (result, _) = call(no_user_namespaces(), "required:landlock", dir.path(), plant);
    let config = std::fs::read_to_string(dir.path().join(".git/config")).unwrap();
    assert!(
        !config.contains("fsmonitor") && config.contains("pager") && config.contains("name = \"N\""),
        "{config}"
    );
    for hook in ["pre-commit", "post-checkout"] {
        assert!(!dir.path().join(".git/hooks").join(hook).exists(), "{hook}: {result}");
        assert!(dir.path().join(".git/hooks").join(format!("{hook}.planted")).exists(), "{hook}");
    }
    assert_eq!(result["planted"].as_array().unwrap().len(), 3, "{result}");
    assert!(dir.path().join("new").exists());
}

#[test]
fn what_a_persons_own_link_leads_git_to_is_cleaned_and_the_link_stays() {
    let dir = TempDir::new().unwrap();
    let own = "git init -q . && rm -rf .git/hooks && mkdir hk && ln -s ../hk .git/hooks && echo true > hk/pre-commit && \
               mv .git/config cfg && ln -s ../cfg .git/config && ln -s hk way && git config core.hooksPath way";
    assert!(Command::new("sh").args(["-c", own]).current_dir(dir.path()).status().unwrap().success());
    let (result, _) = call(no_user_namespaces(), "required:landlock", dir.path(), "echo x > new");
    assert!(result.get("planted").is_none(), "{result}");
    let plant = "mkdir r2; echo evil > r2/pre-commit; rm way; ln -s r2 way; echo evil > hk/post-checkout; \
                 git config -f cfg core.fsmonitor ./evil; rm .git/hooks; ln -s ../r2 .git/hooks";
    let (result, _) = call(no_user_namespaces(), "required:landlock", dir.path(), plant);
    for (link, target) in [(".git/hooks", "../hk"), (".git/config", "../cfg"), ("way", "hk")] {
        let now = std::fs::read_link(dir.path().join(link)).unwrap();
        assert_eq!(now, Path::new(target), "{link}: {result}");
    }
    let hooks: BTreeSet<_> =
        std::fs::read_dir(dir.path().join("hk")).unwrap().map(|hook| hook.unwrap().file_name()).collect();
    assert_eq!(hooks, ["post-checkout.planted", "pre-commit"].map(Into::into).into());
    assert!(!std::fs::read_to_string(dir.path().join("cfg")).unwrap().contains("fsmonitor"), "{result}");
    assert_eq!(result["planted"][0]["setting"], "leads git elsewhere", "{result}");
}

#[test]
fn flags_of_files_cannot_be_set() {
    let (dir, outside) = (TempDir::new().unwrap(), TempDir::new_in("/var/tmp").unwrap());
    let file = outside.path().join("file");
    std::fs::write(&file, "").unwrap();
    let attempt = format!("chattr +d {}", file.display());
    let (result, _) = call(no_user_namespaces(), "off", dir.path(), &attempt);
    assert_eq!(result["exit_code"], 0, "{result}");
    let (result, _) = call(no_user_namespaces(), "off", dir.path(), &format!("chattr -d {}", file.display()));
    assert_eq!(result["exit_code"], 0, "{result}");
    let (result, _) = call(no_user_namespaces(), "required:landlock", dir.path(), &attempt);
    assert_ne!(result["exit_code"], 0, "{result}");
    let flags = Command::new("lsattr").arg(&file).output().unwrap().stdout;
    let flags = String::from_utf8(flags).unwrap();
    assert!(!flags.split(' ').next().unwrap().contains('d'), "{flags}");
}

/// What differs from the full tier: a test of another module that does not hold, and the row of the table in
/// `docs/sandbox.md` that says so. Each is shown to fail.
const DIFFERS: &[(&str, &str)] = &[
    ("sandbox_files::nothing_is_written_outside_the_workspace", "modes and times of files"),
    ("sandbox_files::hooks_and_settings_of_a_repository_are_not_written", "git's settings and hooks"),
    ("sandbox_files::repositories_within_are_protected_too", "git's settings and hooks"),
    (
        "sandbox_files::a_repository_that_a_command_makes_is_protected_from_the_next_one",
        "git's settings and hooks",
    ),
    (
        "sandbox_files::a_protection_that_the_machine_has_replaced_is_renewed_before_the_next_command",
        "git's settings and hooks",
    ),
    ("sandbox_files::what_a_repository_lacks_is_not_created", "git's settings and hooks"),
    (
        "sandbox_files::a_command_that_cannot_delete_a_repository_which_was_there_before_says_why",
        "git's settings and hooks",
    ),
    (
        "sandbox_files::what_must_not_be_there_is_not_there_while_a_command_runs_either",
        "git's settings and hooks",
    ),
    ("sandbox_files::the_temporary_directory_is_private", "`/tmp` and `/dev/shm`"),
    (
        "sandbox_files::a_session_keeps_its_temporary_directory_and_shares_it_with_none",
        "`/tmp` and `/dev/shm`",
    ),
    ("sandbox_secrets::secrets_are_hidden_unless_the_host_shows_them", "hidden files"),
    ("sandbox_files::the_temporary_directory_of_the_machine_may_be_the_workspace", "files that rules deny"),
    ("sandbox_limits::memory_of_nobody", "shared memory and queues"),
    ("sandbox_limits::memory_that_calls_of_system_v_keep", "shared memory and queues"),
    ("sandbox_limits::memory_that_looks_like_files", "`/tmp` and `/dev/shm`"),
    ("sandbox_files::devices_of_the_machine_are_not_there", "hidden files"),
    ("sandbox_secrets::what_is_hidden_is_a_document_where_programs_read_one", "hidden files"),
    ("sandbox_kernel::processes_of_the_machine_are_neither_seen_nor_signalled", "processes of the machine"),
    ("sandbox_kernel::there_are_no_capabilities_and_none_are_to_be_had", "other users"),
    ("sandbox_kernel::limits_and_priority_of_the_reaper_are_not_changed", "limits and priority of processes"),
    ("sandbox_kernel::shared_memory_of_a_command_is_not_there_for_the_next", "shared memory and queues"),
    ("sandbox_network::the_network_has_a_loopback_interface_of_its_own", "no network"),
    ("sandbox_network::the_host_may_allow_sockets_within", "`unix_sockets`"),
    ("sandbox_network::abstract_sockets_are_out_of_reach_with_the_network_too", "`unix_sockets`"),
    ("sandbox_paths::a_bare_rule_that_denies_a_file_tool_holds_for_every_file", "`/tmp` and `/dev/shm`"),
    ("sandbox_paths::a_file_in_a_missing_directory_is_kept_absent_by_an_empty_one", "files that rules deny"),
    ("sandbox_paths::a_name_that_is_kept_from_commands_is_not_left_behind", "files that rules deny"),
    ("sandbox_paths::what_is_hidden_is_empty_and_stays_as_it_is", "files that rules deny"),
    (
        "planted::meanwhile::overlapping_commands_under_other_rules_know_of_each_other",
        "files that rules deny",
    ),
    (
        "planted::obstacles::a_forbidden_name_that_cannot_be_removed_hides_no_other",
        "git's settings and hooks",
    ),
];

/// Tests that cannot be made here.
const NOT_HERE: &[&str] = &[
    // It is about the full tier alone.
    "sandbox_files::every_layer_is_on_and_the_result_says_so",
    // Another machine within this one, for root alone.
    "exec_guard::all_of_this_holds_for_a_plain_user",
    "planted::through::all_of_this_holds_for_a_plain_user",
    // The filter that makes this machine ends such calls itself.
    "sandbox_kernel::calls_of_another_architecture_end_the_program",
    // For root, the reaper counts processes; what begins and ends between two looks is not seen. `number_of_processes`
    // has tests.
    "sandbox_limits::processes",
    "sandbox_limits::what_is_limited_cannot_be_raised",
];

/// Runs the tests of a module with the tier in place of the full one.
fn tests(
    filters: Vec<BpfProgram>,
    module: &str,
    not: &[&str],
    only: Option<&str>,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut tests = under(Command::new(std::env::current_exe().unwrap()), filters);
    tests.env(crate::common::TIER, "landlock").args(["--test-threads", "2"]);
    match only {
        Some(test) => tests.args([test, "--exact"]),
        None => tests.arg(format!("{module}::")).args(not.iter().flat_map(|test| ["--skip", test])),
    };
    // What a test that fails leaves behind must not keep a pipe open.
    let told = tempfile::NamedTempFile::new().unwrap();
    tests
        .stdin(Stdio::null())
        .stdout(told.reopen().unwrap())
        .stderr(told.reopen().unwrap())
        .status()
        .unwrap();
    let stdout = std::fs::read_to_string(told.path()).unwrap();
    let ended = |how: &str| {
        let lines = stdout.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(how));
        lines.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let (passed, failed) = (ended(" ... ok"), ended(" ... FAILED"));
    assert!(only.is_some() || failed.is_empty(), "{failed:?}: {stdout}");
    (passed, failed)
}

/// Every test of a module but those of the tables passes; those that differ fail.
fn holds(module: &str, least: usize) {
    let of_module = |test: &&str| test.starts_with(&format!("{module}::"));
    let differing: Vec<&str> = DIFFERS.iter().map(|(test, _)| *test).filter(of_module).collect();
    let not: Vec<&str> =
        differing.iter().copied().chain(NOT_HERE.iter().copied().filter(of_module)).collect();
    let (passed, _) = tests(no_user_namespaces(), module, &not, None);
    assert!(passed.len() >= least, "{module}: {passed:?}");
    for test in differing {
        let (passed, failed) = tests(no_user_namespaces(), module, &[], Some(test));
        assert!(passed.is_empty() && failed.contains(test), "{test} holds as well: {passed:?}");
    }
}

#[test]
fn what_cannot_be_read_or_written() {
    holds("sandbox_files", 9);
    holds("sandbox_secrets", 5);
    holds("sandbox_paths", 10);
}

#[test]
fn what_cannot_be_asked_of_the_kernel() {
    holds("sandbox_kernel", 6);
}

#[test]
fn what_cannot_be_talked_to() {
    holds("sandbox_network", 6);
}

#[test]
fn what_cannot_be_used_up() {
    holds("sandbox_limits", 6);
}

#[test]
fn what_may_not_start() {
    holds("exec_guard", 15);
}

#[test]
fn what_the_git_worker_cannot_be_led_to() {
    let add = "git_worker::staging_under_exchange_changes_nothing_outside";
    let start = "git_worker::a_worker_that_starts_under_exchange_changes_nothing_outside";
    // Where the full tier is to be had, too: what fails there must not be tried with less.
    for filters in [no_user_namespaces(), Vec::new()] {
        for test in [add, start] {
            let (passed, failed) = tests(filters.clone(), "git_worker", &[], Some(test));
            assert!(passed.contains(test) && failed.is_empty(), "{test}: {failed:?}");
        }
    }
}

#[test]
fn what_is_not_left_behind_for_git() {
    holds("planted", 80);
}

#[test]
fn what_does_not_survive() {
    holds("kill", 4);
}

#[test]
fn the_documentation_tells_what_differs() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    let text = std::fs::read_to_string(docs).unwrap();
    let (_, section) = text.split_once("## What differs").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: BTreeSet<&str> = rows.skip(1).filter(|row| !row.starts_with("---")).collect();
    let told: BTreeSet<&str> = DIFFERS.iter().map(|(_, row)| *row).collect();
    assert!(told.is_subset(&rows), "not in the table: {:?}", told.difference(&rows).collect::<Vec<_>>());
}

#[test]
fn without_mounts_what_names_a_linked_work_tree_is_put_back() {
    let (dir, elsewhere) = (TempDir::new().unwrap(), TempDir::new_in("/var/tmp").unwrap());
    let (result, _) = call(
        Vec::new(),
        "off",
        dir.path(),
        "git init -q r && cd r && git -c user.name=N -c user.email=e@x commit -q --allow-empty -m x && git worktree add -q ../wt",
    );
    assert_eq!(result["exit_code"], 0, "{result}");
    let file = dir.path().join("r/.git/worktrees/wt/gitdir");
    let before = std::fs::read(&file).unwrap();
    let command = format!("echo {}/.git > r/.git/worktrees/wt/gitdir", elsewhere.path().display());
    let (result, _) = call(no_user_namespaces(), "required:landlock", dir.path(), &command);
    assert_eq!(result["exit_code"], 0, "{result}");
    assert_eq!(result["planted"][0]["path"], "r/.git/worktrees/wt/gitdir", "{result}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
