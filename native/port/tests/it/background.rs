//! Commands in the background: started, watched, killed, and gone with their session.

use crate::common::{
    Env, InSession, MODES, PROGRAM, assert_none_left, error, host, marked, marker, wait_until,
};
use beamai_base::{ErrorKind, Reason, ToolError};
use beamai_engine::CallOutcome;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

fn fails(session: &InSession<'_>, tool: &str, args: Value) -> ToolError {
    error(session.call(tool, args))
}

#[test]
fn a_command_in_the_background_answers_at_once_and_is_watched_by_its_id() {
    for mode in MODES {
        let env = Env::with(mode);
        let session = InSession::new(&env.host);
        let started = Instant::now();
        let args = json!({"command": "echo one; read -r -t 50 < go; echo two; echo err >&2; exit 3",
            "run_in_background": true, "timeout": 60_000});
        std::process::Command::new("mkfifo").arg(env.path().join("go")).status().unwrap();
        let first = session.ok("shell_exec", args);
        assert!(started.elapsed() < Duration::from_secs(40));
        assert_eq!(
            (&first["exit_code"], &first["stdout"], &first["truncated"]),
            (&json!(null), &json!(""), &json!(false))
        );
        assert!(first["isolation"]["on"].is_array() && first["duration_ms"].is_u64(), "{first}");
        let id = first["id"].as_str().unwrap();
        let answer = session.output_when(id, |answer| answer["stdout"] != "");
        assert_eq!((&answer["stdout"], &answer["status"]), (&json!("one\n"), &json!("running")));
        assert_eq!((&answer["exit_code"], &answer["id"]), (&json!(null), &json!(id)));
        assert_eq!(session.output(id)["stdout"], "");
        std::fs::write(env.path().join("go"), "\n").unwrap();
        let last = session.ended(id);
        assert_eq!((&last["status"], &last["exit_code"]), (&json!("exited"), &json!(3)));
        assert_eq!(last["stdout"], "two\n");
        let again = session.output(id);
        assert_eq!(
            (&again["status"], &again["exit_code"], &again["stdout"], &again["stderr"]),
            (&json!("exited"), &json!(3), &json!(""), &json!(""))
        );
        assert_eq!(again["duration_ms"], last["duration_ms"]);
        assert!(again.get("killed").is_none() && again.get("error").is_none(), "{again}");
    }
}

#[test]
fn it_has_directory_environment_input_and_temporary_directory_as_in_the_foreground() {
    let env = Env::new();
    std::fs::create_dir(env.path().join("sub")).unwrap();
    let session = InSession::new(&env.host);
    let id = session.start(json!({"command": "basename $PWD; echo $A $TMPDIR; cat", "cwd": "sub", "env": {"A": "b"}, "stdin": "in"}));
    assert_eq!(session.ended(&id)["stdout"], format!("sub\nb {}\nin", session.temp.path().display()));
}

#[test]
fn a_kill_ends_everything_that_it_started_and_tells_the_last_output() {
    for mode in MODES {
        let env = Env::with(mode);
        let session = InSession::new(&env.host);
        let mark = marker();
        let command = "setsid bash -c 'trap \"\" TERM; sleep 1000; :' & echo begun; wait";
        let id = session.start(json!({"command": command, "env": {"MARK": mark}}));
        wait_until(|| marked(&mark).len() == 3);
        let killed = session.ok("shell_kill", json!({"id": id}));
        assert_none_left(&mark);
        assert_eq!((&killed["status"], &killed["stdout"]), (&json!("killed"), &json!("begun\n")));
        assert_eq!((&killed["exit_code"], &killed["killed"]), (&json!(null), &json!(3)), "{mode}");
        // Killing what has ended changes nothing.
        assert_eq!(session.ok("shell_kill", json!({"id": id}))["status"], "killed");
        let ended = session.start(json!({"command": "exit 4"}));
        session.ended(&ended);
        let answer = session.ok("shell_kill", json!({"id": ended}));
        assert_eq!((&answer["status"], &answer["exit_code"]), (&json!("exited"), &json!(4)));
    }
}

