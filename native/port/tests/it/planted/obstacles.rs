//! What a command puts in the way of whoever cleans up after it. `through` runs these tests as a plain user, too.

use super::leftovers::assert_taken_out;
use super::{Outside, REQUIRED, made, program};
use crate::common::{Env, PROGRAM, required};
use serde_json::json;
use std::fs;
use std::process::Command;

const PLANT: &str = "git init -q n; git -C n config core.fsmonitor EVIL";

#[test]
fn names_that_are_taken_keep_nothing_in_place() {
    let taken = "touch n/.git/config.planted; for i in $(seq 99); do touch n/.git/config.planted-$i; done; mkdir n/.git/config.beamai-tmp";
    assert_taken_out("true", &format!("{PLANT}; {taken}"), "n", "git status", "n/.git/config");
    let prepare = format!(
        "{}; cd r; echo y > f; git commit -qam 2; GIT_SEQUENCE_EDITOR=\"sed -i 1ibreak\" git rebase -iq HEAD~1",
        made("r")
    );
    let command = "echo 'exec EVIL' >> r/.git/rebase-merge/git-rebase-todo; mkdir r/.git/rebase-merge/git-rebase-todo.beamai-tmp";
    let path = "r/.git/rebase-merge/git-rebase-todo";
    assert_taken_out(&prepare, command, "r", "git rebase --continue", path);
    let name = "e".repeat(250);
    let command =
        format!("{}; mkdir -p n/.git/remotes; printf 'URL: ext::EVIL\\n' > n/.git/remotes/{name}", made("n"));
    let person = format!("GIT_ALLOW_PROTOCOL=ext git fetch {name}");
    assert_taken_out("true", &command, "n", &person, &format!("n/.git/remotes/{name}"));
}

#[test]
fn directories_without_the_right_to_write_are_cleaned() {
    let command = format!("{PLANT}; cp EVIL n/.git/hooks/post-commit; chmod 555 n/.git n/.git/hooks");
    let person = "git status; chmod 755 .git .git/hooks";
    assert_taken_out("true", &command, "n", person, "n/.git/config");
    let tier = json!(REQUIRED);
    let (_, _, env) = super::leftovers::left(tier, "true", &command, "n", "true");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(env.path().join("n/.git")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o555);
    assert!(env.path().join("n/.git/hooks/post-commit.planted").exists());
    // So that it can be deleted.
    env.run("chmod -R u+w n");
}

#[test]
fn a_path_that_is_too_long_hides_nothing() {
    let deep = "n=$(printf 'd%.0s' $(seq 200)); (for i in $(seq 30); do mkdir $n && cd -P $n || exit; done) 2>/dev/null";
    let (outside, env) = (Outside::new(), Env::with(REQUIRED));
    program(&env, &outside);
    env.run(deep);
    let evil = env.path().join("evil");
    let result = env.run(&PLANT.replace("EVIL", evil.to_str().unwrap()));
    assert!(!outside.runs(&env.path().join("n"), &["status"]), "{result}");
    assert!(result["planted"].to_string().contains("removed"), "{result}");
    env.run("rm -rf ddd*");
}

#[test]
fn directories_over_the_limit_hide_nothing_that_is_nearer() {
    let (outside, env) = (Outside::new(), Env::with(REQUIRED));
    program(&env, &outside);
    env.run("mkdir d; cd d; eval mkdir -p {1..305}/{1..100}");
    let evil = env.path().join("evil");
    let result = env.run(&PLANT.replace("EVIL", evil.to_str().unwrap()));
    assert!(!outside.runs(&env.path().join("n"), &["status"]), "{result}");
    assert!(result["planted"].to_string().contains("removed"), "{result}");
}

#[test]
fn what_is_too_much_to_read_is_set_aside_unread() {
    let command = "for i in 1 2 3 4; do printf DIRC > r/.git/sharedindex.$i; truncate -s 256M r/.git/sharedindex.$i; done; \
                   git init -q n; git -C n config core.fsmonitor EVIL";
    let tier = json!(REQUIRED);
    let (runs, result, env) = super::leftovers::left(tier, &made("r"), command, "n", "git status");
    assert!(!runs, "{result}");
    let told = result["planted"].as_array().unwrap();
    let unread = told.iter().filter(|told| told["setting"].as_str().unwrap().starts_with("not read"));
    assert!(unread.count() >= 2, "{result}");
    assert!((1..5).all(|number| !env.path().join(format!("r/.git/sharedindex.{number}")).exists()));
}

/// Files that the command has not touched are not set aside, however much it has left to read.
#[test]
fn what_a_command_leaves_to_be_read_takes_nothing_else_away() {
    let prepare = format!(
        "{}; {}; git worktree add -q ../wt -b wt; git update-ref refs/remotes/o/main HEAD; \
         git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main; git symbolic-ref refs/heads/alias refs/heads/main; \
         cp -r .git/hooks/pre-commit.sample .git/hooks/pre-commit; git config user.long $(seq -s x 2000); mkdir .git/remotes; \
         echo 'URL: ext::mine' > .git/remotes/own; git -C ../wt rev-parse HEAD",
        made("a"),
        made("r") + "; cd r"
    );
    // Every size, so that no byte is left.
    let command = "for size in $(seq 0 28); do for i in 1 2; do truncate -s $((1<<size)) a/.git/sharedindex.$size-$i; done; done; \
                   git -C r checkout -q -b other; git init -q n; git -C n config core.fsmonitor EVIL";
    let tier = json!(REQUIRED);
    let (runs, result, env) = super::leftovers::left(tier, &prepare, command, "n", "git status");
    assert!(!runs, "{result}");
    let told = result["planted"].as_array().unwrap();
    let others = told.iter().map(|told| told["path"].as_str().unwrap());
    let others: Vec<&str> = others.filter(|path| !path.starts_with("a/.git/sharedindex.")).collect();
    assert_eq!(others, ["n/.git/config"], "{result}");
    let result = env.run("git -C wt rev-parse wt o/HEAD alias && git -C r rev-parse other");
    assert_eq!(result["exit_code"], 0, "{result}");
}

