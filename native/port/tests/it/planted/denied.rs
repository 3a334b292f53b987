//! Where deny rules hide what a command has made, or make it read-only: that is cleaned, too.

use super::{Outside, REQUIRED, program};
use crate::common::Env;
use serde_json::json;
use std::fs;

#[test]
fn what_deny_rules_keep_from_the_next_command_is_cleaned() {
    let deep = format!("w/{}", vec!["d".repeat(200); 18].join("/"));
    for (rule, directory) in [
        ("Read(**/vault/**)", "w/vault/n"),
        ("Read(.env)", "w/.env"),
        ("Read(**/*.pem)", "w/k.pem"),
        ("Edit(a/*/locked)", "a/b/locked"),
        ("Write(**/locked/**)", "w/locked/n"),
        ("Read(**/*.pem)", &*deep),
        ("Edit(**/locked)", &*deep),
    ] {
        for (sandbox, rules) in [("off", &[][..]), (REQUIRED, &[]), (REQUIRED, &[rule])] {
            let (outside, env) = (Outside::new(), Env::with("off"));
            program(&env, &outside);
            // In the tier `landlock`, a command cannot create names beside a denied path.
            for made in ["w", "a/b"] {
                fs::create_dir_all(env.path().join(made)).unwrap();
            }
            let evil = env.path().join("evil");
            let plant = format!(
                "mkdir -p {directory} && cd {directory} && git init -q . && git config core.fsmonitor {} && \
                 cp -r .git/. ../bare && cd .. && git -C bare config core.bare false && git -C bare config core.worktree .",
                evil.display()
            );
            fs::write(env.path().join("plant"), plant).unwrap();
            let env = env.now_denying(rules, json!(sandbox));
            let result = env.run("bash plant");
            assert_eq!(result["exit_code"], 0, "{rules:?}: {result}");
            let above = env.path().join(directory).parent().unwrap().to_owned();
            for planted in [env.path().join(directory), above.join("bare")] {
                assert_eq!(
                    outside.runs(&planted, &["status"]),
                    sandbox == "off",
                    "{rules:?} {planted:?}: {result}"
                );
            }
            let cleaned = result["planted"].as_array().map_or(0, Vec::len);
            assert!(cleaned >= if sandbox == "off" { 0 } else { 2 }, "{rules:?}: {result}");
            // The next command runs, although the repository is hidden from it now.
            assert_eq!(env.run("true")["exit_code"], 0, "{rules:?}");
        }
    }
}
