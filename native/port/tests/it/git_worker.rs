//! The worker that does the work of the git tools: what it cannot be brought to do, and what becomes of it.

mod denied;
mod host_settings;

use crate::common::{Env, PROGRAM, host, required, wait_until};
use beamai_base::{CancelToken, Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What stands in every file, name and message of the repository outside.
const SECRET: &str = "SECRET-of-somebody-else";

fn git<S: AsRef<OsStr>>(directory: &Path, args: &[S]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs([("HOME", "/nonexistent"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with a commit, something staged and something not, all of it with this text.
fn repository(at: &Path, text: &str) {
    git(at, &["init", "-q", "-b", "main"]);
    git(at, &["config", "user.name", "A U Thor"]);
    git(at, &["config", "user.email", "author@example.com"]);
    std::fs::create_dir_all(at.join("d")).unwrap();
    for file in ["a", "d/x", "d/y"] {
        std::fs::write(at.join(file), format!("{text} 1\n")).unwrap();
    }
    git(at, &["add", "."]);
    git(at, &["commit", "-q", "-m", text]);
    std::fs::write(at.join("a"), format!("{text} 2\n")).unwrap();
    std::fs::write(at.join(format!("d/{text}")), format!("{text} 3\n")).unwrap();
    git(at, &["add", "."]);
    std::fs::write(at.join("d/x"), format!("{text} 4\n")).unwrap();
}

fn tool(host: &Host, name: &str, args: Value) -> CallOutcome {
    host.call(made(name, args), CallOptions::default())
}

fn made(name: &str, args: Value) -> CallRequest {
    serde_json::from_value(json!({"tool": name, "args": args})).unwrap()
}

fn ok(host: &Host, name: &str, args: Value) -> Value {
    match tool(host, name, args) {
        CallOutcome::Ok(value, _) => value,
        other => panic!("{name}: {other:?}"),
    }
}

fn error(outcome: CallOutcome) -> ToolError {
    match outcome {
        CallOutcome::Error(error) => error,
        other => panic!("{other:?}"),
    }
}

/// Every file beneath a directory with its bytes, mode and time.
fn everything(at: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)> {
    let entries = walkdir::WalkDir::new(at).into_iter().map(Result::unwrap);
    let entry = |entry: walkdir::DirEntry| {
        let found = entry.metadata().unwrap();
        let bytes = if found.is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
        (entry.path().to_owned(), (bytes, found.mode(), found.mtime(), found.mtime_nsec()))
    };
    entries.map(entry).collect()
}

/// The worker has no capabilities, so this holds for root too.
#[test]
fn a_directory_that_may_not_be_entered_is_said_and_the_rest_is_shown() {
    let env = Env::with("required");
    repository(env.path(), "own");
    let closed = env.path().join("d");
    let mode = |mode| std::fs::set_permissions(&closed, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o000);
    let status = ok(&env.host, "git_status", json!({}));
    let diff = ok(&env.host, "git_diff", json!({"staged": false}));
    mode(0o755);
    for answer in [&status, &diff] {
        assert!(answer.to_string().contains("d: not permitted to look into it"), "{answer}");
        assert!(!answer.to_string().contains("deleted"), "{answer}");
    }
    assert!(status["content"].as_str().unwrap().contains("modified: a"), "{status}");
}

#[test]
fn a_changed_file_that_may_not_be_read_is_not_shown_as_emptied() {
    let env = Env::with("required");
    repository(env.path(), "own");
    let file = env.path().join("a");
    std::fs::write(&file, "longer than what is staged\n").unwrap();
    let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o000);
    let diff = ok(&env.host, "git_diff", json!({"path": "a"}));
    let stat = ok(&env.host, "git_diff", json!({"path": "a", "stat": true}));
    mode(0o644);
    let content = diff["content"].as_str().unwrap();
    assert!(content.starts_with("diff --git a/a b/a\n") && !content.contains("\n-"), "{diff}");
    assert!(stat["content"].as_str().unwrap().starts_with("a | not read\n"), "{stat}");
    for answer in [diff, stat] {
        assert_eq!(answer["notes"].as_array().unwrap().len(), 1, "{answer}");
        assert!(answer["notes"].to_string().contains("a: cannot be compared"), "{answer}");
    }
}

/// A repository in a workspace, one outside, and somebody who exchanges parts of the first with links to the second.
struct Attack {
    env: Env,
    outside: PathBuf,
    _temp: Option<TempDir>,
    before: BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)>,
    parts: &'static [&'static str],
    /// Whether each call has a worker of its own.
    is_fresh: bool,
}

/// What is exchanged in turn.
const PARTS: [&str; 5] = [".git", "d", ".git/refs/heads", ".git/objects", ".git/logs"];

impl Attack {
    fn new(sandbox: &str) -> Self {
        let (env, temp) = (Env::with(sandbox), TempDir::new_in("/var/tmp").unwrap());
        let outside = temp.path().to_owned();
        Self { _temp: Some(temp), ..Self::towards(outside, env) }
    }

    /// Towards a repository in the workspace that a rule denies.
    fn towards_denied() -> Self {
        let mut env = Env::with("required");
        let denied = env.path().join("vault");
        std::fs::create_dir(&denied).unwrap();
        let permissions = json!({"default": "allow", "deny": ["Read(vault/**)", "Edit(vault/**)"]});
        env.host = host(env.path(), permissions, "required");
        let attack = Self::towards(denied, env);
        // Its objects and names of branches could be those of the other one.
        std::fs::write(attack.env.path().join(".git/info/exclude"), "vault\n").unwrap();
        attack
    }

    fn towards(outside: PathBuf, env: Env) -> Self {
        repository(env.path(), "own");
        repository(&outside, SECRET);
        let before = everything(&outside);
        Self { env, outside, _temp: None, before, parts: &PARTS, is_fresh: false }
    }

    /// Calls a tool again and again while parts are exchanged. Tells what of the repository outside was changed or shown,
    /// as soon as anything was.
    fn on(&self, name: &str, time: Duration) -> Option<String> {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let attacker = scope.spawn(|| {
                self.parts
                    .iter()
                    .cycle()
                    .take_while(|_| !over.load(Ordering::Relaxed))
                    .for_each(|part| self.exchange(part, &over))
            });
            let found = self.tried(name, time);
            over.store(true, Ordering::Relaxed);
            attacker.join().unwrap();
            found
        })
    }

    /// Exchanges one part with a link for a moment, and puts it back.
    fn exchange(&self, part: &str, over: &AtomicBool) {
        let (own, link) = (self.env.path().join(part), self.env.path().join("exchanged"));
        symlink(self.outside.join(part), &link).unwrap();
        let end = Instant::now() + Duration::from_millis(40);
        let mut turns = 0_u32;
        while turns % 2 == 1 || (Instant::now() < end && !over.load(Ordering::Relaxed)) {
            renameat_with(CWD, &own, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            turns += 1;
            // Now short, now long: what is attacked takes its time at different places.
            match self.is_fresh {
                true => std::thread::sleep(Duration::from_micros(u64::from(turns * 1_237 % 4_000))),
                false => (0..turns % 64).for_each(|_| std::thread::yield_now()),
            }
        }
        std::fs::remove_file(&link).unwrap();
    }

    fn tried(&self, name: &str, time: Duration) -> Option<String> {
        let end = Instant::now() + time;
        for turn in 0_u64.. {
            if Instant::now() >= end {
                break;
            }
            if self.is_fresh {
                workers(self.env.path()).into_iter().for_each(|pid| try_signal(pid, Signal::KILL));
            }
            let args = match name {
                "git_add" => {
                    _ = std::fs::write(self.env.path().join("a"), format!("own {turn}\n"));
                    json!({"path": "."})
                }
                "git_commit" => {
                    _ = std::fs::write(self.env.path().join("a"), format!("own {turn}\n"));
                    tool(&self.env.host, "git_add", json!({"path": "a"}));
                    json!({"message": "own"})
                }
                "git_diff" => json!({"staged": turn % 2 == 1}),
                "git_log" => json!({}),
                _ => json!({"short": turn % 2 == 1}),
            };
            let answer = match tool(&self.env.host, name, args) {
                CallOutcome::Ok(value, _) => value.to_string(),
                other => format!("{other:?}"),
            };
            if answer.contains(SECRET) {
                return Some(format!("{name} shows {answer}"));
            }
            let now = everything(&self.outside);
            if now != self.before {
                let paths = now.keys().chain(self.before.keys());
                let changed: Vec<_> = paths.filter(|path| now.get(*path) != self.before.get(*path)).collect();
                return Some(format!("{name} changed {changed:?}, and answered {answer}"));
            }
        }
        None
    }

    /// What of the repository outside has come into the own one, once all is as it was.
    fn stolen(&self) -> bool {
        let objects = git(self.env.path(), &["cat-file", "--batch-all-objects", "--batch"]);
        objects.contains(SECRET)
    }
}

fn time() -> Duration {
    Duration::from_millis(if std::env::var_os("BEAMAI_LONG").is_some() { 10_000 } else { 1_200 })
}

fn resists(name: &str) {
    resist(&Attack::new("required"), name);
}

fn resist(attack: &Attack, name: &str) {
    let first = git(attack.env.path(), &["rev-parse", "HEAD"]);
    assert_eq!(attack.on(name, time()), None);
    assert!(!attack.stolen());
    assert_eq!(everything(&attack.outside), attack.before);
    // And it still works.
    // A lock is not found again where it was made; whoever may exchange these directories can make locks, too.
    for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        _ = std::fs::remove_file(attack.env.path().join(".git").join(lock));
    }
    // The attack can lose objects that git wrote while `.git/objects` was exchanged, so HEAD and the index start again.
    git(attack.env.path(), &["update-ref", "HEAD", first.trim()]);
    git(attack.env.path(), &["read-tree", "HEAD"]);
    std::fs::write(attack.env.path().join("a"), "after the attack\n").unwrap();
    // A worker that was started in the middle may have its mounts at the wrong place; it is not used again.
    _ = tool(&attack.env.host, "git_add", json!({"path": "a"}));
    std::fs::write(attack.env.path().join("a"), "long after the attack\n").unwrap();
    assert_eq!(ok(&attack.env.host, "git_add", json!({"path": "a"}))["files"], json!(["a"]));
    assert_eq!(ok(&attack.env.host, "git_commit", json!({"message": "after"}))["ok"], true);
}

