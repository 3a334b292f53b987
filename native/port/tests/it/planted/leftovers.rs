//! What a command leaves in a repository's state, or in a new work tree, for commands of git that the person runs later.

use super::{Outside, REQUIRED, assert_works_where_it_may, made, program};
use crate::common::{Env, PROGRAM, is_full, required};
use beamai_engine::{CallOptions, CallOutcome};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Prepares, runs a command under a sandbox, and then what the person runs in a directory. Whether a planted program ran by
/// that, the result of the command, and the workspace.
pub(super) fn left(
    sandbox: Value,
    prepare: &str,
    command: &str,
    directory: &str,
    person: &str,
) -> (bool, Value, Env) {
    let outside = Outside::new();
    let env = Env::with("off");
    program(&env, &outside);
    assert_eq!(env.run(prepare)["exit_code"], 0, "{prepare}");
    let env = env.now_under(sandbox);
    let told = |text: &str| {
        let text = text.replace("EVIL", env.path().join("evil").to_str().unwrap());
        text.replace("MARK", outside.mark().to_str().unwrap())
    };
    let result = env.run(&told(command));
    _ = fs::remove_file(outside.mark());
    let mut shell = Command::new("bash");
    shell.args(["-c", &told(person)]).current_dir(env.path().join(directory)).env_clear();
    shell
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", outside.home.path())
        .env("GIT_EDITOR", "true");
    shell.stdin(std::process::Stdio::null()).output().unwrap();
    (outside.mark().exists(), result, env)
}

/// Under the sandbox nothing runs, and the result says that this path was taken out; without a sandbox it runs.
pub(super) fn assert_taken_out(prepare: &str, command: &str, directory: &str, person: &str, path: &str) {
    assert_works_where_it_may(command, || {
        let (runs, result, _) = left(json!("off"), prepare, command, directory, person);
        (runs, result)
    });
    let tier = json!(REQUIRED);
    let (runs, result, _) = left(tier, prepare, command, directory, person);
    assert!(!runs, "{command}: what it planted runs: {result}");
    let planted = result["planted"].as_array().into_iter().flatten();
    assert!(planted.map(|planted| &planted["path"]).any(|told| told == path), "{command}: {result}");
}

#[test]
fn settings_that_git_rejects_stay_as_they_are() {
    let prepare = made("r") + "; printf '[core]\\n\\tfoo bar\\n' >> r/.git/config";
    let person = "tail -n 1 .git/config | grep -q 'foo bar' && touch MARK";
    let (is_there, result, _) = left(json!(REQUIRED), &prepare, "true", "r", person);
    let planted = result["planted"].to_string();
    assert!(
        is_there && planted.contains("git rejects this file") && !planted.contains("renamed"),
        "{result}"
    );
}

#[test]
fn what_settings_with_a_mistake_name_is_protected() {
    let prepare = made("r")
        + "; mkdir r/hooks; printf '#!/bin/sh\n' > r/hooks/pre-commit; chmod +x r/hooks/pre-commit; \
                               printf '[user\n[core]\nhooksPath = hooks\n' >> r/.git/config";
    let command = "echo 'touch MARK' >> r/hooks/pre-commit";
    let person = "sed -i '/^.user$/d' .git/config; git commit -q --allow-empty -m m";
    let (runs, result, _) = left(json!("off"), &prepare, command, "r", person);
    assert!(runs, "{result}");
    let (runs, result, _) = left(json!(REQUIRED), &prepare, command, "r", person);
    assert!(!runs, "{result}");
}

#[test]
fn settings_that_a_command_removes_are_reported() {
    let prepare = made("r") + "; git -C r config http.sslVerify true; git -C r config user.email a@b";
    let (_, result, _) =
        left(json!(REQUIRED), &prepare, "git -C r config --unset http.sslVerify", "r", "true");
    // Mounts keep it.
    assert_eq!(result["exit_code"] != 0, is_full(), "{result}");
    if is_full() {
        return;
    }
    let planted = &result["planted"][0];
    assert_eq!(
        (&planted["path"], &planted["setting"]),
        (&json!("r/.git/config"), &json!("http.sslverify=true"))
    );
    assert_eq!(result["planted"].as_array().map(Vec::len), Some(1), "{result}");
}

