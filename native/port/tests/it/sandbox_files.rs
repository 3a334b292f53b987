//! What sandboxed commands can read and write. Each test shows first that the same command has its effect where nothing
//! stands in its way.

use crate::common::{Env, is_full, required};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const REQUIRED: &str = "required";

/// A directory of the machine that commands can see.
fn elsewhere() -> TempDir {
    TempDir::new_in("/var/tmp").unwrap()
}

/// Runs a command in a workspace that `prepare` sets up, without a sandbox and under one, and gives what `effect` sees
/// of each.
fn effects<T>(
    prepare: impl Fn(&Path),
    command: impl Fn(&Path) -> String,
    effect: impl Fn(&Path) -> T,
) -> (T, T) {
    let run = |sandbox: &str| {
        let env = Env::with(sandbox);
        prepare(env.path());
        // What a command must not create, it does not survive.
        env.call(json!({"command": command(env.path())}));
        effect(env.path())
    };
    (run("off"), run(REQUIRED))
}

fn repository(path: &Path) {
    for dir in ["objects", "refs/heads", "hooks"] {
        fs::create_dir_all(path.join(".git").join(dir)).unwrap();
    }
    fs::write(path.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(path.join(".git/config"), "[core]\n").unwrap();
}

/// Asserts that a command changes something in a repository without a sandbox, and nothing under one.
fn assert_unchanged(command: &str, effect: impl Fn(&Path) -> bool) {
    let (without, under) = effects(repository, |_| command.to_owned(), effect);
    assert!(without, "{command} has no effect where it is allowed");
    assert!(!under, "{command} has its effect under the sandbox");
}

#[test]
fn every_layer_is_on_and_the_result_says_so() {
    let result = Env::with(REQUIRED).run("true");
    assert_eq!(result["isolation"]["off"], json!([]), "{result}");
    assert_eq!(result["isolation"]["on"].as_array().unwrap().len(), 14);
    assert!(result["isolation"].get("partly").is_none(), "{result}");
}

#[test]
fn nothing_is_written_outside_the_workspace() {
    let elsewhere = elsewhere();
    let victim = elsewhere.path().join("victim");
    for command in [
        "echo x > V",
        "rm -f V",
        "chmod 777 V",
        "touch -t 200001010000 V",
        "mv V V2",
        "ln V V3",
        "setfattr -n user.a -v b V || true; truncate -s 0 V",
    ] {
        let command = command.replace('V', victim.to_str().unwrap());
        let (without, under) = effects(
            |_| fs::write(&victim, "old").unwrap(),
            |_| command.clone(),
            |_| {
                let found = fs::metadata(&victim);
                let state = found.map(|found| (found.permissions(), found.modified().unwrap()));
                let names = fs::read_dir(elsewhere.path()).unwrap().count();
                let text = fs::read_to_string(&victim);
                let is_old = state.is_ok_and(|(mode, time)| {
                    !mode.readonly()
                        && std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777 != 0o777
                        && time.elapsed().is_ok_and(|age| age.as_secs() < 1000)
                });
                let is_whole = is_old && names == 1 && text.is_ok_and(|text| text == "old");
                fs::read_dir(elsewhere.path())
                    .unwrap()
                    .for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
                is_whole
            },
        );
        assert_eq!((without, under), (false, true), "{command}");
    }
}

#[test]
fn the_workspace_is_written_whatever_leads_to_it() {
    let env = Env::with(REQUIRED);
    env.run("mkdir -p a/b && echo x > a/b/c && ln -s b a/d && mv a/d/c a/e && rmdir a/b");
    assert_eq!(fs::read_to_string(env.path().join("a/e")).unwrap(), "x\n");
    // A workspace that was named by a link.
    let (elsewhere, real) = (elsewhere(), elsewhere());
    let link = elsewhere.path().join("link");
    symlink(real.path(), &link).unwrap();
    let host = crate::common::host(&link, json!({"default": "allow"}), REQUIRED);
    let victim = elsewhere.path().join("victim");
    let command = format!("echo in > inside; echo out > {}", victim.display());
    host.call(crate::common::call(json!({"command": command})), Default::default());
    assert!(real.path().join("inside").exists() && !victim.exists());
}

#[test]
fn another_directory_in_place_of_the_workspace_is_refused() {
    let (parent, mark) = (elsewhere(), "ran");
    let path = parent.path().join("ws");
    fs::create_dir(&path).unwrap();
    let host = crate::common::host(&path, json!({"default": "allow"}), REQUIRED);
    fs::rename(&path, parent.path().join("old")).unwrap();
    fs::create_dir(&path).unwrap();
    crate::common::error(
        host.call(crate::common::call(json!({"command": format!("touch {mark}")})), Default::default()),
    );
    assert!(!path.join(mark).exists());
}

#[test]
fn hooks_and_settings_of_a_repository_are_not_written() {
    let exists = |name: &'static str| move |path: &Path| path.join(name).exists();
    assert_unchanged("echo evil > .git/hooks/pre-commit", exists(".git/hooks/pre-commit"));
    assert_unchanged("mkdir h; echo evil > h/post-checkout; mv h .git/hooks/d", exists(".git/hooks/d"));
    let is_evil =
        |path: &Path| fs::read_to_string(path.join(".git/config")).unwrap_or_default().contains("evil");
    assert_unchanged("echo evil >> .git/config", is_evil);
    assert_unchanged("echo evil > c; mv c .git/config", is_evil);
    assert_unchanged("rm .git/config; echo evil > .git/config", is_evil);
    assert_unchanged("echo evil > c; ln -f c .git/config; cp --remove-destination c .git/config", is_evil);
    assert_unchanged("mv .git g; mkdir .git; echo evil > .git/config", is_evil);
    assert_unchanged("rm -rf .git; mkdir .git; echo evil > .git/config", is_evil);
    assert_unchanged("git config core.fsmonitor evil", is_evil);
}

#[test]
fn what_a_repository_lacks_is_not_created() {
    for (name, command) in [
        (".git/config", "echo evil > .git/config"),
        (".git/hooks", "mkdir .git/hooks && echo evil > .git/hooks/pre-push"),
        (".git/commondir", "echo ../evil > .git/commondir"),
        (".git/commondir", "mkdir .git/commondir && echo x > .git/commondir/y"),
        (".git/config.worktree", "echo evil > .git/config.worktree"),
    ] {
        let prepare = |path: &Path| {
            repository(path);
            fs::remove_file(path.join(".git/config")).unwrap();
            fs::remove_dir(path.join(".git/hooks")).unwrap();
        };
        let (without, under) = effects(
            prepare,
            |_| command.to_owned(),
            |path| {
                let path = path.join(name);
                let is_used = fs::read(&path).map(|text| !text.is_empty());
                is_used
                    .unwrap_or_else(|_| fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()))
            },
        );
        assert_eq!((without, under), (true, false), "{command}");
    }
}

