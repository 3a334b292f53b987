//! What others do while a command runs: further commands of the same port, and the person.

use super::{Outside, REQUIRED, made, program};
use crate::common::{Env, InSession, host};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Says that it is there, and waits for a file.
fn wait_for(name: &str) -> String {
    format!("touch at-{name}; until [ -e {name} ]; do sleep 0.01; done")
}

fn touch(env: &Env, name: &str) {
    fs::write(env.path().join(name), "").unwrap();
}

/// Waits until a command waits for a file.
fn is_at(env: &Env, name: &str) {
    crate::common::wait_until(|| env.path().join(format!("at-{name}")).exists());
}

#[test]
fn what_an_overlapping_command_makes_again_is_removed_again() {
    let plant = "mkdir -p r/.git o/.git/rebase-merge; printf '[core]\\n\\tfsmonitor = EVIL\\n' > r/.git/config; \
                 echo 'exec EVIL' > o/.git/rebase-merge/git-rebase-todo; ln -sf /nowhere o/.git/FETCH_HEAD";
    for (sandbox, runs) in [(json!("off"), true), (json!(REQUIRED), false)] {
        let (outside, env) = (Outside::new(), Env::with("off"));
        program(&env, &outside);
        env.run(&made("o"));
        let env = env.now_under(sandbox);
        let plant = plant.replace("EVIL", env.path().join("evil").to_str().unwrap());
        let session = InSession::new(&env.host);
        let first = format!("git init -q r; {plant}; {}", wait_for("first"));
        let first = session.start(json!({"command": first}));
        is_at(&env, "first");
        let second = session.start(json!({"command": format!("{}; {plant}", wait_for("second"))}));
        is_at(&env, "second");
        touch(&env, "first");
        session.ended(&first);
        touch(&env, "second");
        let result = session.ended(&second);
        assert_eq!(outside.runs(&env.path().join("r"), &["status"]), runs, "{result}");
        let todo = fs::read_to_string(env.path().join("o/.git/rebase-merge/git-rebase-todo")).unwrap();
        assert_eq!(todo.contains("exec"), runs, "{result}");
        assert_eq!(env.path().join("o/.git/FETCH_HEAD").is_symlink(), runs, "{result}");
        let told = result["planted"].to_string();
        for what in ["r/.git/config", "git-rebase-todo", "FETCH_HEAD"] {
            assert_eq!(told.contains(what), !runs, "{what}: {result}");
        }
    }
}

#[test]
fn overlapping_commands_under_other_rules_know_of_each_other() {
    let (outside, env) = (Outside::new(), Env::with("off"));
    program(&env, &outside);
    env.run(&format!(
        "mkdir h; cd h; {}; git -C r config core.pager cat; cp ../evil r/.git/hooks/post-commit",
        made("r")
    ));
    let rules = json!({"default": "allow", "deny": ["Read(h/**)"]});
    let [other, own] = [rules, json!({"default": "allow"})].map(|rules| host(env.path(), rules, REQUIRED));
    let (first, second) = (InSession::new(&other), InSession::new(&own));
    let evil = env.path().join("evil");
    let plant = format!("git init -q n; git -C n config core.fsmonitor {}; ", evil.display());
    let of_first = first.start(json!({"command": plant + &wait_for("first")}));
    is_at(&env, "first");
    let of_second = second.start(json!({"command": wait_for("second")}));
    is_at(&env, "second");
    touch(&env, "second");
    // The first one still runs, so the second one finds its repository, and nothing of the person's.
    let result = second.ended(&of_second);
    let planted = result["planted"].as_array().unwrap();
    assert_eq!(planted.len(), 1, "{result}");
    assert_eq!(planted[0]["path"], "n/.git/config", "{result}");
    assert!(!outside.runs(&env.path().join("n"), &["status"]));
    assert!(env.path().join("h/r/.git/hooks/post-commit").exists());
    touch(&env, "first");
    first.ended(&of_first);
}

