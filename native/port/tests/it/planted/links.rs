//! Settings and hooks that git finds by links.

use super::{Outside, REQUIRED, assert_works_where_it_may, made, planted, program};
use crate::common::Env;
use serde_json::{Value, json};
use std::fs;

fn assert_nothing_runs(prepare: &str, command: &str) -> Value {
    let attempt = format!("{prepare} / {command}");
    assert_works_where_it_may(&attempt, || planted("off", prepare, command, "r"));
    let (runs, result) = planted(REQUIRED, prepare, command, "r");
    assert!(!runs, "{prepare} / {command}: what it planted runs: {result}");
    result
}

#[test]
fn hooks_that_are_links_are_protected_where_they_lie() {
    for (prepare, command) in [
        ("rm -rf r/.git/hooks; mkdir r/hk; ln -s ../hk r/.git/hooks", "cp EVIL r/.git/hooks/pre-commit"),
        ("rm -rf r/.git/hooks; mkdir r/hk; ln -s ../hk r/.git/hooks", "cp EVIL r/hk/pre-commit"),
        (
            "rm -rf r/.git/hooks; mkdir r/hk; ln -s ../hk r/.git/hooks; printf '#!/bin/sh\\n' > r/hk/pre-commit; \
             chmod +x r/hk/pre-commit",
            "cp EVIL r/hk/pre-commit",
        ),
        (
            "rm -rf r/.git/hooks; mkdir r/hk; ln -s ../hk r/.git/hooks",
            "mkdir h2; cp EVIL h2/pre-commit; rmdir r/hk; mv h2 r/hk",
        ),
        ("rm -rf r/.git/hooks; ln -s ../hk r/.git/hooks", "mkdir r/hk; cp EVIL r/hk/pre-commit"),
        (
            "rm -rf r/.git/hooks; ln -s ../hk r/.git/hooks",
            "mkdir h2; cp EVIL h2/pre-commit; ln -s ../h2 r/hk",
        ),
        (
            "printf '#!/bin/sh\\n' > r/sc.sh; chmod +x r/sc.sh; ln -s ../../sc.sh r/.git/hooks/pre-commit",
            "cp EVIL r/sc.sh",
        ),
        ("ln -s ../../sc.sh r/.git/hooks/pre-commit", "cp EVIL r/sc.sh"),
        ("ln -s ../../sc.sh r/.git/hooks/pre-commit", "ln -s ../evil r/sc.sh"),
    ] {
        assert_nothing_runs(&format!("{}; {prepare}", made("r")), command);
    }
}

#[test]
fn hooks_of_a_submodule_that_are_links_are_protected_where_they_lie() {
    let prepare = format!(
        "{}; git -c protocol.file.allow=always -C r submodule --quiet add ./ sub; git -C r/sub config user.name N; \
         git -C r/sub config user.email e@x; rm -rf r/.git/modules/sub/hooks; mkdir hk; \
         ln -s ../../../../hk r/.git/modules/sub/hooks",
        made("r")
    );
    let command = "cp EVIL hk/pre-commit";
    assert_works_where_it_may(command, || planted("off", &prepare, command, "r/sub"));
    let (runs, result) = planted(REQUIRED, &prepare, command, "r/sub");
    assert!(!runs, "{result}");
}

#[test]
fn settings_that_are_a_link_are_protected_where_they_lie() {
    let prepare = format!("{}; mv r/.git/config r/cfg; ln -s ../cfg r/.git/config", made("r"));
    for command in [
        "git -C r config core.fsmonitor EVIL",
        "printf '[core]\\n\\tfsmonitor = EVIL\\n' >> r/cfg",
        "cp r/cfg r/c2; printf '[core]\\n\\tfsmonitor = EVIL\\n' >> r/c2; mv r/c2 r/cfg",
    ] {
        assert_nothing_runs(&prepare, command);
    }
}