#[test]
fn what_was_put_in_place_of_what_is_absent_goes_with_the_reaper() {
    let env = Env::with(REQUIRED);
    repository(env.path());
    fs::remove_file(env.path().join(".git/config")).unwrap();
    env.run("true");
    // Its reaper ends with a command that leaves something behind.
    env.run("setsid sleep 1000 >/dev/null 2>&1 &");
    crate::common::wait_until(|| !env.path().join(".git/config").exists());
}

#[test]
fn repositories_within_are_protected_too() {
    let prepare = |path: &Path| {
        repository(path);
        repository(&path.join("vendor/lib"));
        repository(&path.join(".git/modules/sub"));
        fs::create_dir_all(path.join(".git/worktrees/w")).unwrap();
        fs::write(path.join(".git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(path.join(".git/worktrees/w/HEAD"), "x").unwrap();
        for entry in fs::read_dir(path.join(".git/modules/sub/.git")).unwrap() {
            let entry = entry.unwrap();
            fs::rename(entry.path(), path.join(".git/modules/sub").join(entry.file_name())).unwrap();
        }
        fs::create_dir(path.join("sub")).unwrap();
        fs::write(path.join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
    };
    for (file, command) in [
        ("vendor/lib/.git/config", "echo evil > F"),
        ("vendor/lib/.git/hooks/pre-commit", "echo evil > F"),
        ("vendor/lib/.git/config", "mv vendor v; mkdir -p vendor/lib/.git; echo evil > F"),
        (".git/modules/sub/config", "echo evil > F"),
        (".git/modules/sub/config", "mv .git/modules .git/m; mkdir -p .git/modules/sub; echo evil > F"),
        (".git/worktrees/w/commondir", "echo evil > F"),
        ("sub/.git", "echo evil > F"),
        ("sub/.git", "rm F; echo evil > F"),
    ] {
        let command = command.replace('F', file);
        let (without, under) = effects(
            prepare,
            |_| command.clone(),
            |path| fs::read_to_string(path.join(file)).unwrap_or_default().contains("evil"),
        );
        assert_eq!((without, under), (true, false), "{command}");
    }
}

#[test]
fn no_file_is_made_that_others_run_as_its_owner() {
    for command in [
        "touch f; chmod u+s f",
        "touch f; chmod 2755 f",
        "python3 -c 'import os; os.umask(0); os.open(\"f\", os.O_CREAT|os.O_WRONLY, 0o4755)'",
        "python3 -c 'import os; f=os.open(\"f\", os.O_CREAT|os.O_WRONLY); os.fchmod(f, 0o4755)'",
        "touch g; chmod 755 g; install -m 4755 g f",
    ] {
        let is_set = |path: &Path| {
            fs::metadata(path.join("f")).is_ok_and(|found| found.permissions().mode() & 0o6000 != 0)
        };
        assert_eq!(effects(|_| (), |_| command.to_owned(), is_set), (true, false), "{command}");
    }
    assert_eq!(Env::with(REQUIRED).run("touch f && chmod 750 f && mkdir d && chmod 1777 d")["exit_code"], 0);
}

#[test]
fn a_repository_that_a_command_makes_is_protected_from_the_next_one() {
    let env = Env::with(REQUIRED);
    let result = env.run("git init -q . && git config user.name N");
    assert_eq!(result["exit_code"], 0, "{result}");
    assert_ne!(env.run("git config core.fsmonitor evil")["exit_code"], 0);
    assert!(!fs::read_to_string(env.path().join(".git/config")).unwrap().contains("evil"));
}

#[test]
fn commands_can_commit() {
    let env = Env::with("off");
    env.run("git init -q . && git config user.name N && git config user.email e@x");
    let env = env.now_under(json!(REQUIRED));
    let result = env.run(
        "echo x > f && git add f && git commit -qm first && git checkout -qb other && git log --format=%s",
    );
    assert_eq!((&result["stdout"], &result["exit_code"]), (&json!("first\n"), &json!(0)), "{result}");
}

#[test]
fn a_protection_that_the_machine_has_replaced_is_renewed_before_the_next_command() {
    let env = Env::with(REQUIRED);
    repository(env.path());
    env.run("true");
    let config = env.path().join(".git/config");
    // The change and the next order may reach the reaper together.
    for text in ["[user]\n", "[core]\n"].into_iter().cycle().take(50) {
        // As git itself replaces it.
        fs::write(env.path().join(".git/config.lock"), text).unwrap();
        fs::rename(env.path().join(".git/config.lock"), &config).unwrap();
        env.run("echo evil >> .git/config");
        assert_eq!(fs::read_to_string(&config).unwrap(), text);
    }
}

#[test]
fn the_temporary_directory_is_private() {
    let name = format!("beamai-test-{}", std::process::id());
    let (env, path) = (Env::with(REQUIRED), Path::new("/tmp").join(&name));
    Env::with("off").run(&format!("touch {}", path.display()));
    assert!(path.exists());
    assert_eq!(env.run(&format!("ls {}", path.display()))["exit_code"], 2);
    fs::remove_file(&path).unwrap();
    env.run(&format!("touch {0} /dev/shm/{name}; ls {0}", path.display()));
    assert!(!path.exists() && !Path::new("/dev/shm").join(&name).exists());
    // Without a session, nothing goes on to the next command.
    assert_eq!(env.run(&format!("ls {} /dev/shm/{name}", path.display()))["exit_code"], 2);
}

#[test]
fn a_session_keeps_its_temporary_directory_and_shares_it_with_none() {
    let (env, temps) = (Env::with(REQUIRED), [elsewhere(), TempDir::new().unwrap()]);
    for (at, temp) in temps.iter().enumerate() {
        let result = env.run_in_session(temp.path(), &format!("echo {at} > /tmp/note; cat $TMPDIR/note"));
        assert_eq!(result["stdout"], format!("{at}\n"), "{result}");
        assert_eq!(fs::read_to_string(temp.path().join("note")).unwrap(), format!("{at}\n"));
    }
    for (at, temp) in temps.iter().enumerate() {
        let other = temps[1 - at].path().join("note");
        let result =
            env.run_in_session(temp.path(), &format!("cat /tmp/note; echo x >> {}", other.display()));
        assert_eq!(result["stdout"], format!("{at}\n"), "{result}");
        assert_eq!(fs::read_to_string(&other).unwrap(), format!("{}\n", 1 - at));
    }
}

/// Here, `/tmp` is one of this test alone: that of the machine has the repositories of others, who may change them
/// meanwhile.
#[test]
fn the_temporary_directory_of_the_machine_may_be_the_workspace() {
    let programs = Path::new(crate::common::PROGRAM).parent().unwrap();
    let script = "mount --rbind \"$0\" /mnt && mount -t tmpfs tmpfs /tmp && cd / && \
                  /mnt/beamai-port call --default allow --workspace /tmp --sandbox \"$1\" \
                  shell_exec '{\"command\": \"echo x > /tmp/new\"}' && cat /tmp/new";
    let mut shell = Command::new("unshare");
    // Where user namespaces are refused, the mounts are made without one.
    shell.args(if is_full() { &["--user", "--map-root-user", "--mount"][..] } else { &["--mount"] });
    let output = shell.args(["sh", "-c", script]).arg(programs).arg(required()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.ends_with("x\n"), "{output:?}");
}

#[test]
fn devices_of_the_machine_are_not_there() {
    let env = Env::with(REQUIRED);
    let list = "cd /dev; for f in *; do [ ! -L $f ] && [ -b $f -o -c $f ] && echo $f; done";
    assert_eq!(env.stdout(list), "full\nnull\nrandom\ntty\nurandom\nzero\n");
    assert!(Env::with("off").stdout(list).lines().count() > 6);
    let result = env.run("mknod disk b 1 0 || mknod disk c 1 1 || mkfifo pipe");
    assert_eq!(result["exit_code"], 0, "{result}");
    assert!(!env.path().join("disk").exists() && env.path().join("pipe").exists());
    assert_eq!(env.stdout("echo x > /dev/null; head -c 3 /dev/zero | wc -c; echo y > /dev/stdout"), "3\ny\n");
    // With the modes and times that they have anyway, in case they are changed.
    for change in ["chmod --reference=/dev/null /dev/null", "touch -c -r /dev/zero /dev/zero"] {
        let result = env.run(change);
        assert!(result["stderr"].as_str().unwrap().contains("Read-only file system"), "{result}");
    }
}

#[test]
fn settings_of_the_kernel_are_not_written() {
    let read = || fs::read_to_string("/proc/sys/vm/swappiness").unwrap();
    let (before, other) = (read(), "61\n");
    assert_ne!(before, other);
    for sandbox in ["off", REQUIRED] {
        Env::with(sandbox).run("echo 61 > /proc/sys/vm/swappiness; echo b > /sys/power/state");
        // Who is not root may not, in any case.
        let may = sandbox == "off" && rustix::process::geteuid().is_root();
        assert_eq!(read() == other, may, "{sandbox}");
        if may {
            fs::write("/proc/sys/vm/swappiness", &before).unwrap();
        }
    }
}

#[test]
fn the_host_may_give_more_to_write() {
    let elsewhere = elsewhere();
    let command = format!("echo x > {}/new", elsewhere.path().display());
    Env::with(REQUIRED).run(&command);
    assert!(!elsewhere.path().join("new").exists());
    Env::under(json!({"writable": [elsewhere.path()]})).run(&command);
    assert!(elsewhere.path().join("new").exists());
    // It may even give up a protection.
    let env = Env::under(json!({"writable": [".git/config"]}));
    repository(env.path());
    env.run("printf '[user]\\nname = mine\\n' > .git/config; echo evil > .git/hooks/x");
    assert_eq!(fs::read_to_string(env.path().join(".git/config")).unwrap(), "[user]\nname = mine\n");
    assert!(!env.path().join(".git/hooks/x").exists());
}

#[test]
fn variables_of_the_host_are_passed_on_by_name_only() {
    let run = |sandbox: Value| {
        let (dir, settings) = (TempDir::new().unwrap(), elsewhere());
        let file = settings.path().join("settings.json");
        fs::write(&file, json!({"sandbox": crate::common::reporting(sandbox)}).to_string()).unwrap();
        let output = std::process::Command::new(crate::common::PROGRAM)
            .args([
                "call",
                "shell_exec",
                r#"{"command": "echo $PASSED-$SECRET; tr '\\0' '\\n' < /proc/1/environ"}"#,
            ])
            .args(["--allow", "Bash", "--settings"])
            .arg(file)
            .envs([("PASSED", "yes"), ("SECRET", "no")])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["stdout"].as_str().unwrap().to_owned()
    };
    assert_eq!(run(json!({"env": ["PASSED"]})), "yes-\n");
    assert_eq!(run(json!({})), "-\n");
}

#[test]
fn a_repository_that_appears_anywhere_is_protected_from_the_next_command_on() {
    let evil = "for g in new deep/er/new .git/modules/sub; do d=$g/.git; [ -d $d ] || d=$g; \
                mkdir -p $d/hooks; echo evil > $d/hooks/pre-commit; echo evil >> $d/config; done";
    let is_evil =
        |path: &Path, file: &str| fs::read_to_string(path.join(file)).is_ok_and(|text| text.contains("evil"));
    for (sandbox, expected) in [("off", true), (REQUIRED, false)] {
        let env = Env::with(sandbox);
        repository(env.path());
        // A reaper is made before they appear.
        env.run("true");
        // One that a command makes, one of the host, and that of a submodule.
        env.run("git init -q new");
        repository(&env.path().join("deep/er/new"));
        fs::create_dir_all(env.path().join(".git/modules/sub/hooks")).unwrap();
        for (file, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")] {
            fs::write(env.path().join(".git/modules/sub").join(file), text).unwrap();
        }
        env.run(evil);
        for dir in ["new/.git", "deep/er/new/.git", ".git/modules/sub"] {
            for file in ["hooks/pre-commit", "config"] {
                assert_eq!(
                    is_evil(env.path(), &format!("{dir}/{file}")),
                    expected,
                    "{sandbox}: {dir}/{file}"
                );
            }
        }
    }
}

#[test]
fn what_must_not_be_there_is_not_there_while_a_command_runs_either() {
    let env = Env::with(REQUIRED);
    repository(env.path());
    env.run("true");
    let session = crate::common::InSession::new(&env.host);
    let id = session.start(json!({"command": "echo begun; echo ../evil > .git/commondir; sleep 1000"}));
    let answer = session.ended(&id);
    assert_eq!((&answer["status"], &answer["stdout"]), (&json!("failed"), &json!("begun\n")), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains(".git/commondir"), "{answer}");
    assert!(!env.path().join(".git/commondir").exists());
    let error = env.fails(json!({"command": "mkdir .git/config.worktree"}));
    assert_eq!(error.reason, beamai_base::Reason::AccessDenied, "{error:?}");
    assert!(!env.path().join(".git/config.worktree").exists());
    // The order to end is heard whatever goes on there.
    let storm = "while :; do : > .git/a; mv .git/a .git/b; rm .git/b; done";
    let error = env.fails(json!({"command": format!("{storm} & {storm} & {storm}"), "timeout": 1000}));
    assert_eq!(error.reason, beamai_base::Reason::Timeout, "{error:?}");
}

#[test]
fn a_command_that_cannot_delete_a_repository_which_was_there_before_says_why() {
    let env = Env::with("required");
    let own = env.run("git init -q own && rm -rf own && test ! -e own");
    assert_eq!((own["exit_code"].as_i64(), own.get("held_paths")), (Some(0), None), "{own}");
    assert_eq!(env.run("git init -q earlier")["exit_code"], 0);
    for command in ["rm -rf earlier", "mv earlier moved"] {
        let later = env.run(command);
        let why = later["held_paths"].as_str().unwrap_or_else(|| panic!("{later}"));
        assert!(why.contains("git repositories") && env.path().join("earlier/.git").exists(), "{later}");
    }
    assert_eq!(env.run("false").get("held_paths"), None);
}