#[test]
fn what_it_leaves_running_goes_on_until_it_is_killed() {
    for mode in MODES {
        let env = Env::with(mode);
        let session = InSession::new(&env.host);
        let mark = marker();
        let id = session.start(json!({"command": "(setsid sleep 1000 &); (sleep 0.2; echo late) & echo done; exit 5", "env": {"MARK": mark}}));
        let answer = session.output_when(&id, |answer| answer["stdout"] == "done\nlate\n");
        assert_eq!(answer["status"], "running");
        wait_until(|| marked(&mark).len() == 1);
        let killed = session.ok("shell_kill", json!({"id": id}));
        assert_eq!(
            (&killed["status"], &killed["exit_code"], &killed["killed"]),
            (&json!("killed"), &json!(5), &json!(1)),
            "{mode}"
        );
        assert_none_left(&mark);
        let id = session.start(json!({"command": "(sleep 0.2; echo late) & exit 5"}));
        let ended = session.ended(&id);
        assert_eq!(
            (&ended["status"], &ended["exit_code"], &ended["stdout"]),
            (&json!("exited"), &json!(5), &json!("late\n"))
        );
    }
}

#[test]
fn a_timeout_kills_it_and_without_one_it_outlives_the_calls() {
    let env = Env::new();
    let session = InSession::new(&env.host);
    let mark = marker();
    let id =
        session.start(json!({"command": "echo so far; sleep 1000", "env": {"MARK": mark}, "timeout": 300}));
    let ended = session.ended(&id);
    assert_eq!(
        (&ended["status"], &ended["exit_code"], &ended["stdout"]),
        (&json!("timed_out"), &json!(null), &json!("so far\n"))
    );
    assert!(ended["duration_ms"].as_u64().unwrap() >= 300);
    assert_none_left(&mark);
    let call = json!({"tool": "shell_exec", "timeout": 100, "session": {"id": session.id},
        "args": {"command": "sleep 0.4; echo done", "run_in_background": true}});
    let CallOutcome::Ok(started, _) =
        env.host.call(serde_json::from_value(call).unwrap(), Default::default())
    else {
        panic!()
    };
    assert_eq!(session.ended(started["id"].as_str().unwrap())["stdout"], "done\n");
}

#[test]
fn a_signal_and_a_program_that_cannot_be_started_are_told() {
    let env = Env::new();
    let session = InSession::new(&env.host);
    let id = session.start(json!({"command": "kill -SEGV $$"}));
    let ended = session.ended(&id);
    assert_eq!(
        (&ended["status"], &ended["exit_code"], &ended["signal"]),
        (&json!("exited"), &json!(null), &json!("SIGSEGV"))
    );
    let id = session.start(json!({"command": "true", "env": {"BIG": "x".repeat(200_000)}}));
    let failed = session.ended(&id);
    assert_eq!((&failed["status"], &failed["exit_code"]), (&json!("failed"), &json!(null)));
    assert!(failed["error"].as_str().unwrap().contains("too large"), "{failed}");
    let error =
        fails(&session, "shell_exec", json!({"command": "true", "cwd": "none", "run_in_background": true}));
    assert_eq!(error.reason, Reason::NoSuchFile);
}

/// How many files with output there are.
fn output_files(temp: &Path) -> usize {
    let names = std::fs::read_dir(temp).unwrap().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().starts_with("output-")).count()
}

