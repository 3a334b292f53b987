//! What `shell_exec` does and gives back.

use crate::common::{Env, MODES, PROGRAM, assert_none_left, call, error, host, marker};
use beamai_base::{ErrorKind, Reason};
use beamai_engine::{CallOptions, CallOutcome};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn execute_command() {
    let env = Env::new();
    let result = env.run("echo out; echo err >&2; exit 3");
    assert_eq!(result["exit_code"], 3);
    assert_eq!(result["stdout"], "out\n");
    assert_eq!(result["stderr"], "err\n");
    assert_eq!(result["truncated"], false);
    assert!(result["duration_ms"].is_u64());
    assert!(result.get("signal").is_none() && result.get("killed").is_none(), "{result}");
}

#[test]
fn timeout_control() {
    for mode in MODES {
        let mark = marker();
        let started = Instant::now();
        let command = format!("echo so far; echo wrong >&2; sleep 1000; : {mark}");
        let error = Env::with(mode).fails(json!({"command": command, "timeout": 300}));
        assert_eq!((error.kind(), error.reason), (ErrorKind::Timeout, Reason::Timeout));
        assert_eq!(error.details["stdout"], "so far\n");
        assert_eq!(error.details["stderr"], "wrong\n");
        assert_eq!(error.details["killed"], 2, "{mode}");
        assert!(error.details["duration_ms"].as_u64().unwrap() >= 300);
        assert!(error.details.contains_key("isolation") && !error.details.contains_key("exit_code"));
        assert!(started.elapsed() < Duration::from_secs(60));
        assert_none_left(&mark);
    }
}

#[test]
fn permission_check() {
    let env = Env::new();
    let asks = host(env.path(), json!({"default": "auto"}), "best_effort");
    let CallOutcome::Ask(request) = asks.call(call(json!({"command": "rm -rf x"})), CallOptions::default())
    else {
        panic!()
    };
    assert_eq!(request["command"], "rm -rf x");
    assert!(request["message"].as_str().unwrap().contains("rm -rf x"));
    let denies = host(env.path(), json!({"deny": ["Bash"], "default": "allow"}), "best_effort");
    let denied = error(denies.call(call(json!({"command": "touch x"})), CallOptions::default()));
    assert_eq!((denied.reason, denied.details["matched_rule"].as_str()), (Reason::Denied, Some("Bash")));
    assert!(!env.path().join("x").exists());
}

#[test]
fn a_command_may_have_several_lines_and_any_quotes() {
    assert_eq!(Env::new().stdout("x='a  b'\nprintf '%s|' \"$x\" $x"), "a  b|a|b|");
}

#[test]
fn a_command_that_looks_like_an_option_is_a_command() {
    let env = Env::new();
    for command in ["-x", "+x", "--", "-c", "--version", "-O extglob"] {
        let result = env.run(command);
        let name = command.split(' ').next().unwrap();
        assert_eq!(result["exit_code"], 127, "{command}: {result}");
        assert_eq!(result["stderr"], format!("bash: line 1: {name}: command not found\n"), "{command}");
    }
}