/// The person does something while a command runs, which then plants a program. Whether it runs, and the result.
fn meanwhile(sandbox: Value, prepare: &str, person: &str, plant: &str, words: &[&str]) -> (bool, Value, Env) {
    let (outside, env) = (Outside::new(), Env::with("off"));
    program(&env, &outside);
    assert_eq!(env.run(&format!("{}; cd r; {prepare}", made("r")))["exit_code"], 0, "{prepare}");
    let env = env.now_under(sandbox);
    let plant = plant.replace("EVIL", env.path().join("evil").to_str().unwrap());
    let session = InSession::new(&env.host);
    let id = session.start(json!({"command": format!("{}; cd r; {plant}", wait_for("go"))}));
    is_at(&env, "go");
    let mut shell = Command::new("bash");
    shell.args(["-ec", person]).current_dir(env.path().join("r")).env("HOME", outside.home.path());
    assert!(shell.status().unwrap().success(), "{person}");
    touch(&env, "go");
    let result = session.ended(&id);
    drop(session);
    (outside.runs(&env.path().join("r"), words), result, env)
}

/// Without mounts the command needs nobody to replace a file, so what it does is the same.
#[test]
fn what_the_person_replaces_is_cleaned_though_its_mount_is_gone() {
    let set = "printf '[core]\\n\\tfsmonitor = EVIL\\n' >>";
    let with_include = "printf '[x]\\n\\ty = 1\\n' > ../inc; git config include.path ../../inc";
    let replace_include = "cp ../inc ../new; mv ../new ../inc";
    let hook = "mkdir -p .git/hooks; cp EVIL .git/hooks/pre-commit";
    let with_hooks = "mkdir ../hooks; printf '#!/bin/sh\\n' > ../hooks/pre-commit; chmod +x ../hooks/pre-commit; \
                      git config core.hooksPath ../hooks";
    let replace_hook = "cp -p ../hooks/pre-commit ../new; mv ../new ../hooks/pre-commit; cp -r ../hooks ../h; \
                        mv ../hooks ../old; mv ../h ../hooks";
    for (prepare, person, plant, words, path) in [
        (
            "true",
            "git config branch.main.remote x",
            format!("{set} .git/config"),
            &["status"][..],
            "r/.git/config",
        ),
        (with_include, replace_include, format!("{set} ../inc"), &["status"], "inc"),
        (
            "true",
            "rm -rf .git/hooks; git init -q",
            hook.to_owned(),
            &["commit", "--allow-empty", "-m", "x"],
            "r/.git/hooks/pre-commit",
        ),
        (
            with_hooks,
            replace_hook,
            "cp EVIL ../hooks/pre-commit".to_owned(),
            &["commit", "--allow-empty", "-m", "x"],
            "hooks/pre-commit",
        ),
    ] {
        for (sandbox, runs) in [(json!("off"), true), (json!(REQUIRED), false)] {
            let (has_run, result, env) = meanwhile(sandbox, prepare, person, &plant, words);
            assert_eq!(has_run, runs, "{person}; {plant}: {result}");
            assert_eq!(result["exit_code"], 0, "the command could not even try: {person}; {plant}: {result}");
            let planted = result["planted"].as_array().into_iter().flatten();
            assert_eq!(
                planted.map(|told| &told["path"]).any(|told| told == path),
                !runs,
                "{plant}: {result}"
            );
            let settings = fs::read_to_string(env.path().join("r/.git/config")).unwrap();
            assert_eq!(settings.contains("[branch"), person.contains("branch."), "{settings}");
        }
    }
}

#[test]
fn what_the_person_sets_meanwhile_stays_unless_it_runs_programs() {
    let person =
        "git config user.name Q; git remote add o https://example.org/x; git config branch.main.remote o";
    let sandbox = json!(REQUIRED);
    let (_, result, env) = meanwhile(sandbox, "git config core.pager cat", person, "true", &["status"]);
    assert_eq!(result.get("planted"), None, "{result}");
    let settings = fs::read_to_string(env.path().join("r/.git/config")).unwrap();
    assert!(settings.contains("pager = cat") && settings.contains("name = Q"), "{settings}");
}