#[test]
fn long_output_is_given_by_both_ends_and_is_whole_in_a_file() {
    let env = Env::new();
    let session = InSession::new(&env.host);
    let id = session.start(json!({"command": "seq 1 30000; sleep 0.3; echo err >&2"}));
    let path = loop {
        if session.output(&id)["status"] != "running" {
            break session.output(&id)["output_file"].as_str().unwrap().to_owned();
        }
    };
    let whole: String = (1..=30_000).map(|n| format!("{n}\n")).collect();
    assert!(std::fs::read_to_string(&path).unwrap() == format!("{whole}err\n"));
    let read = session.ok("file_read", json!({"path": path, "offset": 29_999, "limit": 1}));
    assert_eq!(read["content"], "29999\n");
    let id = session.start(json!({"command": "seq 1 30000; sleep 1000"}));
    wait_until(|| output_files(session.temp.path()) == 2);
    std::thread::sleep(Duration::from_millis(200));
    let answer = session.output(&id);
    let stdout = answer["stdout"].as_str().unwrap();
    assert!(
        stdout.starts_with("1\n2\n") && stdout.ends_with("\n30000\n[output truncated]"),
        "{}",
        stdout.len()
    );
    assert!(stdout.contains(" bytes left out ...]\n") && stdout.len() < 66_000);
    assert_eq!((&answer["truncated"], &answer["stdout_bytes"]), (&json!(true), &json!(168_894)));
    let next = session.output(&id);
    assert_eq!(
        (&next["truncated"], &next["stdout"], next["output_file"].is_string()),
        (&json!(false), &json!(""), true)
    );
}

#[test]
fn sequences_and_characters_that_come_in_pieces_are_whole_in_the_answers() {
    let env = Env::new();
    let session = InSession::new(&env.host);
    let command =
        r"for p in 'a\e' '[3' '1mb\e]8;;' 'x\e' '\\' 'c\xe2' '\x9c' '\x93d'; do printf $p; sleep 0.05; done";
    let id = session.start(json!({"command": command, "strip_ansi": true}));
    let ended = session.ended(&id);
    assert_eq!(ended["stdout"], "abc✓d");
    assert!(ended.get("stdout_base64").is_none(), "{ended}");
}

#[test]
fn a_session_that_ends_takes_its_commands_with_it_and_no_others() {
    for mode in MODES {
        let env = Env::with(mode);
        let (one, other) = (InSession::new(&env.host), InSession::new(&env.host));
        let (mark, stays) = (marker(), marker());
        let ids: Vec<String> = (0..5)
            .map(|_| {
                one.start(json!({"command": "(setsid sleep 1000 &); sleep 1000", "env": {"MARK": mark}}))
            })
            .collect();
        let kept = other.start(json!({"command": "sleep 1000", "env": {"MARK": stays}}));
        wait_until(|| marked(&mark).len() == 10 && !marked(&stays).is_empty());
        one.end();
        assert_none_left(&mark);
        assert_eq!(other.output(&kept)["status"], "running");
        assert_eq!(fails(&one, "shell_output", json!({"id": ids[0]})).reason, Reason::NoSuchCommand);
        // A call that comes late starts nothing.
        let late = fails(
            &one,
            "shell_exec",
            json!({"command": "sleep 1000", "env": {"MARK": mark}, "run_in_background": true}),
        );
        assert_eq!(late.reason, Reason::BadState);
        assert_none_left(&mark);
    }
}

#[test]
fn sessions_do_not_see_each_others_commands() {
    let env = Env::new();
    let (one, other) = (InSession::new(&env.host), InSession::new(&env.host));
    let id = one.start(json!({"command": "echo secret; touch said; sleep 1000"}));
    wait_until(|| env.path().join("said").exists());
    for tool in ["shell_output", "shell_kill"] {
        let error = fails(&other, tool, json!({"id": id}));
        assert_eq!((error.kind(), error.reason), (ErrorKind::NotFound, Reason::NoSuchCommand));
        assert!(
            error.message.contains(&format!("no background command {id:?}; the session has none")),
            "{error}"
        );
        let error = fails(&one, tool, json!({"id": "bg_0"}));
        assert!(error.message.contains(&format!("the session has {id}")), "{error}");
    }
    assert_eq!(one.ok("shell_kill", json!({"id": id}))["stdout"], "secret\n");
    assert_eq!(id.len(), "bg_".len() + 16);
}