#[test]
fn a_status_under_exchange_shows_nothing_of_outside() {
    resists("git_status");
}

#[test]
fn a_diff_under_exchange_shows_nothing_of_outside() {
    resists("git_diff");
}

#[test]
fn a_log_under_exchange_shows_nothing_of_outside() {
    resists("git_log");
}

#[test]
fn staging_under_exchange_changes_nothing_outside() {
    resists("git_add");
}

#[test]
fn a_commit_under_exchange_changes_nothing_outside() {
    resists("git_commit");
}

#[test]
fn a_worker_that_starts_under_exchange_changes_nothing_outside() {
    let attack = Attack { parts: &[".git"], is_fresh: true, ..Attack::new("required") };
    resist(&attack, "git_commit");
}

#[test]
fn without_a_sandbox_the_exchange_leads_out() {
    let shown = ["git_commit", "git_add", "git_log", "git_status"]
        .into_iter()
        .cycle()
        .take(20)
        .find_map(|name| Attack::new("off").on(name, Duration::from_secs(2)));
    assert!(shown.is_some(), "the attack does not even work where nothing prevents it");
}

/// The workers that were started for this host's workspace, by what they may read.
fn workers(workspace: &Path) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_workspace = |path: &[u8]| Path::new(OsStr::from_bytes(path)) == workspace;
    let is_one = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&b"git-worker".as_slice())
            // Device, inode and path.
            && words.get(2).and_then(|word| word.splitn(3, |byte| *byte == b':').nth(2)).is_some_and(is_workspace)
    };
    pids.filter(is_one).collect()
}

