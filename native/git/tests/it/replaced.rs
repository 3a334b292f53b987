//! What `git_add` does where a file takes the place of a directory, or the other way round, and something keeps the old
//! entry in the staging area.

use super::listing::outcome;
use super::repo::{Repo, same};
use beamai_base::{Reason, ToolError};
use beamai_engine::CallOutcome;
use serde_json::json;

/// `vendor` is a file now, and `a` a directory.
fn exchanged() -> Repo {
    let repo = Repo::with(&[("a", "1\n"), ("vendor/x", "1\n"), ("vendor-b", "1\n")]);
    exchange(&repo);
    repo
}

fn exchange(repo: &Repo) {
    std::fs::remove_dir_all(repo.path().join("vendor")).unwrap();
    repo.write("vendor", "now a file\n");
    repo.remove("a");
    repo.write("a/inner", "i\n");
}

fn staged(repo: &Repo) -> String {
    repo.git(&["ls-files", "--stage"])
}

#[track_caller]
fn refused_under(repo: &Repo, rule: &str, path: &str) -> ToolError {
    let rules = json!({"default": "allow", "deny": [rule]});
    match outcome(repo, rules, "git_add", json!({"path": path})) {
        CallOutcome::Error(error) => error,
        other => panic!("{rule}, {path}: {other:?}"),
    }
}

#[test]
fn an_entry_that_rules_keep_is_not_replaced() {
    for (rule, path) in [
        ("GitAdd(vendor/**)", "vendor"),
        ("GitAdd(vendor/x)", "vendor"),
        ("Read(**/x)", "vendor"),
        ("Read(**/x)", "."),
    ] {
        let repo = exchanged();
        let before = staged(&repo);
        let error = refused_under(&repo, rule, path);
        assert_eq!(error.reason, Reason::Denied, "{rule}, {path}: {error}");
        assert!(error.message.contains("vendor would replace vendor/x "), "{rule}, {path}: {error}");
        same(&before, &staged(&repo), "the staging area");
    }
}

#[test]
fn a_conflict_that_rules_keep_is_not_replaced() {
    let repo = Repo::with(&[("a", "1\n"), ("vendor/x", "1\n")]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("vendor/x", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("vendor/x", "main\n");
    repo.commit("main");
    repo.git_output(&["merge", "side"]);
    exchange(&repo);
    let before = staged(&repo);
    let error = refused_under(&repo, "Read(vendor/x)", "vendor");
    assert!(error.message.contains("vendor would replace vendor/x "), "{error}");
    same(&before, &staged(&repo), "the staging area");
}

#[test]
fn an_entry_that_git_was_told_to_leave_alone_is_replaced() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        for path in ["vendor", "a/inner", "."] {
            let repo = exchanged();
            repo.git(&["update-index", flag, "a", "vendor/x"]);
            let copy = repo.copy();
            copy.git(&["add", "--", path]);
            repo.tool("git_add", json!({"path": path}));
            same(&staged(&copy), &staged(&repo), "the staging area");
            assert_eq!(repo.tool("git_commit", json!({"message": "m"}))["ok"], true);
            copy.git(&["commit", "-q", "-m", "m"]);
            same(&copy.git(&["ls-tree", "-r", "HEAD"]), &repo.git(&["ls-tree", "-r", "HEAD"]), "the commit");
        }
    }
}

#[test]
fn an_entry_outside_of_a_sparse_checkout_is_not_replaced() {
    let repo = Repo::with(&[("a", "1\n"), ("vendor/x", "1\n")]);
    repo.git(&["sparse-checkout", "set", "--no-cone", "/a"]);
    repo.write("vendor", "now a file\n");
    let before = staged(&repo);
    for path in ["vendor", "."] {
        assert!(!repo.git_output(&["add", path]).status.success());
    }
    let error = repo.refused("git_add", json!({"path": "vendor"}));
    assert_eq!(error.reason, Reason::BadState);
    assert!(error.message.contains("vendor would replace vendor/x "), "{error}");
    assert!(error.message.contains("sparse checkout"), "{error}");
    // The file is outside, too.
    let added = repo.tool("git_add", json!({"path": "."}));
    assert_eq!(added["files"], json!([]), "{added}");
    assert!(
        added["notes"].to_string().contains("vendor: not staged, because it is outside of the sparse"),
        "{added}"
    );
    same(&before, &staged(&repo), "the staging area");
}

#[test]
fn a_file_and_a_directory_of_one_name_are_not_written_again() {
    let repo = Repo::with(&[("vendor", "1\n"), ("vendor_x", "1\n")]);
    repo.git(&["update-index", "--assume-unchanged", "vendor", "vendor_x"]);
    let index = repo.path().join(".git/index");
    let mut bytes = std::fs::read(&index).unwrap();
    let at = bytes.windows(8).position(|name| name == b"vendor_x").unwrap();
    bytes[at + 6] = b'/';
    // git accepts zeros for the hash (index.skipHash).
    let end = bytes.len() - 20;
    bytes[end..].fill(0);
    std::fs::write(&index, bytes).unwrap();
    repo.write("b", "1\n");
    let error = repo.refused("git_add", json!({"path": "b"}));
    assert!(error.message.contains("both vendor and vendor/x"), "{error}");
}