#[test]
fn a_session_runs_a_bounded_number_and_says_which_run() {
    let env = Env::new();
    let session = InSession::new(&env.host);
    let ids: Vec<String> = (0..16).map(|_| session.start(json!({"command": "sleep 1000"}))).collect();
    let busy = fails(&session, "shell_exec", json!({"command": "touch ran", "run_in_background": true}));
    assert_eq!(busy.reason, Reason::Busy);
    assert!(busy.message.contains(&ids[7]) && busy.message.contains("kill one of them"), "{busy}");
    assert!(!env.path().join("ran").exists());
    // The foreground and other sessions go on.
    assert_eq!(session.ok("shell_exec", json!({"command": "echo on"}))["stdout"], "on\n");
    let other = InSession::new(&env.host);
    let id = other.start(json!({"command": "echo on"}));
    assert_eq!(other.ended(&id)["stdout"], "on\n");
    session.ok("shell_kill", json!({"id": ids[3]}));
    let id = session.start(json!({"command": "echo on"}));
    assert_eq!(session.ended(&id)["stdout"], "on\n");
}

#[test]
fn what_ended_long_ago_is_forgotten() {
    let env = Env::new();
    let session = InSession::new(&env.host);
    let first = session.start(json!({"command": "echo first"}));
    session.ended(&first);
    for _ in 0..63 {
        let id = session.start(json!({"command": "true"}));
        session.ended(&id);
    }
    assert_eq!(session.output(&first)["status"], "exited");
    let last = session.start(json!({"command": "true"}));
    assert_eq!(fails(&session, "shell_output", json!({"id": first})).reason, Reason::NoSuchCommand);
    assert_eq!(session.ended(&last)["status"], "exited");
}

#[test]
fn the_command_asks_as_in_the_foreground_and_its_companions_run_unasked() {
    let env = Env::new();
    let asks = host(env.path(), json!({"default": "auto"}), "best_effort");
    let allows = InSession::new(&env.host);
    let id = allows.start(json!({"command": "echo x; sleep 1000"}));
    let careful = InSession { host: &asks, id: allows.id.clone(), temp: tempfile::tempdir().unwrap() };
    let CallOutcome::Ask(request) =
        careful.call("shell_exec", json!({"command": "sleep 1000", "run_in_background": true}))
    else {
        panic!()
    };
    assert_eq!((&request["rule"], &request["subject"]), (&json!("Bash"), &json!("Bash(sleep 1000)")));
    assert_eq!(careful.output(&id)["status"], "running");
    assert_eq!(careful.ok("shell_kill", json!({"id": id}))["status"], "killed");
    for (rule, tool) in [("BashOutput", "shell_output"), ("KillShell", "shell_kill")] {
        let denies = host(env.path(), json!({"deny": [rule]}), "best_effort");
        let denied = InSession { host: &denies, id: allows.id.clone(), temp: tempfile::tempdir().unwrap() };
        assert_eq!(fails(&denied, tool, json!({"id": id})).details["matched_rule"], rule);
    }
}

#[test]
fn a_call_from_the_command_line_is_refused_for_it_would_end_at_once() {
    let env = Env::new();
    let output = std::process::Command::new(PROGRAM)
        .args(["call", "--default", "allow", "--workspace"])
        .arg(env.path())
        .args(["shell_exec", r#"{"command": "touch ran", "run_in_background": true}"#])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&error["error_type"], &error["details"]["argument"]),
        (&json!("invalid_input"), &json!("run_in_background"))
    );
    assert!(error["message"].as_str().unwrap().contains("run it in the foreground"), "{error}");
    assert!(!env.path().join("ran").exists());
}

#[test]
fn a_lost_reaper_is_told_as_a_failure() {
    let env = Env::with("off");
    let session = InSession::new(&env.host);
    let mark = marker();
    let id = session.start(json!({"command": "kill -KILL $PPID; sleep 1000", "env": {"MARK": mark}}));
    let failed = session.ended(&id);
    assert_eq!(failed["status"], "failed");
    assert!(failed["error"].as_str().unwrap().contains("the command was lost"), "{failed}");
    wait_until(|| marked(&mark).is_empty());
}