/// Sends a signal to a process that may have ended by itself.
fn try_signal(pid: i32, signal: Signal) {
    _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal);
}

fn signal(pid: i32, signal: Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn a_worker_is_kept_for_the_next_call_and_another_takes_the_place_of_one_that_died() {
    let env = Env::with("required");
    repository(env.path(), "own");
    ok(&env.host, "git_status", json!({}));
    let first = workers(env.path());
    assert_eq!(first.len(), 1);
    ok(&env.host, "git_log", json!({}));
    assert_eq!(workers(env.path()), first);
    signal(first[0], Signal::KILL);
    ok(&env.host, "git_status", json!({}));
    let second = workers(env.path());
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
}

#[test]
fn a_worker_that_hangs_is_ended_when_its_time_is_over() {
    let env = Env::with("required");
    repository(env.path(), "own");
    ok(&env.host, "git_status", json!({}));
    let first = workers(env.path());
    signal(first[0], Signal::STOP);
    let (start, mut call) = (Instant::now(), made("git_status", json!({})));
    call.timeout = Some(500);
    assert_eq!(error(env.host.call(call, CallOptions::default())).reason, Reason::Timeout);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(workers(env.path()), Vec::<i32>::new());
    ok(&env.host, "git_status", json!({}));
}

#[test]
fn a_cancelled_call_ends_its_worker() {
    let env = Env::with("required");
    repository(env.path(), "own");
    ok(&env.host, "git_status", json!({}));
    signal(workers(env.path())[0], Signal::STOP);
    let cancel = CancelToken::new();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let canceller = cancel.clone();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            canceller.cancel();
        });
        let run = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        assert_eq!(error(env.host.call(made("git_status", json!({})), run)).reason, Reason::Cancelled);
    });
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(workers(env.path()), Vec::<i32>::new());
}