#[test]
fn hooks_of_a_new_work_tree_run_only_if_they_are_copies_of_trusted_ones() {
    let prepare = made("r")
        + "; cd r; git config core.hooksPath .githooks; mkdir .githooks; printf '#!/bin/sh\\n' > .githooks/post-commit; \
           chmod +x .githooks/post-commit; git add .githooks; git commit -qm hooks";
    let commit = "git commit -q --allow-empty -m x";
    for (command, path) in [
        ("git -C r worktree add -q ../wt; cp EVIL wt/.githooks/pre-commit", "wt/.githooks/pre-commit"),
        ("git -C r worktree add -q ../wt; cp EVIL wt/.githooks/post-commit", "wt/.githooks/post-commit"),
        (
            "git -C r worktree add -q ../wt; mkdir h; cp EVIL h/pre-commit; rm -r wt/.githooks; ln -s ../h wt/.githooks",
            "wt/.githooks",
        ),
        (
            "mkdir -p wt/.githooks; ln -s ../r/.git wt/.git; cp EVIL wt/.githooks/pre-commit",
            "wt/.githooks/pre-commit",
        ),
        (
            "cp EVIL r/.githooks/pre-commit 2>/dev/null; git -C r worktree add -q ../r/wt; cp EVIL r/wt/.githooks/pre-commit",
            "r/wt/.githooks/pre-commit",
        ),
    ] {
        let directory =
            path.strip_suffix("/.githooks").or_else(|| path.split_once("/.githooks").map(|(tree, _)| tree));
        assert_taken_out(&prepare, command, directory.unwrap(), commit, path);
    }
    let prepare_by_proc = format!("{}; git -C r config core.hooksPath /proc/self/cwd/.githooks", made("r"));
    let command = "mkdir r/.githooks; cp EVIL r/.githooks/pre-commit";
    assert_taken_out(&prepare_by_proc, command, "r", commit, "r/.githooks/pre-commit");
    let tier = json!(REQUIRED);
    // Copies stay, and so does what no settings name.
    let command =
        "git -C r worktree add -q ../wt; git init -q n; mkdir n/.githooks; touch n/.githooks/pre-commit";
    let (_, result, env) = left(tier, &prepare, command, "wt", commit);
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
    assert!(env.path().join("wt/.githooks/post-commit").exists());
}

