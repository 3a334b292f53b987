//! What a command leaves so that the person's own git writes or copies a file that no command can reach.

use super::leftovers::{assert_taken_out, left, tiers};
use super::made;
use serde_json::json;
use std::fs;

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
        // It is git's whatever its name is, and also where it cannot be listed.
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
    for tier in tiers() {
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
}