#[test]
fn a_linked_work_tree_of_a_repository_outside_works() {
    let main = TempDir::new_in("/var/tmp").unwrap();
    repository(main.path(), "own");
    let env = Env::with("required");
    git(main.path(), &["worktree", "add", "-q", "-b", "side", env.path().join("tree").to_str().unwrap()]);
    let tree = env.path().join("tree");
    let host = host(&tree, json!({"default": "allow"}), "required");
    std::fs::write(tree.join("a"), "side\n").unwrap();
    assert_eq!(ok(&host, "git_add", json!({"path": "."}))["files"], json!(["a"]));
    assert_eq!(ok(&host, "git_commit", json!({"message": "in the work tree"}))["ok"], true);
    assert_eq!(git(main.path(), &["log", "-1", "--format=%s", "side"]), "in the work tree\n");
    assert_eq!(git(&tree, &["status", "--short"]), "");
    // The other work tree's staging area is as it was.
    assert_eq!(git(main.path(), &["diff", "--cached", "--name-only"]), "a\nd/own\n");
}

#[test]
fn a_workspace_in_a_subdirectory_of_its_repository_works() {
    let env = Env::with("required");
    let top = env.path();
    repository(top, "own");
    git(top, &["commit", "-q", "-a", "-m", "all"]);
    std::fs::write(top.join("a"), "changed\n").unwrap();
    std::fs::write(top.join("d/x"), "inside\n").unwrap();
    let host = host(&top.join("d"), json!({"default": "allow"}), "required");
    let status = ok(&host, "git_status", json!({"short": true}));
    assert_eq!(status["content"], " M x\n");
    assert_eq!(ok(&host, "git_add", json!({"path": "."}))["files"], json!(["x"]));
    assert_eq!(ok(&host, "git_commit", json!({"message": "inside"}))["ok"], true);
    assert_eq!(git(top, &["show", "--name-only", "--format="]), "d/x\n");
    git(top, &["add", "a"]);
    std::fs::write(top.join("d/x"), "again\n").unwrap();
    ok(&host, "git_add", json!({"path": "x"}));
    let refused = error(tool(&host, "git_commit", json!({"message": "both"})));
    assert!(refused.message.contains("outside of the workspace"), "{refused}");
}

#[test]
fn a_submodule_works_as_a_workspace() {
    let env = Env::with("required");
    let part = TempDir::new_in("/var/tmp").unwrap();
    repository(part.path(), "part");
    git(part.path(), &["commit", "-q", "-a", "-m", "all"]);
    repository(env.path(), "own");
    git(
        env.path(),
        &["-c", "protocol.file.allow=always", "submodule", "add", "-q", part.path().to_str().unwrap(), "sub"],
    );
    let sub = env.path().join("sub");
    git(&sub, &["config", "user.name", "A"]);
    git(&sub, &["config", "user.email", "a@example.com"]);
    std::fs::write(sub.join("a"), "changed\n").unwrap();
    let inner = host(&sub, json!({"default": "allow"}), "required");
    assert_eq!(ok(&inner, "git_add", json!({"path": "a"}))["files"], json!(["a"]));
    assert_eq!(ok(&inner, "git_commit", json!({"message": "in the submodule"}))["ok"], true);
    assert_eq!(git(&sub, &["log", "-1", "--format=%s"]), "in the submodule\n");
    // From above, it is one entry.
    let refused = error(tool(&env.host, "git_add", json!({"path": "sub/a"})));
    assert!(refused.message.contains("a repository of its own"), "{refused}");
    assert_eq!(ok(&env.host, "git_add", json!({"path": "sub"}))["files"], json!(["sub"]));
}

