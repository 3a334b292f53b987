//! Effect of ignore files on searches.

use crate::glob::Glob;
use crate::grep::Grep;
use beamai_testenv::TestEnv;
use serde_json::{Value, json};
use std::path::Path;

fn globbed(env: &TestEnv, path: &str) -> Value {
    env.call::<Glob>(json!({"pattern": "**", "path": path}))
}

fn files(env: &TestEnv) -> Value {
    globbed(env, ".")["files"].clone()
}

#[test]
fn gitignore_counts_in_a_repository_only() {
    let env =
        TestEnv::with(&[(".gitignore", "target/\n*.log\n"), ("target/x", ""), ("a.log", ""), ("b", "")]);
    assert_eq!(files(&env), json!(["a.log", "b", "target/x"]));
    std::fs::create_dir(env.path(".git")).unwrap();
    let all = globbed(&env, ".");
    assert_eq!(all["files"], json!(["b"]));
    assert_eq!(all["coverage"]["skipped"], json!({"ignored": 2, "hidden": 2}));
    let all = env.call::<Glob>(json!({"pattern": "**", "ignored": true}));
    assert_eq!(all["files"], json!(["a.log", "b", "target/x"]));
}

#[test]
fn the_nearest_rule_wins_and_a_repository_within_is_a_world_of_its_own() {
    let env = TestEnv::with(&[
        (".git/HEAD", ""),
        (".gitignore", "*.log\n/only_here\n"),
        ("sub/.gitignore", "!keep.log\n"),
        ("sub/keep.log", ""),
        ("sub/drop.log", ""),
        ("sub/only_here", ""),
        ("only_here", ""),
        ("inner/.git/HEAD", ""),
        ("inner/x.log", ""),
    ]);
    assert_eq!(files(&env), json!(["inner/x.log", "sub/keep.log", "sub/only_here"]));
}

#[test]
fn the_other_ignore_files_count_everywhere_and_rank_above() {
    let env = TestEnv::with(&[
        (".git/info/exclude", "e\n"),
        (".gitignore", "g\n"),
        (".ignore", "!g\ni\n"),
        (".rgignore", "!i\nr\n.hidden_no\n!.hidden_yes\n"),
        ("e", ""),
        ("g", ""),
        ("i", ""),
        ("r", ""),
        (".hidden_yes", ""),
    ]);
    assert_eq!(files(&env), json!([".hidden_yes", "g", "i"]));
}

#[test]
fn rules_from_above_the_base_hold_below_it() {
    let env = TestEnv::with(&[
        (".git/HEAD", ""),
        (".gitignore", "/a/b/skip\n*.tmp\n"),
        ("a/.ignore", "b/also\n"),
        ("a/b/skip", ""),
        ("a/b/also", ""),
        ("a/b/x.tmp", ""),
        ("a/b/keep", ""),
    ]);
    assert_eq!(globbed(&env, "a/b")["files"], json!(["a/b/keep"]));
    // A path given in the call is searched even if an ignore file excludes it.
    assert_eq!(env.call::<Grep>(json!({"pattern": "^$", "path": "a/b/skip"}))["total_matches"], 0);
}

#[test]
fn an_ignore_file_that_is_a_trap_holds_nothing_up() {
    let env = TestEnv::with(&[("a/x", ""), ("b/x", ""), ("c/x", ""), ("d/x", ""), ("e/x", "")]);
    env.fifo("a/.ignore");
    env.link("/dev/zero", "b/.ignore");
    std::fs::create_dir(env.path("c/.ignore")).unwrap();
    env.file("d/.ignore", "x\n".repeat(200_000));
    env.file("e/.ignore", format!("{}\n{}\n", "{".repeat(200_000), "}".repeat(200_000)));
    let all = globbed(&env, ".");
    assert_eq!(all["files"], json!(["a/x", "b/x", "c/x", "d/x", "e/x"]));
    assert_eq!(all["coverage"]["skipped"]["ignore_files"], 5);
    assert!(all["coverage"]["note"].as_str().unwrap().contains("5 ignore files not applied in full"));
}

#[test]
fn a_line_that_is_no_rule_spoils_no_other() {
    let env = TestEnv::with(&[("x", ""), ("y", "")]);
    env.file(".ignore", b"\xef\xbb\xbfx\r\n\xff\xfe\n{a\n# comment\n".as_slice());
    let all = globbed(&env, ".");
    assert_eq!(all["files"], json!(["y"]));
    assert_eq!(all["coverage"]["skipped"]["ignore_files"], 1);
}

#[test]
fn an_ignore_file_may_be_a_link_within_the_workspace() {
    let env = TestEnv::with(&[("common", "x\n"), ("a/x", ""), ("a/y", "")]);
    env.link(Path::new("../common"), "a/.ignore");
    assert_eq!(globbed(&env, "a")["files"], json!(["a/y"]));
}