#[test]
fn hooks_that_the_persons_own_settings_name_run_in_no_new_repository() {
    let outside = Outside::new();
    let settings = "[user]\n\tname = P\n\temail = p@x\n[core]\n\thooksPath = .githooks\n";
    fs::write(outside.home.path().join(".gitconfig"), settings).unwrap();
    for mode in ["off", REQUIRED] {
        let env = Env::with("off");
        program(&env, &outside);
        let command =
            "git init -q n; mkdir n/.githooks; cp evil n/.githooks/pre-commit; touch n/.githooks/other";
        let mut call = Command::new(PROGRAM);
        call.args([
            "call",
            "shell_exec",
            &json!({"command": command}).to_string(),
            "--settings",
            "none",
            "--allow",
            "Bash",
        ]);
        let tier = if mode == REQUIRED { required() } else { mode.to_owned() };
        call.args(["--sandbox", &tier, "--workspace"]).arg(env.path()).env("HOME", outside.home.path());
        let output = call.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let runs = outside.runs(&env.path().join("n"), &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(runs, mode == "off", "{told}");
        assert_eq!(told.contains("n/.githooks/pre-commit"), mode == REQUIRED, "{told}");
        assert!(env.path().join("n/.githooks/other").exists());
    }
}

/// An index of version 2, or of version 4, with these paths; each is the same program.
fn index(version: u32, id: &str, paths: &[&str]) -> Vec<u8> {
    let id: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect();
    let mut text = b"DIRC".to_vec();
    text.extend(version.to_be_bytes());
    text.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
    let mut before = 0;
    for path in paths {
        let start = text.len();
        text.extend([0; 24]);
        text.extend(0o100_755_u32.to_be_bytes());
        text.extend([0; 12]);
        text.extend(&id);
        text.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        if version == 4 {
            text.push(before);
        }
        text.extend(path.as_bytes());
        let end = if version == 4 { text.len() + 1 } else { start + (text.len() - start + 8) / 8 * 8 };
        text.resize(end, 0);
        before = u8::try_from(path.len()).unwrap();
    }
    // Git does not compare a checksum of zeros.
    text.extend([0; 20]);
    text
}

/// Puts an index with these paths into the workspace when a repository is there.
fn with_index(env: &Env, version: u32, paths: &[&str]) {
    let mut git = Command::new("git");
    git.args(["hash-object", "evil"]).current_dir(env.path());
    let id = git.output().unwrap().stdout;
    fs::write(env.path().join("idx"), index(version, std::str::from_utf8(&id).unwrap(), paths)).unwrap();
}

/// What the person restores after a command has put an index in place; whether a planted program runs by that.
fn restored(sandbox: Value, version: u32, command: &str, directory: &str, at: &str) -> (bool, Value) {
    let outside = Outside::new();
    let env = Env::with("off");
    program(&env, &outside);
    env.run(&format!("{}; git -C r hash-object -w ../evil", made("r")));
    with_index(&env, version, &[at, "f"]);
    let env = env.now_under(sandbox);
    let result = env.run(command);
    let directory: &Path = &env.path().join(directory);
    outside.runs(directory, &["restore", "."]);
    outside.runs(directory, &["checkout", "--", "."]);
    (outside.runs(directory, &["commit", "-q", "--allow-empty", "-m", "x"]), result)
}

#[test]
fn an_index_writes_no_file_of_git_and_none_outside() {
    let hook = ".git/hooks/pre-commit";
    for (version, command, directory, at, path) in [
        (2, "cp idx r/.git/index", "r", hook, "r/.git/index"),
        (4, "cp idx r/.git/index", "r", hook, "r/.git/index"),
        (2, "cat idx > r/.git/index", "r", hook, "r/.git/index"),
        (2, "cp -r r n; cp idx n/.git/index", "n", hook, "n/.git/index"),
        (2, "cp -r r n; cp idx n/.git/index", "n", "../r/../n/.git/hooks/pre-commit", "n/.git/index"),
        (2, "ln -sf ../../idx r/.git/index", "r", hook, "r/.git/index"),
        (
            2,
            "git -C r worktree add -q ../wt; cp idx r/.git/worktrees/wt/index",
            "wt",
            "../r/.git/hooks/pre-commit",
            "r/.git/worktrees/wt/index",
        ),
    ] {
        assert_works_where_it_may(command, || restored(json!("off"), version, command, directory, at));
        let tier = json!(REQUIRED);
        let (runs, result) = restored(tier, version, command, directory, at);
        assert!(!runs, "{command}: what it planted runs: {result}");
        let planted = &result["planted"].to_string();
        assert!(planted.contains(path), "{command}: {result}");
    }
}

#[test]
fn an_index_that_is_split_is_looked_at_in_both_files() {
    let command = "cp idx r/.git/index; cd r; git update-index --split-index; ls .git/sharedindex.*";
    let (runs, result) = restored(json!("off"), 2, command, "r", ".git/hooks/pre-commit");
    assert!(runs && result["exit_code"] == 0, "{result}");
    let (runs, result) = restored(json!(REQUIRED), 2, command, "r", ".git/hooks/pre-commit");
    assert!(!runs && result["planted"].to_string().contains("sharedindex."), "{result}");
}

#[test]
fn indexes_that_git_makes_stay_in_every_version_and_format() {
    let tier = json!(REQUIRED);
    let env = Env::with("off");
    env.run(&made("r"));
    let env = env.now_under(tier);
    for command in [
        "cd r; mkdir -p a/b; for i in $(seq 300); do echo $i > a/b/file$i; done; git add -A; git update-index --index-version 4",
        "cd r; git update-index --split-index; echo x > a/b/file3; git rm -q --cached a/b/file4; git add a/b/file3",
        "cd r; git update-index --no-split-index; git update-index --index-version 2; echo n > n; git add -N n",
        "cd r; git commit -qam all; git sparse-checkout init --cone --sparse-index; git status",
        "git init -q --object-format=sha256 s; cd s; touch a b 'c d'; git add -A; git worktree add -q --orphan ../ws; touch ../ws/x; git -C ../ws add x",
        // Blocks for several threads.
        "git init -q big; cd big; id=$(git hash-object -w --stdin < /dev/null); \
         seq 25000 | sed \"s/.*/100644 $id 0\\tdir\\/file&/\" | git -c index.version=4 update-index --index-info; \
         git update-index --index-version 4; git -c index.threads=4 update-index --force-write-index; grep -c IEOT .git/index",
    ] {
        let result = env.run(command);
        assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{command}: {result}");
    }
}

/// A rebase that has stopped, with work of its own on both sides.
const STOPPED: &str = "; cd r; git checkout -q -b side; echo s > s; git add s; git commit -qm s; git checkout -q main; \
    echo m > m; git add m; git commit -qm m; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --onto main side~1 side; \
    cd ..; test -d r/.git/rebase-merge";
/// An option of a strategy that its script evaluates.
const EVALUATED: &str = "a};touch${IFS}MARK;echo${IFS}${z";

#[test]
fn a_strategy_that_is_a_script_is_not_started_by_what_a_command_left() {
    let options = format!("cat > strategy_opts <<'Q'\n '--' '--h' '--{EVALUATED}'\nQ\n");
    let command = format!("cd r/.git/rebase-merge; {options}echo octopus > strategy");
    let person = "git rebase --continue";
    assert_taken_out(&(made("r") + STOPPED), &command, "r", person, "r/.git/rebase-merge/strategy");
    // The strategy is the person's own, its options are not.
    let own = made("r") + STOPPED + "; echo octopus > r/.git/rebase-merge/strategy";
    assert_taken_out(
        &own,
        &format!("cd r/.git/rebase-merge; {options}"),
        "r",
        person,
        "r/.git/rebase-merge/strategy_opts",
    );
    let picks = format!(
        "cd r; mkdir .git/sequencer; git rev-parse HEAD > .git/sequencer/head; cp .git/sequencer/head .git/sequencer/abort-safety; \
         (echo pick $(git rev-parse side) s; echo pick $(git rev-parse side) s) > .git/sequencer/todo; cat > .git/sequencer/opts <<'Q'\n\
         [options]\nstrategy = octopus\nallow-ff = false\nstrategy-option = \"\"\nstrategy-option = h\nstrategy-option = \"{EVALUATED}\"\nQ\n"
    );
    let prepare = made("r") + STOPPED + "; cd r; git rebase --quit; git checkout -q main";
    assert_taken_out(&prepare, &picks, "r", "git cherry-pick --continue", "r/.git/sequencer/opts");
    let tier = json!(REQUIRED);
    let command = "cd r/.git/rebase-merge; echo ort > strategy; echo \" '--ours'\" > strategy_opts; true";
    let (_, result, _) = left(tier.clone(), &(made("r") + STOPPED), command, "r", person);
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
    let (_, result, _) = left(tier, &own, "echo x > r/y", "r", "true");
    assert!(result.get("planted").is_none(), "{result}");
}

#[test]
fn merge_options_of_a_new_repository_pass_nothing_to_a_script() {
    let merged = format!(
        "{}; cd r; git checkout -q -b o; echo o > f; git commit -qam o; git checkout -q main; echo m > f; git commit -qam m",
        made("r")
    );
    let evaluated = EVALUATED.replace('$', "\\$");
    for options in [
        "-s octopus -X '' -X h -X",
        "--strategy=octopus --strategy-option= --strategy-option=h --strategy-option",
    ] {
        let command = format!("{merged}; git config branch.main.mergeOptions \"{options} '{evaluated}'\"");
        assert_taken_out("true", &command, "r", "git merge o", "r/.git/config");
    }
}

/// Git's script for prompts, if it is installed.
pub(super) fn prompt_script() -> Option<&'static str> {
    let scripts = ["/usr/lib/git-core/git-sh-prompt", "/usr/share/git-core/contrib/completion/git-prompt.sh"];
    scripts.into_iter().find(|script| Path::new(script).exists())
}

