//! What sandboxed commands leave for the person's own git. Each attempt is shown to work first: planted without a sandbox,
//! the program runs when git is used outside; planted under one, it does not, and the result says what was taken out.

mod around;
mod denied;
mod ended;
mod inside;
mod leftovers;
mod links;
mod meanwhile;
mod obstacles;
mod ordinary;
mod state;
mod through;

use crate::common::{Env, InSession};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const REQUIRED: &str = "required";

/// A home in which git is set up as for somebody who has set nothing, and the file by which a planted program shows that
/// it ran outside.
struct Outside {
    home: TempDir,
}

impl Outside {
    fn new() -> Self {
        let home = TempDir::new_in("/var/tmp").unwrap();
        // Two processes less for each commit.
        let settings = "[user]\n\tname = P\n\temail = p@x\n[maintenance]\n\tauto = false\n";
        fs::write(home.path().join(".gitconfig"), settings).unwrap();
        Self { home }
    }

    fn mark(&self) -> PathBuf {
        self.home.path().join("ran")
    }

    /// What the person does in a directory; whether a planted program ran by that.
    fn runs(&self, directory: &Path, words: &[&str]) -> bool {
        _ = fs::remove_file(self.mark());
        let mut git = Command::new("git");
        git.args(words).current_dir(directory).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        git.envs([("HOME", self.home.path().as_os_str()), ("GIT_PAGER_IN_USE", "1".as_ref())]);
        git.env("GIT_EDITOR", "true").env("TERM", "dumb");
        git.stdin(std::process::Stdio::null());
        git.output().unwrap();
        self.mark().exists()
    }

    /// Everything that people do there.
    fn any_runs(&self, directory: &Path) -> bool {
        let all: [&[&str]; 10] = [
            &["status"],
            &["diff"],
            &["log", "-p"],
            // Starts the pager without a terminal.
            &["grep", "-O", "-e", "."],
            &["fetch", "--all"],
            &["st"],
            &["add", "-A"],
            &["commit", "--allow-empty", "-am", "x"],
            &["rebase", "--continue"],
            &["checkout", "-q", "-f", "HEAD"],
        ];
        // A change, so that there is a difference to be shown and something to be filtered.
        _ = fs::write(directory.join("f"), format!("{:?}\n", std::time::Instant::now()));
        all.iter().any(|words| self.runs(directory, words))
    }
}

