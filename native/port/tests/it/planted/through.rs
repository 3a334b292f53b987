//! What a command leaves so that the person's own git writes or copies a file that no command can reach.

use super::leftovers::{assert_taken_out, left};
use super::{Outside, REQUIRED, made, program};
use crate::common::{Env, PROGRAM};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A repository with a branch to merge.
fn branched() -> String {
    made("r") + "; cd r; git checkout -q -b side; git commit -q --allow-empty -m side; git checkout -q main"
}

#[test]
fn links_in_a_repository_take_what_git_writes_nowhere() {
    let home = "$(dirname MARK)";
    for (command, directory, person, path) in [
        ("ln -s MARK r/.git/FETCH_HEAD", "r", "git fetch -q . main", "r/.git/FETCH_HEAD"),
        ("ln -s MARK r/.git/MERGE_MSG", "r", "git merge -q --no-ff --no-commit side", "r/.git/MERGE_MSG"),
        ("ln -sf MARK r/.git/logs/HEAD", "r", "git commit -q --allow-empty -m x", "r/.git/logs/HEAD"),
        (
            "mkdir -p r/.git/info; ln -s MARK r/.git/info/sparse-checkout",
            "r",
            "git sparse-checkout set --no-cone x",
            "r/.git/info/sparse-checkout",
        ),
        (&format!("ln -s {home} r/.git/refs/heads/d"), "r", "git branch d/ran", "r/.git/refs/heads/d"),
        (
            &format!("rm -r r/.git/logs/refs/heads; ln -s {home} r/.git/logs/refs/heads"),
            "r",
            "git branch ran",
            "r/.git/logs/refs/heads",
        ),
        // Any name in `refs` can be a reference, also in a directory that cannot be listed.
        (
            "mkdir r/.git/refs/heads/x; ln -s MARK r/.git/refs/heads/x/l.planted; chmod 300 r/.git/refs/heads/x",
            "r",
            "cat .git/HEAD > .git/refs/heads/x/l.planted",
            "r/.git/refs/heads/x/l.planted",
        ),
        // New repositories of every kind, and linked work trees.
        ("git init -q n; ln -s MARK n/.git/FETCH_HEAD", "n", "git fetch -q ../r main", "n/.git/FETCH_HEAD"),
        ("git init -q --bare b; ln -s MARK b/FETCH_HEAD", "b", "git fetch -q ../r main", "b/FETCH_HEAD"),
        (
            "mkdir -p b/objects b/refs; ln -s MARK b/FETCH_HEAD",
            "b",
            "cp ../r/.git/HEAD .; git fetch -q ../r main",
            "b/FETCH_HEAD",
        ),
        (
            "git -C r worktree add -q ../wt side; ln -s MARK r/.git/worktrees/wt/FETCH_HEAD",
            "wt",
            "git fetch -q . main",
            "r/.git/worktrees/wt/FETCH_HEAD",
        ),
    ] {
        assert_taken_out(&branched(), command, directory, person, path);
    }
}

#[test]
fn a_link_makes_no_message_the_settings() {
    let command = "cd r; git commit -q --allow-empty -m \"$(printf '[core]\\n\\tfsmonitor = EVIL')\"; \
                   rm .git/COMMIT_EDITMSG; ln -s config .git/COMMIT_EDITMSG";
    let person = "git commit -q --amend --no-edit --allow-empty; git status";
    assert_taken_out(&made("r"), command, "r", person, "r/.git/COMMIT_EDITMSG");
}

#[test]
fn links_that_were_there_and_references_stay() {
    let prepare = made("r")
        + "; mkdir w; mkdir w/.git; cd w/.git; for i in refs objects logs info packed-refs; do ln -s ../../r/.git/$i $i; done; \
           cp ../../r/.git/HEAD .";
    let tier = json!(REQUIRED);
    let command = "git -C w reset -q; git -C w commit -q --allow-empty -m x; rm r/.git/HEAD; \
                   ln -s refs/heads/main r/.git/HEAD; git -C r log";
    let (_, result, env) = left(tier, &prepare, command, "r", "true");
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
    assert!(fs::read_link(env.path().join("w/.git/refs")).is_ok());
    assert!(fs::read_link(env.path().join("r/.git/HEAD")).is_ok());
    // What leads elsewhere now counts as new.
    let result = env.run("ln -sfn ../../else w/.git/logs");
    assert!(result["planted"].to_string().contains("w/.git/logs"), "{result}");
}