#[test]
fn numbers_that_the_prompt_evaluates_are_numbers() {
    let Some(script) = prompt_script() else { return };
    let person = format!(". {script}; __git_ps1 a b; echo \"${{PS1@P}}\"");
    for (state, files) in [("rebase-merge", ["msgnum", "end"]), ("rebase-apply", ["next", "last"])] {
        for file in files {
            let [first, last] = files;
            let command = format!(
                "mkdir r/.git/{state}; cd r/.git/{state}; echo refs/heads/x > head-name; echo 1 > {first}; echo 3 > {last}; \
                 echo '$(EVIL)' > {file}"
            );
            assert_taken_out(&made("r"), &command, "r", &person, &format!("r/.git/{state}/{file}"));
        }
    }
    let (_, result, _) =
        left(json!(REQUIRED), &(made("r") + STOPPED), "cat r/.git/rebase-merge/msgnum", "r", "true");
    assert!(result.get("planted").is_none(), "{result}");
}

#[test]
fn a_new_repository_has_no_work_tree_outside() {
    let env = Env::with("off");
    let elsewhere = tempfile::TempDir::new_in("/var/tmp").unwrap();
    let env = env.now_under(json!(REQUIRED));
    let result = env.run(&format!(
        "git init -q n; git -C n config core.worktree {}; git init -q m; mkdir t; git config -f m/.git/config core.worktree ../../t",
        elsewhere.path().display()
    ));
    let planted = result["planted"].as_array().unwrap();
    assert!(
        planted.len() == 1 && planted[0]["setting"].as_str().unwrap().starts_with("core.worktree="),
        "{result}"
    );
    let config = |name: &str| fs::read_to_string(env.path().join(name).join(".git/config")).unwrap();
    assert!(!config("n").contains("worktree") && config("m").contains("worktree"));
}

