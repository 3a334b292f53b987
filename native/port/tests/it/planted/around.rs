//! Repositories of which only a part lies in the workspace: it is a directory in one, or a work tree of one that lies
//! elsewhere.

use super::{Outside, assert_works_where_it_may};
use crate::common::{PROGRAM, required};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const COMMIT: &[&str] = &["commit", "-q", "--allow-empty", "-m", "x"];

/// A directory prepared by the person, with a workspace in it.
struct Prepared<'p> {
    script: &'p str,
    workspace: &'p str,
}

impl Prepared<'_> {
    /// What a command leaves: whether a program of it runs when the person uses git in a directory, and the result.
    fn left(&self, sandbox: &str, command: &str, directory: &str, words: &[&str]) -> (bool, Value) {
        self.left_where(None, sandbox, command, directory, words)
    }

    /// The same where commands may also write another directory.
    fn left_where(
        &self,
        writable: Option<&str>,
        sandbox: &str,
        command: &str,
        directory: &str,
        words: &[&str],
    ) -> (bool, Value) {
        let (outside, dir) = (Outside::new(), TempDir::new_in("/var/tmp").unwrap());
        let script = format!(
            "set -e; new() {{ git init -q -b main $1; git -C $1 commit -q --allow-empty -m x; }}; {}",
            self.script
        );
        person(&outside, dir.path(), &script);
        let hook = format!(
            "hook() {{ mkdir -p $1; printf '#!/bin/sh\\ntouch {0}\\n' > $1/$2; chmod +x $1/$2; }}; {1}",
            outside.mark().display(),
            command.replace("MARK", outside.mark().to_str().unwrap())
        );
        let mut port = Command::new(PROGRAM);
        port.args(["call", "--default", "allow", "--sandbox", sandbox, "--workspace"]);
        port.arg(dir.path().join(self.workspace)).env("HOME", outside.home.path());
        if let Some(writable) = writable {
            let settings = dir.path().join("settings.json");
            let writable = json!({"sandbox": {"mode": "required", "writable": [dir.path().join(writable)]}});
            std::fs::write(&settings, writable.to_string()).unwrap();
            port.arg("--settings").arg(settings);
        }
        let output = port.args(["shell_exec", &json!({"command": hook}).to_string()]).output().unwrap();
        let result = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        (outside.runs(&dir.path().join(directory), words), result)
    }

    fn assert_nothing_runs(&self, command: &str, directory: &str, words: &[&str]) {
        let attempt = format!("{}, {command}:", self.script);
        assert_works_where_it_may(&attempt, || self.left("off", command, directory, words));
        let (runs, result) = self.left(&required(), command, directory, words);
        assert!(!runs, "{}, {command}: what it planted runs: {result}", self.script);
    }
}