/// A file that says that a file is in conflict, and what `git rerere` needs to record its resolution.
fn in_conflict(file: &str) -> String {
    let id = "0123456789012345678901234567890123456789";
    format!(
        "mkdir -p r/.git/rr-cache/{id}; touch r/.git/rr-cache/{id}/preimage; printf '{id}\\t%s\\0' {file} > r/.git/MERGE_RR"
    )
}

#[test]
fn no_file_from_outside_is_recorded_as_a_resolved_conflict() {
    let person = "echo secret > $(dirname MARK)/s; echo [x] > .git/conf; git rerere; \
                  grep -rqE 'secret|x' .git/rr-cache && touch MARK";
    let home = "$(dirname MARK)";
    for (prepare, command) in [
        ("true", in_conflict(&format!("{home}/s"))),
        ("true", in_conflict(".git/conf")),
        ("true", format!("{}; ln -s {home} r/l", in_conflict("l/s"))),
        // The command that makes the link leaves the file as it is.
        (&*in_conflict("l/s"), format!("ln -s {home} r/l")),
    ] {
        let prepare = format!("{}; {prepare}", made("r"));
        assert_taken_out(&prepare, &command, "r", person, "r/.git/MERGE_RR");
    }
    // The state of a linked work tree counts for that.
    let linked =
        format!("{}; mv r/.git/MERGE_RR r/.git/worktrees/wt; ln -s $(dirname MARK) wt/l", in_conflict("l/s"));
    let person =
        "echo secret > $(dirname MARK)/s; git rerere; grep -rq secret ../r/.git/rr-cache && touch MARK";
    let prepare = made("r") + "; git -C r worktree add -q ../wt";
    assert_taken_out(&prepare, &linked, "wt", person, "r/.git/worktrees/wt/MERGE_RR");
}

#[test]
fn conflicts_in_the_work_tree_are_recorded() {
    let prepare = made("r")
        + "; cd r; git config rerere.enabled true; git checkout -q -b o; echo o > f; git commit -qam o; \
           git checkout -q main; echo m > f; git commit -qam m; git worktree add -q ../wt -b w";
    let tier = json!(REQUIRED);
    for directory in ["r", "wt"] {
        let command = format!("cd {directory}; git merge -q o > /dev/null; git rerere status");
        let (_, result, _) = left(tier.clone(), &prepare, &command, directory, "true");
        assert_eq!((&result["stdout"], result.get("planted")), (&json!("f\n"), None), "{result}");
    }
}

#[test]
fn no_work_tree_outside_is_repaired() {
    let person = "mkdir $(dirname MARK)/x; git worktree repair; test -e $(dirname MARK)/x/.git && touch MARK";
    let elsewhere = "echo $(dirname MARK)/x/.git > r/.git/worktrees/wt/gitdir";
    let add = "git -C r worktree add -q ../wt";
    assert_taken_out(&made("r"), &format!("{add}; {elsewhere}"), "r", person, "r/.git/worktrees/wt/gitdir");
    let link = format!("{add}; rm wt/.git; ln -s $(dirname MARK)/x/.git wt/.git");
    let (_, result, _) = left(json!(REQUIRED), &made("r"), &link, "r", "true");
    assert!(result["planted"].to_string().contains("wt"), "{result}");
    let tier = json!(REQUIRED);
    let commands = [
        format!("{add} && git -C r worktree move wt wt2"),
        "git -C r worktree add -q /tmp/a-tree-of-its-own".to_owned(),
    ];
    for command in commands {
        let (_, result, _) = left(tier.clone(), &made("r"), &command, "r", "true");
        assert!(result.get("planted").is_none(), "{command}: {result}");
    }
}