#[test]
fn nothing_writes_where_commands_cannot() {
    // What the person has: hooks and settings in the work tree, and files under a rule.
    let env = Env::with("off");
    env.run(&format!(
        "{}; cd r; mkdir hk cfg prod; printf '[user]\\n name = x\\n' > cfg/inc; echo x > prod/f; git config core.hooksPath hk; \
         git config include.path ../cfg/inc",
        made("r")
    ));
    let tree = env.path().join("r");
    // Under such a rule, commands create nothing beside the place in the tier without mounts.
    let denied = if is_full() { vec!["Edit(r/prod/**)"] } else { vec![] };
    let permissions = json!({"default": "allow", "deny": denied});
    let host = crate::common::host(env.path(), permissions, json!(REQUIRED));
    let run = |command: &str| {
        let call = json!({"tool": "shell_exec", "args": {"command": command}});
        match host.call(serde_json::from_value(call).unwrap(), CallOptions::default()) {
            CallOutcome::Ok(result, _) => result["planted"].to_string(),
            other => panic!("{command}: {other:?}"),
        }
    };
    // A new repository in one of these places, and one above.
    let of_rule = |place: &&str| is_full() || !place.contains("prod");
    for place in ["hk", "cfg", "prod"].into_iter().filter(of_rule) {
        let named = tree.join(place);
        let planted =
            run(&format!("git init -q n-{place}; git -C n-{place} config core.worktree {}", named.display()));
        assert!(planted.contains("core.worktree=") && planted.contains("removed"), "{place}: {planted}");
    }
    for entry in ["r/hk/pre-commit", "r/cfg/inc", "r/prod/f"].into_iter().filter(of_rule) {
        let planted = run(&format!(
            "git init -q .; git update-index --add --cacheinfo 100755,$(echo evil | git hash-object -w --stdin),{entry}; \
             test -e .git/index && echo yes"
        ));
        assert!(planted.contains(&format!("an index with the path {entry}")), "{planted}");
        fs::remove_dir_all(env.path().join(".git")).unwrap();
    }
    // The person's own repository.
    for entry in ["hk/pre-commit", "cfg/inc"] {
        let planted = run(&format!(
            "cd r; cp .git/index ../own; git update-index --add --cacheinfo 100755,$(echo evil | git hash-object -w --stdin),{entry}"
        ));
        assert!(planted.contains(&format!("an index with the path {entry}")), "{planted}");
        fs::rename(env.path().join("own"), tree.join(".git/index")).unwrap();
    }
    // An index stays if its entries are the same as the files: git would write nothing.
    fs::write(tree.join("hk/pre-commit"), "true\n").unwrap();
    let planted =
        run("git -C r add -A && git -C r -c core.hooksPath=/x commit -qm all; git init -q .; git add -f r/f");
    assert_eq!(planted, "null");
    assert_eq!(run("rm -rf .git; git init -q copy; cp -r r/hk r/cfg copy; git -C copy add -A"), "null");
}