#[test]
fn links_on_the_way_to_hooks_and_settings_are_put_back() {
    let link = "cd r; mkdir hk2; ln -s hk2 hk; git config core.hooksPath hk";
    let above = "cd r; mkdir -p real/h; ln -s real pl; git config core.hooksPath pl/h";
    let include =
        "cd r; mkdir real; ln -s real dl; git config -f real/inc a.b c; git config include.path ../dl/inc";
    for (prepare, command, path, target) in [
        (link, "cd r; mkdir r2; cp EVIL r2/pre-commit; rm hk; ln -s r2 hk", "r/hk", "hk2"),
        (link, "cd r; rm hk; mkdir hk; cp EVIL hk/pre-commit", "r/hk", "hk2"),
        (above, "cd r; mkdir -p r2/h; cp EVIL r2/h/pre-commit; rm pl; ln -s r2 pl", "r/pl", "real"),
        (
            include,
            "cd r; mkdir r2; git config -f r2/inc core.fsmonitor EVIL; rm dl; ln -s r2 dl",
            "r/dl",
            "real",
        ),
    ] {
        let prepare = format!("{}; {prepare}", made("r"));
        let result = assert_nothing_runs(&prepare, command);
        let first = &result["planted"][0];
        assert_eq!(
            (&first["path"], &first["setting"]),
            (&json!(path), &json!("leads git elsewhere")),
            "{result}"
        );
        let env = Env::with("off");
        fs::write(env.path().join("evil"), "").unwrap();
        env.run(&prepare);
        let env = env.now_under(json!(REQUIRED));
        env.run(&command.replace("EVIL", env.path().join("evil").to_str().unwrap()));
        assert_eq!(fs::read_link(env.path().join(path)).unwrap().to_str(), Some(target), "{command}");
    }
}

#[test]
fn a_way_that_did_not_exist_leads_to_nothing_by_a_link() {
    let include = "git -C r config include.path ../dl/inc";
    let hooks = "git -C r config core.hooksPath a/hk";
    for (prepare, command) in [
        (include, "mkdir r/r2; git config -f r/r2/inc core.fsmonitor EVIL; ln -s r2 r/dl"),
        (include, "mkdir r/dl; git config -f r/dl/inc core.fsmonitor EVIL"),
        (hooks, "mkdir -p r/b/hk; cp EVIL r/b/hk/pre-commit; ln -s b r/a"),
        ("git -C r config core.hooksPath .husky/_", "mkdir -p r/.husky/_; cp EVIL r/.husky/_/pre-commit"),
        ("git -C r config core.hooksPath ..", "cp EVIL pre-commit"),
    ] {
        assert_nothing_runs(&format!("{}; {prepare}", made("r")), command);
    }
}

#[test]
fn links_of_the_persons_own_stay_as_they_are() {
    let prepare = format!(
        "{}; cd r; rm -rf .git/hooks; mkdir hk hk2; ln -s ../hk .git/hooks; echo '#!/bin/sh' > hk/post-commit; \
         ln -s ../hk2/x hk/pre-commit; mv .git/config cfg; ln -s ../cfg .git/config; ln -s hk2 l; \
         git config include.path ../l/inc",
        made("r")
    );
    let sandbox = json!(REQUIRED);
    let env = Env::with("off");
    assert_eq!(env.run(&prepare)["exit_code"], 0);
    let env = env.now_under(sandbox);
    let result = env.run("ls r/l; echo x > r/new");
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
    let links = [
        ("r/.git/hooks", "../hk"),
        ("r/.git/config", "../cfg"),
        ("r/l", "hk2"),
        ("r/hk/pre-commit", "../hk2/x"),
    ];
    for (path, target) in links {
        assert_eq!(fs::read_link(env.path().join(path)).unwrap().to_str(), Some(target), "{path}");
    }
}

#[test]
fn a_link_that_another_command_has_replaced_meanwhile_is_not_taken_for_the_persons() {
    let outside = Outside::new();
    let env = Env::with("off");
    program(&env, &outside);
    env.run(&format!("{}; cd r; mkdir hk2; ln -s hk2 hk; git config core.hooksPath hk", made("r")));
    let env = env.now_under(json!(REQUIRED));
    let session = crate::common::InSession::new(&env.host);
    let first = "cd r; mkdir r2; cp ../evil r2/pre-commit; rm hk; ln -s r2 hk; echo done; read -r line";
    let first = session.start(json!({"command": first}));
    session.output_when(&first, |answer| answer["stdout"] == "done\n");
    let second = session.start(json!({"command": "echo up; sleep 1000"}));
    session.output_when(&second, |answer| answer["stdout"] == "up\n");
    session.ok("shell_kill", json!({"id": first}));
    session.ok("shell_kill", json!({"id": second}));
    assert_eq!(fs::read_link(env.path().join("r/hk")).unwrap().to_str(), Some("hk2"));
    assert!(!outside.any_runs(&env.path().join("r")));
}
