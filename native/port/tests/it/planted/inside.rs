//! Repositories where nobody looks for them, and those that are not whole yet.

use super::{Outside, REQUIRED, assert_works_where_it_may, made, program};
use crate::common::Env;
use serde_json::{Value, json};
use std::fs;

/// Whether what a command leaves runs when the person pushes from, or looks into, a directory; and the result.
fn left(sandbox: &str, command: &str, directory: &str, words: &[&str]) -> (bool, Value) {
    let outside = Outside::new();
    let env = Env::with("off");
    program(&env, &outside);
    env.run(&made("n"));
    let env = env.now_under(json!(sandbox));
    let evil = env.path().join("evil");
    let result = env.run(&command.replace("EVIL", evil.to_str().unwrap()));
    (outside.runs(&env.path().join(directory), words), result)
}

fn assert_nothing_runs(command: &str, directory: &str, words: &[&str]) {
    assert_works_where_it_may(command, || left("off", command, directory, words));
    let (runs, result) = left(REQUIRED, command, directory, words);
    assert!(!runs, "{command}: what it planted runs: {result}");
    assert!(result["planted"].is_array(), "{command}: {result}");
}

#[test]
fn repositories_in_the_directory_of_another_one_run_nothing() {
    let places = [
        "zz",
        "refs/zz",
        "objects/zz",
        "objects/ab/zz",
        "objects/pack/a/b",
        "modules/a/b/c/d/e/f",
        "worktrees",
    ];
    for place in places {
        let command = format!(
            "git clone -q --bare n z; mkdir -p n/.git/{place}; rmdir n/.git/{place}; mv z n/.git/{place}; cp EVIL n/.git/{place}/hooks/post-receive; git init -q -b t m; cd m; git config user.name N; \
             git config user.email e@x; git commit -q --allow-empty -m x; git remote add origin ../n/.git/{place}"
        );
        assert_nothing_runs(&command, "m", &["push", "-q", "origin", "HEAD:refs/heads/t"]);
    }
    let command = "git clone -q --bare n z; mv z n/.git/zz; cp EVIL n/.git/zz/hooks/post-receive; git init -q -b t m; cd m; \
                   git config user.name N; git config user.email e@x; git commit -q --allow-empty -m x; \
                   git config branch.t.remote ../n/.git/zz";
    assert_nothing_runs(command, "m", &["push", "-q", "../n/.git/zz", "HEAD:refs/heads/t"]);
    let command = "cd n/.git; git init -q n; git config -f n/.git/config core.fsmonitor EVIL";
    assert_nothing_runs(command, "n/.git/n", &["status"]);
}

#[test]
fn a_repository_that_is_completed_later_runs_nothing() {
    for missing in ["HEAD", "refs"] {
        let outside = Outside::new();
        let env = Env::with("off");
        program(&env, &outside);
        let env = env.now_under(json!(REQUIRED));
        let result = env.run(&format!(
            "git init -q --bare b; git -C b config core.bare false; git -C b config core.worktree .; \
             git -C b config core.fsmonitor $PWD/evil; cp evil b/hooks/post-index-change; rm -r b/{missing}; \
             mkdir -p s/objects s/refs s/hooks; echo 'a: [1' > s/config; touch s/hooks/useThing.js"
        ));
        match missing {
            "HEAD" => fs::write(env.path().join("b/HEAD"), "ref: refs/heads/main\n").unwrap(),
            _ => fs::create_dir(env.path().join("b/refs")).unwrap(),
        }
        assert!(!outside.any_runs(&env.path().join("b")), "{result}");
        assert!(result["planted"].to_string().contains("core.fsmonitor"), "{result}");
        // What only looks like one stays as it is.
        assert!(
            env.path().join("s/config").exists() && env.path().join("s/hooks/useThing.js").exists(),
            "{result}"
        );
        let result = env.run("echo more >> s/config; touch s/hooks/useMore.js");
        assert!(result.get("planted").is_none(), "{result}");
    }
}

#[test]
fn formats_make_no_instructions() {
    for file in ["config", "config.worktree"] {
        let command = format!(
            "cd n; git checkout -q -b t; git commit -q --allow-empty -m one; git checkout -q main; \
             git commit -q --allow-empty -m two; git checkout -q t; cd ..; cp -r n m; \
             git -C m config extensions.worktreeConfig true; \
             git config -f m/.git/{file} rebase.instructionFormat '%s%nexec EVIL'"
        );
        assert_nothing_runs(&command, "m", &["-c", "rebase.backend=merge", "rebase", "--keep-empty", "main"]);
    }
}