#[test]
fn a_git_file_counts_only_if_it_is_named_back() {
    let (victim, env) = (TempDir::new_in("/var/tmp").unwrap(), Env::with("required"));
    repository(victim.path(), SECRET);
    git(victim.path(), &["worktree", "add", "-q", victim.path().join("tree").to_str().unwrap()]);
    let before = everything(victim.path());
    let dot_git = victim.path().join(".git");
    let fake = env.path().join("fake");
    std::fs::create_dir(&fake).unwrap();
    std::fs::write(fake.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(fake.join("commondir"), dot_git.to_str().unwrap()).unwrap();
    std::fs::write(fake.join("gitdir"), env.path().join(".git").to_str().unwrap()).unwrap();
    for target in [dot_git.clone(), dot_git.join("worktrees/tree"), fake] {
        std::fs::write(env.path().join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        for (name, args) in
            [("git_log", json!({})), ("git_status", json!({})), ("git_commit", json!({"message": "m"}))]
        {
            let answer = ok(&env.host, name, args);
            assert_eq!(answer["available"], false, "{answer}");
            assert!(!answer.to_string().contains(SECRET), "{answer}");
        }
    }
    assert_eq!(everything(victim.path()), before);
}

#[test]
fn where_no_sandbox_is_wanted_the_worker_is_a_plain_process() {
    let env = Env::with("off");
    repository(env.path(), "own");
    assert_eq!(ok(&env.host, "git_commit", json!({"message": "plain"}))["ok"], true);
    assert_eq!(git(env.path(), &["log", "-1", "--format=%s"]), "plain\n");
}

#[test]
fn a_workspace_that_was_moved_behind_a_link_is_named() {
    let dir = TempDir::new().unwrap();
    let [before, after] = ["before", "after"].map(|name| dir.path().join(name));
    std::fs::create_dir(&before).unwrap();
    repository(&before, "own");
    let host = host(&before, json!({"default": "allow"}), "required");
    ok(&host, "git_status", json!({}));
    std::fs::rename(&before, &after).unwrap();
    symlink(&after, &before).unwrap();
    let message = error(tool(&host, "git_status", json!({}))).message;
    let named = format!("{}/.git is a link to {}/.git now", before.display(), after.display());
    assert!(message.starts_with(&named), "{message}");
}

/// Entries of an index whose writing takes long enough to be interrupted.
const ENTRIES: usize = 200_000;
/// How often a program is started at most until one is interrupted in time.
const TRIES: usize = 40;

#[test]
fn a_lock_does_not_stay_when_the_program_is_ended_from_outside() {
    let dir = TempDir::new().unwrap();
    repository(dir.path(), "own");
    let blob = git(dir.path(), &["rev-parse", "HEAD:a"]);
    let entry = |at| format!("100644 {}\t{at:06}\n", blob.trim());
    std::fs::write(dir.path().join("list"), (0..ENTRIES).map(entry).collect::<String>()).unwrap();
    let list = std::fs::File::open(dir.path().join("list")).unwrap();
    let mut fill = Command::new("git");
    fill.args(["update-index", "--index-info"]).current_dir(dir.path()).stdin(list);
    assert!(fill.status().unwrap().success());
    let [lock, index] = ["index.lock", "index"].map(|name| dir.path().join(".git").join(name));
    let before = std::fs::read(&index).unwrap();
    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        let is_in_time = (0..TRIES).any(|_| {
            std::fs::write(&index, &before).unwrap();
            // On a busy machine, this process has to see the lock before the other one has written the index.
            let mut port = Command::new("nice");
            port.args([
                "-n",
                "19",
                PROGRAM,
                "call",
                "--default",
                "allow",
                "--sandbox",
                &required(),
                "--workspace",
            ]);
            port.arg(dir.path()).args(["git_add", r#"{"path": "list"}"#]).stdout(Stdio::null());
            let mut port = port.stderr(Stdio::null()).spawn().unwrap();
            while !lock.exists() && port.try_wait().unwrap().is_none() {}
            try_signal(port.id().cast_signed(), signal);
            port.wait().unwrap();
            wait_until(|| !lock.exists());
            std::fs::read(&index).unwrap() == before
        });
        assert!(is_in_time, "{signal:?}: no program was ended while it wrote");
    }
}

#[test]
fn what_is_no_file_among_the_objects_is_refused_instead_of_read() {
    for name in ["info/alternates", "info/commit-graph", "pack/multi-pack-index"] {
        let env = Env::with("required");
        repository(env.path(), "own");
        let path = env.path().join(".git/objects").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let began = Instant::now();
        match tool(&env.host, "git_log", json!({})) {
            CallOutcome::Ok(value, _) => {
                assert!(value.to_string().contains("is not a file"), "{name}: {value}");
            }
            other => panic!("{name}: {other:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{name}");
    }
}