#[test]
fn it_is_bash_without_startup_files() {
    let env = Env::new();
    std::fs::write(env.path().join(".bashrc"), "echo startup").unwrap();
    let result = env.ok(json!({"command": "echo $0 ${BASH_VERSION:+bash} $-; shopt login_shell", "env": {"HOME": env.path()}}));
    let stdout = result["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("bash bash ") && stdout.contains("off"), "{stdout}");
    assert!(!stdout.contains("startup"));
}

#[test]
fn a_signal_that_kills_the_shell_is_named() {
    for mode in MODES {
        let result = Env::with(mode).run("kill -SEGV $$");
        assert_eq!((&result["exit_code"], &result["signal"]), (&json!(null), &json!("SIGSEGV")));
    }
    assert_eq!(Env::new().run("sh -c 'kill -9 $$'; exit $?")["exit_code"], 137);
}

#[test]
fn it_runs_in_the_workspace_or_in_a_directory_of_it() {
    let env = Env::new();
    let sub = env.path().join("a b/c");
    std::fs::create_dir_all(&sub).unwrap();
    std::os::unix::fs::symlink("a b/c", env.path().join("link")).unwrap();
    let top = env.path().canonicalize().unwrap().display().to_string();
    assert_eq!(env.stdout("pwd -P; cd ..; ls -d"), format!("{top}\n.\n"));
    for cwd in ["a b/c", "link", sub.to_str().unwrap()] {
        let result = env.ok(json!({"command": "pwd -P; cd ../..; pwd -P", "cwd": cwd}));
        assert_eq!(result["stdout"], format!("{top}/a b/c\n{top}\n"), "{cwd}");
    }
}

#[test]
fn a_wrong_directory_is_refused_before_anything_runs() {
    let env = Env::new();
    std::fs::write(env.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("/", env.path().join("out")).unwrap();
    let reason = |cwd: &str| env.fails(json!({"command": "touch ran", "cwd": cwd})).reason;
    assert_eq!(reason("none"), Reason::NoSuchFile);
    assert_eq!(reason("file"), Reason::NotADirectory);
    assert_eq!(reason(".."), Reason::OutsideWorkspace);
    assert_eq!(reason("out"), Reason::OutsideWorkspace);
    assert_eq!(reason("/"), Reason::OutsideWorkspace);
    assert!(!env.path().join("ran").exists());
}

#[test]
fn variables_are_added_and_replaced() {
    let env = Env::new();
    let result = env.ok(json!({"command": "echo $A-$LANG-$TERM", "env": {"A": "x y", "LANG": "C"}}));
    assert_eq!(result["stdout"], "x y-C-dumb\n");
    let error = env.fails(json!({"command": "true", "env": {"PORT": 80}}));
    assert_eq!(error.reason, Reason::InvalidArgument);
    assert!(error.message.contains("\"PORT\" must be a string, not 80"), "{}", error.message);
}

#[test]
fn secrets_of_the_host_do_not_reach_the_command() {
    let env = Env::new();
    let output = std::process::Command::new(PROGRAM)
        .args(["call", "--default", "allow", "--workspace"])
        .arg(env.path())
        .args(["shell_exec", r#"{"command": "env; cat /proc/*/environ; cat /proc/$PPID/cmdline"}"#])
        .env("API_KEY", "s3cr3t")
        .env("LC_TIME", "C")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("LC_TIME=C") && text.contains("HOME="), "{text}");
    assert!(!text.contains("s3cr3t"), "{text}");
}

#[test]
fn the_sessions_temporary_directory_is_tmpdir() {
    let env = Env::new();
    let without = env.host.call(call(json!({"command": "echo ${TMPDIR-none}"})), CallOptions::default());
    let CallOutcome::Ok(result, _) = without else { panic!() };
    assert_eq!(result["stdout"], "none\n");
    assert_eq!(env.stdout("echo ${TMPDIR-none}"), format!("{}\n", env.temp.path().display()));
}

#[test]
fn input_is_passed_and_is_at_its_end_otherwise() {
    let env = Env::new();
    assert_eq!(env.ok(json!({"command": "cat", "stdin": "a\nb"}))["stdout"], "a\nb");
    assert_eq!(env.ok(json!({"command": "cat", "stdin": ""}))["stdout"], "");
    assert_eq!(env.stdout("cat; echo end"), "end\n");
    let large = "x".repeat(5_000_000);
    assert_eq!(env.ok(json!({"command": "wc -c", "stdin": large}))["stdout"], "5000000\n");
    assert_eq!(
        env.ok(json!({"command": "head -c 2; exec <&-; sleep 0.1; echo", "stdin": large}))["stdout"],
        "xx\n"
    );
}

#[test]
fn output_over_the_cap_is_cut_in_the_middle_and_says_so() {
    let env = Env::new();
    let result = env.run("printf first; head -c 70000 /dev/zero | tr '\\0' a; echo last; echo small >&2");
    let stdout = result["stdout"].as_str().unwrap();
    assert_eq!(result["truncated"], true);
    assert!(stdout.starts_with("firstaaa"));
    assert!(stdout.contains("aaa\n[... 4474 bytes left out ...]\naaa"));
    assert!(stdout.ends_with("aaalast\n[output truncated]"));
    assert_eq!(stdout.len(), 65_536 + "\n[... 4474 bytes left out ...]\n[output truncated]".len());
    assert_eq!((&result["stderr"], &result["stdout_bytes"]), (&json!("small\n"), &json!(70_010)));
    let exact = env.run("head -c 65536 /dev/zero | tr '\\0' a");
    assert_eq!((&exact["truncated"], exact["stdout"].as_str().unwrap().len()), (&json!(false), 65_536));
    assert!(exact.get("output_file").is_none(), "{exact}");
}

#[test]
fn a_file_that_the_session_can_read_has_all_of_the_output() {
    let env = Env::new();
    let command = r"echo first >&2; sleep 0.1; seq 1 20000; sleep 0.3; printf '\e[1mlast\e[0m\n' >&2";
    let result = env.ok(json!({"command": command, "strip_ansi": true}));
    let path = result["output_file"].as_str().unwrap();
    let expected = (1..=20_000).map(|n| format!("{n}\n")).collect::<String>();
    assert!(std::fs::read_to_string(path).unwrap() == format!("first\n{expected}last\n"));
    assert!(result.get("output_file_lacks").is_none(), "{result}");
    let mut read = env.made(json!({"path": path, "offset": -2}));
    read.tool = "file_read".to_owned();
    let CallOutcome::Ok(file, _) = env.host.call(read.clone(), CallOptions::default()) else { panic!() };
    assert_eq!((&file["content"], &file["total_lines"]), (&json!("20000\nlast\n"), &json!(20_002)));
    read.session = None;
    assert_eq!(error(env.host.call(read, CallOptions::default())).reason, Reason::OutsideWorkspace);
}

#[test]
fn errors_over_the_cap_go_to_the_file_as_well_and_so_does_output_before_a_timeout() {
    let env = Env::new();
    let ends_well = |path: &serde_json::Value| {
        std::fs::read_to_string(path.as_str().unwrap()).unwrap().ends_with("\n20000\n")
    };
    assert!(ends_well(&env.run("seq 1 20000 >&2")["output_file"]));
    let error = env.fails(json!({"command": "seq 1 20000; sleep 50", "timeout": 400}));
    assert!(ends_well(&error.details["output_file"]));
}

#[test]
fn a_file_of_output_has_a_largest_size_and_the_answer_says_so() {
    let result = Env::new().run("head -c 70000000 /dev/zero | tr '\\0' a; echo last");
    assert_eq!(result["output_file_lacks"], "the file ends after 67108864 bytes, the most that it may have");
    assert!(result["stdout"].as_str().unwrap().ends_with("aaalast\n[output truncated]"));
}

#[test]
fn endless_output_neither_blocks_nor_outlives_the_timeout() {
    let mark = marker();
    let error = Env::new().fails(json!({"command": format!("yes {mark}"), "timeout": 300}));
    assert_eq!(error.reason, Reason::Timeout);
    assert_eq!(error.details["truncated"], true);
    assert!(error.details["stdout"].as_str().unwrap().ends_with("[output truncated]"));
    assert_none_left(&mark);
}

#[test]
fn output_that_is_not_text_comes_as_base64_too() {
    let env = Env::new();
    let result = env.run(r"printf 'caf\xe9'; printf '\xff\0' >&2");
    assert_eq!((&result["stdout"], &result["stdout_base64"]), (&json!("caf\u{fffd}"), &json!("Y2Fm6Q==")));
    assert_eq!((&result["stderr"], &result["stderr_base64"]), (&json!(""), &json!("/wA=")));
    assert!(env.run("echo ä").get("stdout_base64").is_none());
}

#[test]
fn escape_sequences_are_removed_on_request() {
    let env = Env::new();
    let command = r"printf '\e[1;31mred\e[0m\n'";
    assert_eq!(env.stdout(command), "\u{1b}[1;31mred\u{1b}[0m\n");
    assert_eq!(env.ok(json!({"command": command, "strip_ansi": true}))["stdout"], "red\n");
    // Sequences that come in pieces: a colour, a link, the choice of a character set.
    let pieces = r"for p in '\e' '[3' '1mred\e' ']8;;http:' '//x\e' '\\link\e(' 'B.\n'; do printf $p; sleep 0.02; done";
    let result = env.ok(json!({"command": pieces, "strip_ansi": true}));
    assert_eq!(result["stdout"], "redlink.\n");
}

#[test]
fn the_commands_own_timeout_governs_and_the_hosts_shortens_the_default() {
    let env = Env::new();
    // The host's is long enough for what comes before a command on a busy machine.
    let mut short = call(json!({"command": "sleep 2.5; echo done", "timeout": 30000}));
    short.timeout = Some(2_000);
    match env.host.call(short, CallOptions::default()) {
        CallOutcome::Ok(result, _) => assert_eq!(result["stdout"], "done\n"),
        other => panic!("{:?}", error(other)),
    }
    let mut default = call(json!({"command": "sleep 50"}));
    default.timeout = Some(200);
    assert_eq!(error(env.host.call(default, CallOptions::default())).reason, Reason::Timeout);
}

#[test]
fn arguments_out_of_bounds_are_refused() {
    let env = Env::new();
    for args in [
        json!({"command": "true", "timeout": 0}),
        json!({"command": 1}),
        json!({"command": "true", "shell": "zsh"}),
        json!({"command": "true", "env": []}),
        json!({}),
    ] {
        assert_eq!(env.fails(args.clone()).reason, Reason::InvalidArgument, "{args}");
    }
    let longest = env.ok(json!({"command": "true", "timeout": 86_400_001}));
    assert_eq!(longest["adjusted"], json!(["timeout is 86400000, the maximum, not 86400001"]));
}

#[test]
fn the_longest_command_runs_and_too_large_an_environment_is_refused() {
    let env = Env::new();
    let command = format!("echo {}", "x".repeat((128 << 10) - 1 - 5));
    assert_eq!(env.ok(json!({"command": command}))["stdout_bytes"], (128 << 10) - 5);
    let error = env.fails(json!({"command": "true", "env": {"BIG": "x".repeat(200_000)}}));
    assert_eq!(error.reason, Reason::TooLarge, "{}", error.message);
}

#[test]
fn a_command_finds_default_signals_three_descriptors_and_a_session_of_its_own() {
    for mode in MODES {
        let env = Env::with(mode);
        let status = env.stdout("cat /proc/self/status | grep -E '^Sig(Blk|Ign|Cgt)'");
        assert_eq!(status.matches("0000000000000000").count(), 3, "{status}");
        assert_eq!(env.stdout("yes | head -1; echo ${PIPESTATUS[0]}"), "y\n141\n");
        assert_eq!(env.stdout("for n in {0..300}; do [ ! -e /proc/$$/fd/$n ] || echo -n $n; done"), "012");
        assert_eq!(
            env.stdout(
                "read -r pid _ _ _ pgrp session _ </proc/$$/stat; echo $((pid - pgrp)) $((pid - session))"
            ),
            "0 0\n"
        );
        assert_eq!(env.run("echo </dev/tty")["exit_code"], 1);
    }
}

#[test]
fn what_a_command_leaves_running_is_killed_and_counted() {
    for mode in MODES {
        let mark = marker();
        let result = Env::with(mode).ok(json!({
            "command": "setsid sleep 1000 & (sleep 1000 &) ; sleep 1000 >/dev/null 2>&1 & echo done",
            "env": {"MARK": mark}}));
        assert_eq!((&result["exit_code"], &result["stdout"]), (&json!(0), &json!("done\n")));
        assert_eq!(result["killed"], 3, "{mode}");
        assert_none_left(&mark);
    }
}

#[test]
fn many_commands_at_once_all_end() {
    for mode in MODES {
        let env = Env::with(mode);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|thread| {
                    let env = &env;
                    scope.spawn(move || {
                        for round in 0..10 {
                            let number = format!("{thread}-{round}");
                            assert_eq!(env.stdout(&format!("echo {number}")), format!("{number}\n"));
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