#[test]
fn many_links_are_moved_at_once_and_leave_room_for_what_is_worse() {
    let command = format!(
        "mkdir a/.git/x; ln -s $(seq -f /nowhere/%.0f 1500) a/.git/x; ln -s $(seq -f /nowhere/m%.0f 150) a/.git; {PLANT}"
    );
    let tier = json!(REQUIRED);
    let (runs, result, env) = super::leftovers::left(tier, &made("a"), &command, "n", "git status");
    assert!(!runs, "{result}");
    let told = result["planted"].as_array().unwrap();
    assert_eq!((told.len(), &told[0]["path"]), (101, &json!("n/.git/config")), "{result}");
    assert_eq!(told[100]["setting"], "and 52 more", "{result}");
    let at = env.path().join("a/.git");
    assert!(!at.join("x").exists() && !at.join("m1").is_symlink(), "{result}");
    // They are not looked at again.
    assert!(env.run("true").get("planted").is_none());
    assert_eq!(env.run("ls a/.git/planted-* | wc -l")["stdout"], "1500\n");
}

/// More repositories than are looked at, and a program that runs in one that was there before.
const FILL: &str =
    "mkdir -p n{1..2100}/.git/{objects,refs}; for i in n*; do echo 'ref: refs/heads/x' > $i/.git/HEAD; done";
const FAR: &str = "x/y/z/q/r";

#[test]
fn new_repositories_take_protection_from_none_that_was_there() {
    let tier = json!(REQUIRED);
    let (outside, env) = (Outside::new(), Env::with("off"));
    program(&env, &outside);
    env.run(&format!("git init -q --bare x/y/z/q/b.git; {}", made(FAR)));
    let env = env.now_under(tier);
    let result = env.run(FILL);
    assert!(result["planted"].to_string().contains("not completely"), "{result}");
    let directory = env.path().join(FAR);
    let evil = env.path().join("evil");
    let result = env.run(&format!(
        "git -C {FAR} config core.fsmonitor {}; ln -s /x {FAR}/.git/FETCH_HEAD; \
         cp evil x/y/z/q/b.git/hooks/post-receive",
        evil.display()
    ));
    assert!(!outside.runs(&directory, &["status"]), "{result}");
    assert!(!directory.join(".git/FETCH_HEAD").is_symlink(), "{result}");
    assert!(!env.path().join("x/y/z/q/b.git/hooks/post-receive").exists(), "{result}");
}

/// Each call is a separate process, which leaves a note for the next one.
#[test]
fn new_repositories_take_protection_from_none_in_later_processes() {
    let (outside, env) = (Outside::new(), Env::with("off"));
    program(&env, &outside);
    env.run(&format!("mkdir -p x/y/z/q; {}", made(FAR)));
    let state = tempfile::TempDir::new_in("/var/tmp").unwrap();
    let call = |command: &str| {
        let mut call = Command::new(PROGRAM);
        call.args(["call", "shell_exec", "--command", command, "--settings", "none", "--allow", "Bash"]);
        call.args(["--sandbox", &required(), "--workspace"]).arg(env.path());
        let output = call.env("XDG_STATE_HOME", state.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let notes = || state.path().join("beamai/journals").read_dir().into_iter().flatten().count();
    let told = call(FILL);
    assert!(told.contains("not completely") && notes() == 1, "{told}");
    let evil = env.path().join("evil");
    let told = call(&format!("git -C {FAR} config core.fsmonitor {}", evil.display()));
    assert!(!outside.runs(&env.path().join(FAR), &["status"]), "{told}");
    let new =
        env.path().read_dir().unwrap().map(|new| new.unwrap().path()).filter(|new| new.join(".git").exists());
    new.for_each(|new| fs::remove_dir_all(new).unwrap());
    let told = call("true");
    assert!(!told.contains("planted") && notes() == 0, "{told}");
}

#[test]
fn a_forbidden_name_that_cannot_be_removed_hides_no_other() {
    let env = Env::with(REQUIRED);
    env.run(&made("a"));
    env.run(&made("r"));
    let command = "mkdir -p p/x/y; chmod 0 p/x; mv p a/.git/commondir; echo ../evil > r/.git/commondir; \
                   echo x > r/.git/config.worktree; sleep 1000";
    let error = env.fails(json!({"command": command, "timeout": 20_000}));
    assert_eq!(error.reason, beamai_base::Reason::AccessDenied, "{error:?}");
    for path in ["a/.git/commondir", "r/.git/commondir", "r/.git/config.worktree"] {
        assert!(!env.path().join(path).exists(), "{path}");
    }
    env.run("chmod -R u+rwx a");
}