#[test]
fn no_other_work_tree_and_no_recorded_conflict_writes_where_commands_cannot() {
    let own = made("r")
        + "; cd r; mkdir hk cfg; printf '#!/bin/sh\n:\n' > hk/pre-commit; chmod +x hk/pre-commit; \
           printf '[user]\n name = x\n' > cfg/inc; printf 'hk\ncfg\n' > .git/info/exclude; git config core.hooksPath hk; \
           git config include.path ../cfg/inc";
    let hook = "h=$(git -C r hash-object -w --stdin < EVIL); ";
    let new = "git init -q n; h=$(git -C n hash-object -w --stdin < EVIL); \
               git -C n update-index --add --cacheinfo 100755,$h,r/hk/pre-commit; ";
    let resolved = |git: &str, file: &str, text: &str| {
        let resolution = format!("{git}/rr-cache/{}", "a".repeat(40));
        format!(
            "mkdir -p {resolution}; cp r/{file} {resolution}/preimage; {text} > {resolution}/postimage; \
             printf '{}.-1\\t{}{file}\\0' > {git}/MERGE_RR",
            "a".repeat(40),
            if git == ".git" { "r/" } else { "" }
        )
    };
    let settings = "printf '[core]\\nfsmonitor = \"EVIL;false\"\\n'";
    let checkout = "git checkout -f -- .; git -C r commit --allow-empty -m x";
    let commit =
        "git commit --allow-empty -m x; test -d r && cd r; git commit --allow-empty -m y; git status";
    for (command, directory, person, path) in [
        // The same index, with another work tree.
        (format!("{new} echo 'gitdir: n/.git' > .git"), "", checkout, "n/.git/index"),
        (format!("{new} ln -s n/.git .git"), "", checkout, "n/.git/index"),
        (
            format!("{new} mkdir m; echo \"gitdir: $PWD/n/.git\" > m/.git; ln -s m/.git .git"),
            "",
            checkout,
            "n/.git/index",
        ),
        (
            format!("{new} mkdir m; mv n/.git m/.git; echo 'gitdir: m/.git' > .git"),
            "",
            checkout,
            "m/.git/index",
        ),
        (
            format!(
                "{hook} git -C r update-index --add --cacheinfo 100755,$h,r/hk/pre-commit; echo 'gitdir: r/.git' > .git"
            ),
            "",
            checkout,
            "r/.git/index",
        ),
        // A link in place of the directory around such a file.
        (
            format!(
                "cd r; mkdir ev; {settings} > ev/inc; \
                 git update-index --add --cacheinfo 120000,$(printf ev | git hash-object -w --stdin),cfg"
            ),
            "r",
            "git checkout -f -- .; git status",
            "r/.git/index",
        ),
        (
            "git init -q .; cp -r r ev; rm ev/hk/*; cp EVIL ev/hk/pre-commit; \
             git update-index --add --cacheinfo 120000,$(printf ev | git hash-object -w --stdin),r"
                .to_owned(),
            "",
            checkout,
            ".git/index",
        ),
        // A conflict that is made again.
        (
            format!(
                "{hook} cd r; python3 -c \"{resolved}\" \"$(git hash-object ../evil)\"",
                resolved = "import sys, hashlib; t = open('.git/index', 'rb').read()[:-20]; i = bytes.fromhex(sys.argv[1]) * 3; \
                            b = b'cfg/inc' + b'\\x00100755' * 3 + b'\\0' + i; t += b'REUC' + len(b).to_bytes(4, 'big') + b; \
                            open('.git/index', 'wb').write(t + hashlib.sha1(t).digest())"
            ),
            "r",
            "git checkout -m -- .; grep -q touch cfg/inc && touch MARK",
            "r/.git/index",
        ),
        // What `git rerere` writes.
        (resolved("r/.git", "hk/pre-commit", "cat EVIL"), "r", commit, "r/.git/MERGE_RR"),
        (resolved("r/.git", "cfg/inc", settings), "r", commit, "r/.git/MERGE_RR"),
        (
            made("n") + "; mv n/.git n/f .; " + &resolved(".git", "hk/pre-commit", "cat EVIL"),
            "",
            commit,
            ".git/MERGE_RR",
        ),
    ] {
        assert_taken_out(&own, &command, directory, person, path);
    }
}