fn person(outside: &Outside, directory: &Path, script: &str) {
    let mut shell = Command::new("bash");
    shell
        .args(["-c", script])
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    let output = shell.env("HOME", outside.home.path()).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

#[test]
fn hooks_of_a_repository_around_the_workspace_stay() {
    let existing = "new m; mkdir -p m/web/.husky; printf '#!/bin/sh\\n' > m/web/.husky/pre-commit; \
                    chmod +x m/web/.husky/pre-commit; git -C m config core.hooksPath web/.husky";
    let absolute = "new m; mkdir m/web; git -C m config core.hooksPath $PWD/m/web/.husky";
    let relative = "new m; mkdir m/web; git -C m config core.hooksPath web/.husky";
    let global = "new m; mkdir m/web; git config --global core.hooksPath web/.husky";
    for script in [existing, absolute, relative, global] {
        Prepared { script, workspace: "m/web" }.assert_nothing_runs(
            "hook .husky pre-commit",
            "m/web",
            COMMIT,
        );
    }
    let script = "new m; mkdir m/web; touch m/web/c; git -C m config include.path ../web/c";
    let command = "printf '[alias]\\nst = !touch MARK\\n' > c; true";
    Prepared { script, workspace: "m/web" }.assert_nothing_runs(command, "m", &["st"]);
    let script =
        "new m; git clone -q --bare m b.git; git -C b.git config core.hooksPath w/hooks; mkdir b.git/w";
    let push = &["push", "-q", "../b.git", "HEAD:refs/heads/new"];
    Prepared { script, workspace: "b.git/w" }.assert_nothing_runs("hook hooks post-receive", "m", push);
}

#[test]
fn hooks_in_a_work_tree_of_a_repository_elsewhere_stay() {
    let linked = "new m; git -C m config core.hooksPath .husky; git -C m worktree add -q ../w";
    let existing = "new m; mkdir m/.husky; printf '#!/bin/sh\\n' > m/.husky/pre-commit; chmod +x m/.husky/pre-commit; \
                    git -C m add .; git -C m commit -qm y; git -C m config core.hooksPath .husky; git -C m worktree add -q ../w";
    let apart = "git init -q --separate-git-dir $PWD/g w; git -C w config core.hooksPath .husky";
    let module = "new s; new m; git -C m -c protocol.file.allow=always submodule -q add $PWD/s w; git -C m/w config core.hooksPath .husky; ln -s m/w w";
    for script in [linked, existing, apart, module] {
        Prepared { script, workspace: "w" }.assert_nothing_runs("hook .husky pre-commit", "w", COMMIT);
    }
    let script = "new m; mkdir w; git -C m config core.hooksPath .husky; git -C m worktree add -q ../w/t";
    Prepared { script, workspace: "w" }.assert_nothing_runs("hook t/.husky pre-commit", "w/t", COMMIT);
    let script = "new m; mkdir w; git -C m worktree add -q ../w/t; touch w/t/c; git -C m config include.path ../../w/t/c";
    let command = "printf '[alias]\\nst = !touch MARK\\n' > t/c; true";
    Prepared { script, workspace: "w" }.assert_nothing_runs(command, "w/t", &["st"]);
    // A command has made it a work tree.
    let script = "new m; mkdir w; git -C m config core.hooksPath .husky";
    let command = "mkdir x; echo \"gitdir: $(dirname $PWD)/m/.git\" > x/.git; hook x/.husky pre-commit";
    Prepared { script, workspace: "w" }.assert_nothing_runs(command, "w/x", COMMIT);
}

#[test]
fn settings_in_variables_are_the_person_s_own() {
    let numbered =
        [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", "hk")];
    let parameters = [("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='hk'")];
    let left = |variables: &[(&str, &str)], sandbox: &str| {
        let (outside, dir) = (Outside::new(), TempDir::new_in("/var/tmp").unwrap());
        person(&outside, dir.path(), "git init -q -b main");
        let mark = outside.mark();
        let hook = format!(
            "mkdir hk; printf '#!/bin/sh\\ntouch {}\\n' > hk/pre-commit; chmod +x hk/pre-commit",
            mark.display()
        );
        let mut port = Command::new(PROGRAM);
        port.args(["call", "--default", "allow", "--sandbox", sandbox, "--workspace"]).arg(dir.path());
        port.env("HOME", outside.home.path()).envs(variables.iter().copied());
        let output = port.args(["shell_exec", &json!({"command": hook}).to_string()]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        outside.runs(dir.path(), &[&["-c", "core.hooksPath=hk"], COMMIT].concat())
    };
    for variables in [&numbered[..], &parameters] {
        assert!(left(variables, "off") && !left(variables, &required()), "{variables:?}");
    }
}

#[test]
fn settings_in_the_directory_of_a_repository_elsewhere_count() {
    let module = "new s; new m; mkdir m/web; git -C m -c protocol.file.allow=always submodule -q add $PWD/s";
    for setting in ["core.hooksPath ../web/.husky", "core.hooksPath $PWD/m/web/.husky"] {
        let script = &format!("{module} s; git -C m/s config {setting}");
        Prepared { script, workspace: "m/web" }.assert_nothing_runs("hook .husky pre-commit", "m/s", COMMIT);
    }
    let script = &format!("{module} s; touch m/web/c; git -C m/s config include.path $PWD/m/web/c");
    let command = "printf '[alias]\\nst = !touch MARK\\n' > c; true";
    Prepared { script, workspace: "m/web" }.assert_nothing_runs(command, "m/s", &["st"]);
    // The person has emptied the submodule, and checks it out again.
    let script = &format!(
        "{module} web/s; git -C m commit -qm s; git -C m/web/s config core.hooksPath .husky; rm m/web/s/.git"
    );
    let update =
        &["-c", "alias.u=!git submodule update --init -f && git -C web/s commit -q --allow-empty -m x", "u"];
    Prepared { script, workspace: "m/web" }.assert_nothing_runs("hook s/.husky pre-commit", "m", update);
    let script = "new m; git -C m config extensions.worktreeConfig true; git -C m worktree add -q ../w; git -C m worktree add -q ../o; \
                  git -C o config --worktree core.hooksPath $PWD/w/hk";
    Prepared { script, workspace: "w" }.assert_nothing_runs("hook hk pre-commit", "o", COMMIT);
}

#[test]
fn nothing_leads_to_a_repository_elsewhere_that_leads_back() {
    let script = "mkdir w; new m; git -C m config core.hooksPath $PWD/w/hk";
    for lead in ["echo \"gitdir: $(dirname $PWD)/m/.git\" > p/.git", "ln -s $(dirname $PWD)/m/.git p/.git"] {
        let command = format!("hook hk pre-commit; mkdir p; {lead}");
        Prepared { script, workspace: "w" }.assert_nothing_runs(&command, "w/p", COMMIT);
    }
    let script = "mkdir w; new m; rm -r m/.git/hooks; ln -s ../../w/hk m/.git/hooks";
    let command = "hook hk pre-commit; mkdir p; echo \"gitdir: $(dirname $PWD)/m/.git\" > p/.git";
    Prepared { script, workspace: "w" }.assert_nothing_runs(command, "w/p", COMMIT);
}

#[test]
fn a_work_tree_that_was_there_and_leads_elsewhere_now_has_no_hooks_of_the_command() {
    let elsewhere = "new k; git -C k config core.hooksPath .husky; mkdir w; new w/q;";
    let turn = "echo \"gitdir: $(dirname $PWD)/k/.git\" > n/.git";
    let cases = [
        ("mkdir w/n; ln -s ../q/.git w/n/.git", format!("rm n/.git; {turn}")),
        ("mkdir w/n; ln -s nowhere w/n/.git", format!("rm n/.git; {turn}")),
        (
            "mkdir w/n; ln -s ../q w/lq; ln -s ../lq/.git w/n/.git",
            "rm lq; ln -s $(dirname $PWD)/k lq".to_owned(),
        ),
        (
            "mkdir w/n; ln -s q w/lq; echo 'gitdir: ../lq/.git' > w/n/.git",
            "rm lq; ln -s $(dirname $PWD)/k lq".to_owned(),
        ),
        ("git -C w/q worktree add -q ../n", turn.to_owned()),
        (
            "git -C w/q worktree add -q ../n",
            "echo $(dirname $PWD)/k/.git > q/.git/worktrees/n/commondir".to_owned(),
        ),
        ("new w/n", "echo $(dirname $PWD)/k/.git > n/.git/commondir".to_owned()),
        ("new w/n", "mv n/.git n/.old; ln -s $(dirname $PWD)/k/.git n/.git".to_owned()),
    ];
    for (before, turned) in cases {
        let script = &format!("{elsewhere} {before}");
        // Where a mount refuses the change, there is nothing to be cleaned.
        let command = format!("hook n/.husky pre-commit; {turned}; true");
        Prepared { script, workspace: "w" }.assert_nothing_runs(&command, "w/n", COMMIT);
    }
}

#[test]
fn hooks_are_found_wherever_git_runs_them() {
    let script = "mkdir -p w/o; new w/r; git -C w/r config core.worktree ../../o; git -C w/r config core.hooksPath .husky";
    Prepared { script, workspace: "w" }.assert_nothing_runs("hook o/.husky pre-commit", "w/r", COMMIT);
    let script = "mkdir w; new w/r; git -C w/r config core.hooksPath ../hk; git clone -q w/r c";
    let push = &["push", "-q", "origin", "HEAD:refs/heads/new"];
    Prepared { script, workspace: "w" }.assert_nothing_runs("hook r/hk post-receive", "c", push);
    let script = "new m; mkdir w; git config --global core.hooksPath $PWD/w/hooks";
    Prepared { script, workspace: "w" }.assert_nothing_runs("hook hooks pre-commit", "m", COMMIT);
}

#[test]
fn a_work_tree_of_a_repository_that_commands_may_write_stays() {
    let prepared =
        Prepared { script: "new m; git -C m worktree add -q ../w; git -C m branch b", workspace: "w" };
    let alias = &["-c", "alias.u=!git status && touch $HOME/ran", "u"];
    let command = "git worktree add -q x b && git commit -q --allow-empty -m y";
    let (works, result) = prepared.left_where(Some("m/.git"), &required(), command, "w/x", alias);
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
    assert!(works, "{result}");
}
