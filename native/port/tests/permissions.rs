//! What rules on commands must never let through: each command first does its work where it is allowed, and then does
//! nothing under the policy, by its effect on the host.
#![cfg(target_os = "linux")]

mod common;

use beamai_tools::engine::{Host, Outcome, Run};
use common::{call, host};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a command does to the workspace.
#[derive(Debug, Clone, Copy)]
enum Effect {
    /// The directory x is gone.
    Removed,
    /// A file was made.
    Made(&'static str),
    /// The secret came out.
    Told,
}
use Effect::{Made, Removed, Told};

/// Commands that the policy of `tight` must not allow; with true, that of `loose` must not either.
const ATTACKS: [(&str, Effect, bool); 51] = [
    ("git status && rm -rf x", Removed, true),
    ("git status ; rm -rf x", Removed, true),
    ("git nothing || rm -rf x", Removed, true),
    ("git status | rm -rf x", Removed, true),
    ("git status & rm -rf x", Removed, true),
    ("git status\nrm -rf x", Removed, true),
    ("git log --format=$(rm -rf x)", Removed, true),
    ("git log --format=`rm -rf x`", Removed, true),
    ("git log --format=\"$(rm -rf x)\"", Removed, true),
    ("git status <(rm -rf x); sleep 1", Removed, true),
    ("git status >(rm -rf x); sleep 1", Removed, true),
    ("git status <<E\n$(rm -rf x)\nE", Removed, true),
    ("git status <<< $(rm -rf x)", Removed, true),
    ("/bin/rm -rf x", Removed, true),
    ("\\rm -rf x", Removed, true),
    ("r''m -rf x", Removed, true),
    ("$'\\x72m' -rf x", Removed, true),
    ("{rm,-rf,x}", Removed, true),
    ("r\\\nm -rf x", Removed, true),
    ("rm -r -f x", Removed, true),
    ("rm x -rf", Removed, true),
    ("rm --recursive --force x", Removed, true),
    ("X=1 rm -rf x", Removed, true),
    ("env X=1 rm -rf x", Removed, true),
    ("timeout 5 rm -rf x", Removed, true),
    ("nice -n 5 rm -rf x", Removed, true),
    ("echo x | xargs rm -rf", Removed, true),
    ("sudo rm -rf x", Removed, true),
    ("setsid -w rm -rf x", Removed, true),
    ("busybox rm -rf x", Removed, true),
    ("find . -name x -exec rm -rf {} +", Removed, true),
    ("wrap rm -rf x", Removed, true),
    ("bash -c 'rm -rf x'", Removed, true),
    ("eval rm -rf x", Removed, true),
    ("echo cm0gLXJmIHg= | base64 -d | sh", Removed, true),
    ("python3 -c 'import shutil; shutil.rmtree(\"x\")'", Removed, true),
    ("c=rm; $c -rf x", Removed, true),
    ("git -c core.fsmonitor=./p status", Removed, true),
    ("git -c alias.y='!rm -rf x' y", Removed, true),
    ("git ls-remote --upload-pack=./p .", Removed, true),
    ("git --exec-path=. hook-like", Removed, true),
    ("git(){ rm -rf x; }; git", Removed, true),
    ("PATH=.:$PATH git-hook-like", Removed, true),
    ("git log > made", Made("made"), false),
    ("git log > ~/made-at-home", Made("~/made-at-home"), false),
    ("./git status", Removed, false),
    ("gitk", Removed, false),
    ("cat k.p*", Told, true),
    ("cat < k.pem", Told, true),
    ("cat link", Told, true),
    ("cp k.pem k.txt", Made("k.txt"), true),
];

struct Env(TempDir);

impl Env {
    fn new() -> Self {
        let env = Self(TempDir::new().unwrap());
        std::fs::create_dir(env.path("x")).unwrap();
        std::fs::write(env.path("k.pem"), "the secret key\n").unwrap();
        std::os::unix::fs::symlink("k.pem", env.path("link")).unwrap();
        for name in ["p", "git", "git-hook-like"] {
            script(&env.path(name), &format!("rm -rf {}", env.path("x").display()));
        }
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("/usr/bin/git");
            let output = git.args(args).current_dir(env.0.path()).env("HOME", env.0.path()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        };
        git(&["init", "-q"]);
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one", "--allow-empty"]);
        env
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn host(&self, permissions: Value) -> Host {
        host(self.0.path(), permissions, "off")
    }

    fn run(&self, permissions: Value, command: &str) -> Outcome {
        self.host(permissions).call(call(json!({"command": command})), Run::default())
    }

    fn has(&self, effect: Effect, outcome: &Outcome) -> bool {
        match effect {
            Removed => !self.path("x").exists(),
            Made(file) => match file.strip_prefix("~/") {
                Some(file) => Path::new(&std::env::var("HOME").unwrap()).join(file).exists(),
                None => self.path(file).exists(),
            },
            Told => {
                matches!(outcome, Outcome::Ok(value, _) if value["stdout"].as_str().unwrap().contains("secret"))
            }
        }
    }
}

fn script(path: &Path, command: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{command}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn tight() -> Value {
    json!({"allow": ["Bash(git:*)", "Edit(src/**)"], "deny": ["Bash(rm -rf:*)", "Read(**/*.pem)"]})
}

/// Everything, but what is denied.
fn loose() -> Value {
    json!({"allow": ["Bash", "Write"], "deny": ["Bash(rm -rf:*)", "Read(**/*.pem)"]})
}

/// Programs that a machine may or may not have, as the simplest of their kind.
fn stand_ins() -> TempDir {
    let programs = TempDir::new().unwrap();
    for name in ["sudo", "busybox", "wrap"] {
        script(&programs.path().join(name), "exec \"$@\"");
    }
    script(&programs.path().join("gitk"), "rm -rf x");
    programs
}

#[test]
fn no_attack_on_commands_gets_through() {
    beamai_tools::process::set_program(common::PROGRAM);
    let programs = stand_ins();
    let path = std::env::var("PATH").unwrap();
    // SAFETY: this is the only test of this program, and no other thread of it runs yet.
    unsafe {
        std::env::set_var("PATH", format!("{}:{path}", programs.path().display()));
        std::env::set_var("HOME", programs.path());
    }
    for (command, effect, is_loose_too) in ATTACKS {
        let env = Env::new();
        let policies = if is_loose_too { vec![tight(), loose()] } else { vec![tight()] };
        for policy in policies {
            let outcome = env.run(policy.clone(), command);
            assert!(!matches!(outcome, Outcome::Ok(..)), "{command:?} under {policy}: {outcome:?}");
            assert!(!env.has(effect, &outcome), "{command:?} under {policy}");
        }
        let outcome = env.run(json!({"default": "allow"}), command);
        assert!(env.has(effect, &outcome), "{command:?} does not even work: {outcome:?}");
    }
    elsewhere();
    allowed();
    too_deep();
    diff();
}

/// Settings of another repository can run anything.
fn elsewhere() {
    let (env, other) = (Env::new(), Env::new());
    let config = format!("[alias]\n\ty = \"!rm -rf {}\"\n", env.path("x").display());
    std::fs::write(other.path(".git/config"), config).unwrap();
    let command = format!("cd {} && git y", other.0.path().display());
    let mut policy = tight();
    policy["allow"].as_array_mut().unwrap().push("Bash(cd:*)".into());
    assert!(matches!(env.run(policy, &command), Outcome::Ask(_)));
    assert!(env.path("x").exists());
    assert!(matches!(env.run(json!({"default": "allow"}), &command), Outcome::Ok(..)));
    assert!(!env.path("x").exists());
}

/// What is meant to run does, and says by which rule.
fn allowed() {
    let env = Env::new();
    for command in
        ["git status", "git log --oneline -n 1 && git diff", "timeout 20 git status", "git log 2>/dev/null"]
    {
        let outcome = env.run(tight(), command);
        assert!(matches!(outcome, Outcome::Ok(..)), "{command}: {outcome:?}");
    }
    let explain = |command: &str| env.host(tight()).explain(call(json!({"command": command}))).unwrap();
    assert_eq!(explain("git status")["rule"], "Bash(git:*)");
    let denied = explain("git status && r''m -r -f x");
    assert_eq!((&denied["verdict"], &denied["rule"]), (&json!("deny"), &json!("Bash(rm -rf:*)")));
    assert_eq!(denied["because"], ", for the part \"rm -r -f x\"");
    let Outcome::Ask(request) = env.run(tight(), "git log; npm test > out") else { panic!() };
    assert_eq!(request["command"], "git log; npm test > out");
    assert!(
        request["message"].as_str().unwrap().contains("wants to run: git log; npm test > out"),
        "{request}"
    );
    assert_eq!(request["wanted"], json!(["Bash(npm test)", "Write(out)"]));
}

fn too_deep() {
    let env = Env::new();
    let start = std::time::Instant::now();
    for policy in [tight(), loose()] {
        assert!(matches!(env.run(policy, &"(".repeat(100 << 10)), Outcome::Ask(_)));
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
}

/// A diff leaves out what may not be read.
fn diff() {
    let env = Env::new();
    std::fs::write(env.path("a.txt"), "one\n").unwrap();
    assert!(matches!(env.run(json!({"default": "allow"}), "git add a.txt k.pem"), Outcome::Ok(..)));
    let diff = |permissions: Value| {
        let call = json!({"tool": "git_diff", "args": {"staged": true}});
        match env.host(permissions).call(serde_json::from_value(call).unwrap(), Run::default()) {
            Outcome::Ok(value, _) => value,
            other => panic!("{other:?}"),
        }
    };
    assert!(diff(json!({}))["content"].as_str().unwrap().contains("the secret key"));
    let guarded = diff(tight());
    let content = guarded["content"].as_str().unwrap();
    assert!(content.contains("+one") && !content.contains("secret"), "{guarded}");
    assert!(guarded["notes"][0].as_str().unwrap().contains("permission rules"), "{guarded}");
}