#[test]
fn a_separate_directory_and_a_conflict_of_the_person_stay() {
    let prepare = made("r")
        + "; mkdir r/hk; echo true > r/hk/pre-commit; git -C r add -f hk; git -C r commit -qm hooks; \
           git -C r config core.hooksPath hk; git -C r config rerere.enabled true; git init -q --separate-git-dir=separate r; \
           echo false > r/hk/pre-commit; printf '%s\\thk/pre-commit\\0' $(printf 'a%.0s' {1..40}) > separate/MERGE_RR";
    let (_, result, env) =
        left(json!(REQUIRED), &prepare, "cd r; echo y > f; git add f; git status --short", "r", "true");
    assert!(result.get("planted").is_none(), "{result}");
    assert!(env.path().join("separate/MERGE_RR").exists());
}

#[test]
fn remotes_of_the_old_form_run_nothing() {
    let person = "git -c protocol.ext.allow=always fetch old";
    for (command, path) in [
        ("mkdir r/.git/remotes; echo 'URL: ext::EVIL' > r/.git/remotes/old", "r/.git/remotes/old"),
        ("mkdir -p r/.git/branches; echo 'ext::EVIL' > r/.git/branches/old", "r/.git/branches/old"),
        ("mkdir h; echo 'URL: ext::EVIL' > h/old; ln -s ../../h r/.git/remotes", "r/.git/remotes"),
    ] {
        assert_taken_out(&made("r"), command, "r", person, path);
    }
    let own = made("r") + "; mkdir r/.git/remotes; echo 'URL: ext::mine' > r/.git/remotes/own";
    let (_, result, _) = left(
        json!(REQUIRED),
        &own,
        "echo 'URL: https://h/context::x' > r/.git/remotes/new; mkdir -p b/objects b/refs b/remotes; echo ext::x > b/remotes/x; echo x > b/index",
        "r",
        "true",
    );
    assert!(result.get("planted").is_none(), "{result}");
}