/// A program that leaves the mark, in the workspace.
fn program(env: &Env, outside: &Outside) {
    use std::os::unix::fs::PermissionsExt;
    let path = env.path().join("evil");
    fs::write(&path, format!("#!/bin/sh\ntouch {}\n", outside.mark().display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What comes of a command: whether a planted program runs when git is used in a directory, and the result.
fn planted(sandbox: &str, prepare: &str, command: &str, directory: &str) -> (bool, Value) {
    let outside = Outside::new();
    let env = Env::with("off");
    program(&env, &outside);
    if !prepare.is_empty() {
        assert_eq!(env.run(prepare)["exit_code"], 0, "{prepare}");
    }
    let env = env.now_under(json!(sandbox));
    let evil = env.path().join("evil");
    let command = command.replace("EVIL", evil.to_str().unwrap());
    let result = env.run(&command);
    (outside.any_runs(&env.path().join(directory)), result)
}

/// The control of an attempt: without a sandbox, what it plants runs. That is the same whatever tier is tried, so it is
/// made with the full one.
fn assert_works_where_it_may(attempt: &str, planted: impl FnOnce() -> (bool, Value)) {
    if crate::common::is_full() {
        let (runs, result) = planted();
        assert!(runs, "{attempt} plants nothing even where it may: {result}");
    }
}

fn assert_taken_out(prepare: &str, command: &str, directory: &str, setting: &str) {
    assert_works_where_it_may(command, || planted("off", prepare, command, directory));
    let (runs, result) = planted(REQUIRED, prepare, command, directory);
    assert!(!runs, "{command}: what it planted runs: {result}");
    let told = result["planted"].to_string();
    assert!(told.contains(setting), "{command}: {result}");
}

#[test]
fn settings_of_a_new_repository_run_nothing() {
    for (setting, value) in [
        ("core.fsmonitor", "EVIL"),
        ("core.pager", "EVIL"),
        ("diff.external", "EVIL"),
        ("alias.st", "!EVIL"),
        ("core.hooksPath", "../hooks"),
        ("include.path", "../../more"),
        ("includeIf.gitdir:**.path", "../../more"),
    ] {
        let command = format!(
            "{}; mkdir hooks; cp EVIL hooks/pre-commit; git config -f more core.fsmonitor EVIL; \
             git -C r config '{setting}' '{value}'",
            made("r")
        );
        let key = setting.split('.').next().unwrap().to_lowercase();
        assert_taken_out("", &command, "r", &key);
    }
}

/// Makes a repository with a commit.
fn made(directory: &str) -> String {
    format!(
        "git init -q -b main {directory} && cd {directory} && \
         printf '[user]\\n\\tname = N\\n\\temail = e@x\\n' >> .git/config && \
         echo x > f && git add f && git -c maintenance.auto=false commit -qm first && cd .."
    )
}

#[test]
fn drivers_that_attributes_choose_run_nothing() {
    for (attribute, setting) in [
        ("filter=e", "filter.e.clean"),
        ("filter=e", "filter.e.process"),
        ("diff=e", "diff.e.textconv"),
        ("diff=e", "diff.e.command"),
    ] {
        let make = made("r");
        let command =
            format!("{make}; echo 'f {attribute}' > r/.gitattributes; git -C r config {setting} EVIL");
        assert_taken_out("", &command, "r", setting);
        // The attributes may be told in the repository, too.
        let command =
            format!("{make}; echo 'f {attribute}' > r/.git/info/attributes; git -C r config {setting} EVIL");
        assert_taken_out("", &command, "r", setting);
    }
}

#[test]
fn remotes_of_a_new_repository_run_nothing() {
    let make = made("r");
    for setting in ["core.sshCommand EVIL", "remote.origin.uploadpack EVIL"] {
        let url = if setting.starts_with("core") { "ssh://h/x" } else { "./" };
        let command = format!("{make}; git -C r remote add origin {url}; git -C r config {setting}");
        assert_taken_out("", &command, "r", setting.split(' ').next().unwrap().to_lowercase().as_str());
    }
    let command =
        format!("{make}; git -C r remote add origin 'ext::EVIL'; git -C r config protocol.ext.allow always");
    assert_taken_out("", &command, "r", "ext::");
}

#[test]
fn repositories_in_every_disguise_run_nothing() {
    let make = made("r");
    let evil = "git config -f C core.fsmonitor EVIL";
    for (command, directory) in [
        // A bare repository, feigned by what it has to have.
        (
            "mkdir -p b/objects b/refs; echo 'ref: refs/heads/main' > b/HEAD; \
             git config -f b/config core.repositoryformatversion 0; git config -f b/config core.worktree . ; git config -f b/config core.bare false; \
             git config -f b/config core.fsmonitor EVIL"
                .to_owned(),
            "b",
        ),
        // One that takes its settings from elsewhere.
        (
            "mkdir -p b store/objects store/refs; echo 'ref: refs/heads/main' > b/HEAD; echo ../store > b/commondir; \
             git config -f store/config alias.st '!EVIL'"
                .to_owned(),
            "b",
        ),
        // A .git that is a file, or a link.
        (
            format!(
                "{make}; mv r/.git deep; echo 'gitdir: ../deep' > r/.git; {}",
                evil.replace('C', "deep/config")
            ),
            "r",
        ),
        (format!("{make}; mv r/.git deep; ln -s ../deep r/.git; {}", evil.replace('C', "deep/config")), "r"),
        (
            format!(
                "{make}; mkdir -p r/.git/x; mv r/.git y; mkdir -p r; ln -s ../y r/.git; {}",
                evil.replace('C', "y/config")
            ),
            "r",
        ),
        // Settings of a linked work tree, of a submodule, and of one work tree alone.
        (
            format!(
                "{make}; git -C r worktree add -q ../w 2>/dev/null; {}",
                evil.replace('C', "r/.git/config")
            ),
            "w",
        ),
        (
            format!(
                "{make}; git -C r config extensions.worktreeConfig true; {}",
                evil.replace('C', "r/.git/config.worktree")
            ),
            "r",
        ),
        (
            format!(
                "{make}; mkdir -p r/.git/modules; git init -q s; mv s/.git r/.git/modules/s; mv s r/s; \
                 echo 'gitdir: ../.git/modules/s' > r/s/.git; {}",
                evil.replace('C', "r/.git/modules/s/config")
            ),
            "r/s",
        ),
        // Settings that are a link.
        (
            format!(
                "{make}; mv r/.git/config real; ln -s ../../real r/.git/config; {}",
                evil.replace('C', "real")
            ),
            "r",
        ),
        // Letters of either case, and what a simple reader overlooks.
        (format!("{make}; printf '[CORE]FsMonitor=\\\\\\n%s' EVIL >> r/.git/config"), "r"),
    ] {
        let at = |sandbox: &str| {
            let outside = Outside::new();
            let env = Env::with(sandbox);
            program(&env, &outside);
            let here = env.path().to_str().unwrap();
            let result = env.run(&command.replace("EVIL", &format!("{here}/evil")).replace("{W}", here));
            (outside.any_runs(&env.path().join(directory)), result)
        };
        assert_works_where_it_may(&command, || at("off"));
        let (runs, result) = at(REQUIRED);
        assert!(!runs, "{command}: what it planted runs: {result}");
        assert!(result["planted"].is_array(), "{command}: {result}");
    }
}

#[test]
fn hooks_of_a_new_repository_do_not_run_unless_git_has_copied_them_from_its_templates() {
    let command =
        format!("{}; cp EVIL r/.git/hooks/post-commit; cp EVIL r/.git/hooks/post-index-change", made("r"));
    assert_taken_out("", &command, "r", ".git/hooks/post-commit");
    let env = Env::with(REQUIRED);
    let result = env.run("git init -q r");
    assert!(result.get("planted").is_none(), "{result}");
}

/// Work that a rebase has stopped in.
const STOPPED: &str = "; cd r; git commit -q --allow-empty -m second; \
                       GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1 >/dev/null 2>&1; cd ..";

#[test]
fn a_rebase_that_is_continued_runs_no_command_that_was_not_there() {
    let prepare = made("r") + STOPPED;
    for line in ["exec EVIL", "  x EVIL"] {
        let command = format!("echo '{line}' >> r/.git/rebase-merge/git-rebase-todo");
        assert_taken_out(&prepare, &command, "r", "git-rebase-todo");
    }
    // The whole rebase, in a repository that was there, and in one that is new.
    let rebase = format!("{STOPPED}; echo 'exec EVIL' >> r/.git/rebase-merge/git-rebase-todo");
    assert_taken_out(&made("r"), &format!("true {rebase}"), "r", "exec");
    assert_taken_out("", &(made("r") + &rebase), "r", "exec");
    let linked = "mkdir else; cp -r r/.git/rebase-merge else/m; rm -r r/.git/rebase-merge; \
                  echo 'exec EVIL' >> else/m/git-rebase-todo; ln -s ../../else/m r/.git/rebase-merge";
    assert_taken_out(&prepare, linked, "r", "rebase-merge");
}

#[test]
fn a_rebase_works_in_the_sandbox_with_commands_of_the_persons_own() {
    let env = Env::with("off");
    let prepare = made("r")
        + "; cd r; git commit -q --allow-empty -m second; \
           GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i -x 'touch own' HEAD~1; cd ..";
    env.run(&prepare);
    let todo = env.path().join("r/.git/rebase-merge/git-rebase-todo");
    let before = fs::read_to_string(&todo).unwrap();
    assert!(before.contains("exec touch own"), "{before}");
    let env = env.now_under(json!(REQUIRED));
    let result = env.run("true");
    assert!(result.get("planted").is_none() && fs::read_to_string(&todo).unwrap() == before, "{result}");
    let result = env.run("cd r && git rebase --continue && ls own && git rebase -x 'touch x' HEAD~1 && ls x");
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
}

#[test]
fn what_trusted_settings_include_and_where_their_hooks_lie_cannot_be_written() {
    let prepare = made("r")
        + "; git -C r config include.path ../../shared.conf; git config -f shared.conf a.b c; \
           git -C r config core.hooksPath .githooks; mkdir r/.githooks; echo '#!/bin/sh' > r/.githooks/pre-commit; \
           chmod +x r/.githooks/pre-commit";
    for command in [
        "git config -f shared.conf core.fsmonitor EVIL",
        "rm shared.conf; git config -f shared.conf core.fsmonitor EVIL",
        "cp EVIL r/.githooks/pre-commit",
        "cp EVIL r/.githooks/post-commit",
        "mv r/.githooks r/h; mkdir r/.githooks; cp EVIL r/.githooks/pre-commit",
    ] {
        assert_works_where_it_may(command, || planted("off", &prepare, command, "r"));
        let (runs, result) = planted(REQUIRED, &prepare, command, "r");
        assert!(!runs, "{command}: what it planted runs: {result}");
    }
}

#[test]
fn what_trusted_settings_name_and_is_not_there_yet_is_looked_at_when_it_is() {
    let prepare = made("r")
        + "; git -C r config include.path ../../shared.conf; git -C r config core.hooksPath .githooks";
    assert_taken_out(&prepare, "git config -f shared.conf core.fsmonitor EVIL", "r", "core.fsmonitor");
    assert_taken_out(&prepare, "mkdir r/.githooks; cp EVIL r/.githooks/pre-commit", "r", "pre-commit");
}

#[test]
fn a_link_that_stands_for_a_repository_leads_to_no_other_one() {
    let prepare = made("r") + "; mv r/.git real.git; ln -s ../real.git r/.git";
    let command = format!(
        "{}; mv o/.git other; git config -f other/config core.fsmonitor EVIL; ln -sfn ../other r/.git",
        made("o")
    );
    assert_taken_out(&prepare, &command, "r", "core.fsmonitor");
    let result = planted(REQUIRED, &prepare, "true", "r").1;
    assert!(result.get("planted").is_none(), "{result}");
}

#[test]
fn an_ordinary_clone_stays_as_it_is() {
    let env = Env::with(REQUIRED);
    let result = env.run(&format!(
        "{} && git clone -q --bare r bare.git && git clone -q bare.git clone && cd clone && \
         git config user.name N && git config user.email e@x && git config pull.rebase true && \
         git config core.autocrlf input && git config pager.log false && git checkout -qb topic && \
         git worktree add -q ../tree main && cat .git/config ../bare.git/config ../r/.git/config",
        made("r")
    ));
    assert_eq!((&result["exit_code"], result.get("planted")), (&json!(0), None), "{result}");
    let configs = ["clone/.git/config", "bare.git/config", "r/.git/config"];
    let now: String = configs.map(|file| fs::read_to_string(env.path().join(file)).unwrap()).concat();
    assert_eq!(result["stdout"], now.as_str());
    let result = env.run(
        "cd clone && git commit -q --allow-empty -m x && git -C ../tree status && git push -q origin topic",
    );
    assert_eq!(result["exit_code"], 0, "{result}");
}

#[test]
fn only_what_runs_programs_is_taken_out() {
    let env = Env::with(REQUIRED);
    let make = made("r");
    let result =
        env.run(&format!("{make}; git -C r remote add o 'https://h/a b#c'; git -C r config core.pager ./p"));
    let expected = json!([{"path": "r/.git/config", "setting": "core.pager=./p", "outcome": "removed; the original file is now config.planted"}]);
    assert_eq!(result["planted"], expected, "{result}");
    let config = |name| env.run(&format!("git -C r config {name}"))["stdout"].clone();
    assert_eq!(
        (config("remote.o.url"), config("user.name"), config("core.pager")),
        (json!("https://h/a b#c\n"), json!("N\n"), json!(""))
    );
}

#[test]
fn commands_in_the_background_and_those_that_are_killed_leave_nothing_either() {
    let env = Env::with(REQUIRED);
    let session = InSession::new(&env.host);
    let plant = |name: &str| format!("{}; git -C {name} config core.fsmonitor ./p", made(name));
    // Planted by a process that goes on when the shell has ended.
    let id = session.start(json!({"command": format!("(sleep 0.3; {}) & exit 0", plant("later"))}));
    let answer = session.ended(&id);
    assert!(answer["planted"].to_string().contains("later/.git/config"), "{answer}");
    let id = session.start(json!({"command": format!("{}; echo done; sleep 1000", plant("killed"))}));
    session.output_when(&id, |answer| answer["stdout"] == "done\n");
    let answer = session.ok("shell_kill", json!({"id": id}));
    assert!(answer["planted"].to_string().contains("killed/.git/config"), "{answer}");
    // A machine under load has not planted anything when the shorter time is over.
    let late = [2_000, 20_000, 200_000].into_iter().find_map(|timeout| {
        let name = format!("late{timeout}");
        let error =
            env.fails(json!({"command": format!("{}; sleep 1000", plant(&name)), "timeout": timeout}));
        let planted = error.details.get("planted")?.to_string();
        assert!(planted.contains(&format!("{name}/.git/config")), "{error:?}");
        Some(name)
    });
    for name in ["later", "killed", &late.unwrap()] {
        let config = fs::read_to_string(env.path().join(name).join(".git/config")).unwrap();
        assert!(!config.contains("fsmonitor") && config.contains("email"), "{name}: {config}");
    }
}

#[test]
fn nothing_outside_is_written_when_a_command_leaves_links_where_settings_are() {
    let env = Env::with("off");
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    let victim = elsewhere.path().join("config");
    let text = "[core]\n\tpager = mine\n[alias]\n\tst = status\n";
    fs::write(&victim, text).unwrap();
    let hooks = elsewhere.path().join("pre-commit");
    fs::write(&hooks, "mine").unwrap();
    let env = env.now_under(json!(REQUIRED));
    let result = env.run(&format!(
        "{}; rm r/.git/config; ln -s {} r/.git/config; rm -r r/.git/hooks; ln -s {} r/.git/hooks; mkfifo r/.git/config.worktree",
        made("r"),
        victim.display(),
        elsewhere.path().display()
    ));
    assert_eq!(result["planted"].as_array().unwrap().len(), 3, "{result}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), text);
    assert_eq!(fs::read_to_string(&hooks).unwrap(), "mine");
}