#[test]
fn another_name_of_settings_and_hooks_changes_nothing() {
    let setting = "printf '[core]\\n\\tfsmonitor = EVIL\\n' >> c";
    let hook = "cat EVIL > c";
    for (prepare, make, write, directory) in [
        ("true", "git init -q n; ln n/.git/config c", setting, "n"),
        (
            "true",
            "git init -q --bare b; git -C b config core.bare false; git -C b config core.worktree .; ln b/config c",
            setting,
            "b",
        ),
        ("ln r/.git/config c", "true", setting, "r"),
        (
            "cp evil r/.git/hooks/pre-commit; echo '#!/bin/sh' > r/.git/hooks/pre-commit; ln r/.git/hooks/pre-commit c",
            "true",
            hook,
            "r",
        ),
    ] {
        for (mode, sandbox) in ["off", REQUIRED].map(|mode| (mode, json!(mode))) {
            let outside = Outside::new();
            let env = Env::with("off");
            program(&env, &outside);
            assert_eq!(env.run(&format!("{}; {prepare}", made("r")))["exit_code"], 0);
            let env = env.now_under(sandbox);
            env.run(make);
            let evil = env.path().join("evil");
            let result = env.run(&write.replace("EVIL", evil.to_str().unwrap()));
            let runs = outside.any_runs(&env.path().join(directory));
            assert_eq!(runs, mode == "off", "{make}; {write} ({mode}): {result}");
        }
    }
}

/// Git writes a commit's message in place, and with it any file that is a hard link to it.
#[test]
fn another_name_of_a_message_is_written_by_no_commit() {
    for (mode, sandbox) in [("off", json!("off")), (REQUIRED, json!(REQUIRED))] {
        for (make, other) in [
            ("ln -f r/.git/COMMIT_EDITMSG r/.git/ORIG_HEAD", "r/.git/ORIG_HEAD"),
            (
                "mkdir r/.git/sequencer; ln r/.git/COMMIT_EDITMSG r/.git/sequencer/todo",
                "r/.git/sequencer/todo",
            ),
            ("ln -f r/.git/COMMIT_EDITMSG r/.git/logs/refs/heads/main", "r/.git/logs/refs/heads/main"),
            ("cp -r r n; ln -f n/.git/COMMIT_EDITMSG n/.git/config.lock", "n/.git/config.lock"),
        ] {
            let env = Env::with("off");
            assert_eq!(env.run(&made("r"))["exit_code"], 0);
            let env = env.now_under(sandbox.clone());
            env.run(make);
            let repository = env.path().join(&other[..1]);
            let person = [
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@b",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "ref: commondir",
            ];
            let git = Command::new("git").args(person).current_dir(&repository).status().unwrap();
            assert!(git.success(), "{make} ({mode})");
            let is_written = fs::read_to_string(env.path().join(other))
                .is_ok_and(|text| text.starts_with("ref: commondir"));
            assert_eq!(is_written, mode == "off", "{make} ({mode})");
        }
    }
}

#[test]
fn directories_that_cannot_be_listed_hide_nothing() {
    let make = "git init -q d/n; git -C d/n config core.fsmonitor EVIL";
    for (close, open) in [("d/n d", ".. ."), ("d", ".."), ("d/n/.git", ".git")] {
        let person = format!("git status; chmod 700 {open}");
        assert_taken_out("true", &format!("{make}; chmod 300 {close}"), "d/n", &person, "d/n/.git/config");
        // Without the right to search a directory, nothing in it can be looked at, even if its names can be listed.
        let person = "chmod 700 d; chmod 700 d/n; chmod 700 d/n/.git; git -C d/n status";
        assert_taken_out("true", &format!("{make}; chmod 600 {close}"), ".", person, "d/n/.git/config");
    }
}

/// The tests of this module as a user whom nobody knows, who cannot list every directory.
#[test]
fn all_of_this_holds_for_a_plain_user() {
    const OWN: &str = "all_of_this_holds_for_a_plain_user";
    if !crate::common::is_root() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/plain_user.sh");
    let mut command = Command::new(script);
    command.arg("23458").arg(Path::new(PROGRAM).parent().unwrap()).arg(std::env::current_exe().unwrap());
    let output = command
        .args([
            "planted::through::",
            "planted::obstacles::",
            "sandbox_secrets::secrets_behind",
            "--test-threads",
            "2",
            "--skip",
            OWN,
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
