//! Paths that a policy makes read-only or hides, given as lists.

mod later;
mod lifted;
mod linked;

use beamai_base::CancelToken;
use beamai_engine::{CallOptions, CallOutcome, Host};
use beamai_isolation::{SandboxSettings, StartCoverage};
use beamai_policy::DeniedPaths;
use beamai_process::{
    CancelWaker, CommandReport, Launcher, OutputSink, OutputStream, ProgramSpec, RunEnd, RunOptions, Stdin,
    collect, set_program,
};
use beamai_sandbox::Confinement;
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What a command writes to its standard output.
#[derive(Default)]
struct Stdout(Vec<u8>);

impl OutputSink for Stdout {
    fn take(&mut self, source: OutputStream, bytes: &[u8]) {
        if let OutputStream::Stdout = source {
            self.0.extend(bytes);
        }
    }
}

/// Runs a command in a workspace and gives its output.
fn run(dir: &Path, command: &str, change: impl FnOnce(&mut Confinement)) -> String {
    set_program(crate::common::PROGRAM);
    let workspace = Workspace::open(dir).unwrap();
    let settings = crate::common::required().parse::<SandboxSettings>().unwrap();
    let confinement =
        Confinement::within(&workspace, &settings, &DeniedPaths::default(), &|| Ok(())).unwrap();
    let mut confinement = confinement.as_ref().clone();
    change(&mut confinement);
    let spec = ProgramSpec {
        program: "/bin/bash".into(),
        by_path: false,
        arguments: vec!["-c".into(), command.into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: workspace.top().open_dir().unwrap(),
        stdin: Stdin::Empty,
        lingers: false,
        shortcut: None,
        confinement: Arc::new(confinement),
        judge: None,
        coverage: StartCoverage::Judged,
    };
    let child = Launcher::shared().spawn(&spec).unwrap();
    let wake = CancelWaker::on(&CancelToken::new()).unwrap();
    let mut stdout = Stdout::default();
    let collected = collect(
        child,
        &RunOptions { input: &[], deadline: None, pause: None, wake, listener: None },
        &mut stdout,
    );
    assert_eq!(collected.end, RunEnd::Itself);
    assert!(matches!(collected.report, Ok(CommandReport::Ended { .. })), "{:?}", collected.report);
    String::from_utf8(stdout.0).unwrap()
}

fn workspace() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("secrets/deep")).unwrap();
    for file in ["key.pem", "secrets/a", "secrets/deep/b", "plain"] {
        fs::write(dir.path().join(file), "OLD").unwrap();
    }
    dir
}

fn texts(dir: &Path, files: &[&str]) -> Vec<String> {
    files.iter().map(|file| fs::read_to_string(dir.join(file)).unwrap_or_default()).collect()
}

fn listed(dir: &Path, paths: &[&str]) -> Vec<std::ffi::OsString> {
    paths.iter().map(|path| dir.join(path).into()).collect()
}

const FILES: [&str; 5] = ["key.pem", "secrets/a", "plain", "new.pem", "new/dir/file"];

/// Writes all files, in every way that there is.
const WRITE: &str = "rm -rf key.pem secrets; mkdir -p secrets new/dir; \
    for f in key.pem secrets/a plain new.pem new/dir/file; do echo NEW > $f; done 2>/dev/null; \
    cp plain p; mv p key.pem; mv key.pem plain; true";

#[test]
fn what_is_read_only_is_neither_written_nor_replaced_and_what_is_absent_not_created() {
    let dir = workspace();
    run(dir.path(), WRITE, |_| ());
    assert!(
        texts(dir.path(), &FILES[1..]).iter().all(|text| text == "NEW\n"),
        "{:?}",
        texts(dir.path(), &FILES)
    );
    let dir = workspace();
    let paths = listed(dir.path(), &["key.pem", "secrets", "new.pem", "new/dir/file"]);
    run(dir.path(), WRITE, |confinement| confinement.read_only = paths);
    assert_eq!(texts(dir.path(), &FILES), ["OLD", "OLD", "NEW\n", "", ""]);
    assert_eq!(texts(dir.path(), &["secrets/deep/b"]), ["OLD"]);
}

#[test]
fn what_stood_in_for_what_is_absent_is_gone_when_nobody_needs_it() {
    let dir = workspace();
    let paths = listed(dir.path(), &["new.pem", "new/dir/file"]);
    // A reaper ends with a command that leaves something behind.
    run(dir.path(), "setsid sleep 1000 >/dev/null 2>&1 &", |confinement| confinement.read_only = paths);
    crate::common::wait_until(|| !dir.path().join("new.pem").exists() && !dir.path().join("new").exists());
}

#[test]
fn what_is_hidden_is_empty_and_stays_as_it_is() {
    let dir = workspace();
    let show = "cat key.pem secrets/a secrets/deep/b plain 2>/dev/null; ls -A secrets";
    assert_eq!(run(dir.path(), show, |_| ()), "OLDOLDOLDOLDa\ndeep\n");
    let hide = |confinement: &mut Confinement| {
        confinement.hidden.extend(listed(dir.path(), &["key.pem", "secrets"]));
    };
    assert_eq!(run(dir.path(), show, hide), "OLD");
    run(dir.path(), WRITE, hide);
    assert_eq!(texts(dir.path(), &["key.pem", "secrets/a"]), ["OLD", "OLD"]);
}

/// Runs a command under rules that allow every command, but deny these.
fn run_under(dir: &Path, denied: &[&str], sandbox: &str, command: &str) -> String {
    set_program(crate::common::PROGRAM);
    let host = crate::common::host(dir, json!({"default": "allow", "deny": denied}), sandbox);
    match host.call(crate::common::call(json!({"command": command})), CallOptions::default()) {
        CallOutcome::Ok(value, _) => value["stdout"].as_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_deny_rules_name_is_kept_from_programs_that_open_files_on_their_own() {
    let dir = workspace();
    let archive = "tar cf - . | grep -a -o OLD | wc -l";
    let count = |denied: &[&str], sandbox| run_under(dir.path(), denied, sandbox, archive);
    assert_eq!(count(&[], "required"), "4\n");
    assert_eq!(count(&["Read(key.pem)", "Read(secrets/**)"], "required"), "1\n");
    // Without a sandbox, rules judge what a command names, and this one names nothing.
    assert_eq!(count(&["Read(key.pem)", "Read(secrets/**)"], "off"), "4\n");
}

#[test]
fn what_deny_rules_keep_from_being_changed_cannot_be_unpacked_over() {
    let dir = workspace();
    let denied = ["Edit(secrets/**)", "Write(absent)"];
    // Names in a command are judged; so these come from an archive.
    let packed = workspace();
    fs::write(packed.path().join("absent"), "NEW").unwrap();
    fs::write(packed.path().join("secrets/a"), "NEW").unwrap();
    run_under(packed.path(), &[], "required", "tar cf a --exclude=./a .");
    fs::copy(packed.path().join("a"), dir.path().join("a")).unwrap();
    run_under(dir.path(), &denied, "required", "tar xf a --overwrite; true");
    assert_eq!(texts(dir.path(), &["secrets/a", "plain", "absent"]), ["OLD", "OLD", ""]);
    run_under(dir.path(), &[], "required", "tar xf a --overwrite; true");
    assert_eq!(texts(dir.path(), &["secrets/a", "absent"]), ["NEW", "NEW"]);
}

/// git sees no empty directories, so nothing of it comes into a commit.
#[test]
fn a_file_in_a_missing_directory_is_kept_absent_by_an_empty_one() {
    let dir = workspace();
    let command = "mkdir -p sub/. && find sub -type d -empty && { python3 -c 'open(\"sub/\" + \"new\", \"w\")' 2>/dev/null || echo kept; }";
    assert_eq!(run_under(dir.path(), &["Edit(sub/new)"], "required", command), "sub\nkept\n");
}

const GLOBS: [&str; 3] = ["Read(**/*.pem)", "Read(**/vault/**)", "Edit(conf/*/locked)"];

/// A workspace, and a host that allows every command and denies what globs match.
struct Globs {
    dir: TempDir,
    host: Host,
}

impl Globs {
    fn new(denied: &[&str], sandbox: Value) -> Self {
        set_program(crate::common::PROGRAM);
        let dir = workspace();
        let rules = json!({"default": "allow", "allow": ["Bash(bash script)"], "deny": denied});
        let host = crate::common::host(dir.path(), rules, sandbox);
        Self { dir, host }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.path().join(path)).unwrap_or_default()
    }

    /// Runs a script, whose text the judge does not see, and gives what it wrote.
    fn run(&self, script: &str) -> String {
        self.write("script", script);
        match self.host.call(crate::common::call(json!({"command": "bash script"})), CallOptions::default()) {
            CallOutcome::Ok(value, _) => value["stdout"].as_str().unwrap().to_owned(),
            other => panic!("{other:?}"),
        }
    }
}

/// Asserts what a script says where it is allowed, and under the rules.
fn assert_says(prepare: impl Fn(&Globs), script: &str, allowed: &str, denied: &str) {
    for (rules, expected) in [(&[][..], allowed), (&GLOBS[..], denied)] {
        let globs = Globs::new(rules, json!("required"));
        prepare(&globs);
        assert_eq!(globs.run(script), expected, "{rules:?}: {script}");
    }
}

#[test]
fn what_globs_match_is_hidden_however_deep_it_lies_and_whoever_opens_it() {
    let prepare = |globs: &Globs| {
        globs.write("a/b/deep.pem", "SECRET");
        globs.write("a/vault/x", "SECRET");
        globs.write("a/plain", "PLAIN");
    };
    let both = "SECRETSECRETPLAINOLD";
    assert_says(prepare, "cat a/b/deep.pem a/vault/x a/plain key.pem", both, "PLAIN");
    assert_says(prepare, "cat $(find . -name '*.pem' -o -path '*vault/x' | sort)", "SECRETSECRETOLD", "");
    assert_says(prepare, "tar cf - . | grep -a -o SECRE[T] | wc -l", "2\n", "0\n");
    assert_says(prepare, "ln a/b/deep.pem open; cat open", "SECRET", "");
    assert_says(prepare, "mv a/b/deep.pem open; cat open", "SECRET", "");
}

/// Linux opens no path of 4,096 bytes. So the sandbox hides a directory above the files that it cannot reach.
#[test]
fn what_is_too_deep_to_be_searched_is_hidden() {
    for depth in [1, 17, 18, 19, 20, 21, 30] {
        let way = |step: &str| {
            format!(
                "cd w; d=$(printf 'x%.0s' {{1..200}}); for i in {{1..{depth}}}; do {step}cd $d || exit 0; done 2>/dev/null;"
            )
        };
        let (read, write) =
            (way("") + "cat k.pem", way("") + "{ echo NEW > locked; cat locked; } 2>/dev/null");
        for denied in [&[][..], &["Read(**/*.pem)", "Edit(**/locked)"]] {
            let globs = Globs::new(denied, json!("required"));
            fs::create_dir(globs.dir.path().join("w")).unwrap();
            globs.run(&(way("mkdir $d && ") + "echo SECRET > k.pem; echo OLD > locked"));
            let said = (globs.run(&read), globs.run(&write));
            let is_reached = said.1 == "OLD\n";
            match denied {
                [] => assert_eq!(said, ("SECRET\n".into(), "NEW\n".into()), "{depth}"),
                _ => assert!(
                    said.0.is_empty() && (is_reached || depth > 17 && said.1.is_empty()),
                    "{depth}: {said:?}"
                ),
            }
        }
    }
}

#[test]
fn rules_that_name_git_hold_in_its_directories() {
    let files = ["r/.git/token", "r/.git/info/deep/x", ".git/modules/m/token", ".git/other"];
    for (rule, closed) in [
        ("Read(**/.git/token)", &files[..1]),
        ("Read(**/.git/**)", &files[..]),
        ("Read(**/.git)", &files[..]),
        ("Read(r*/.git/**)", &files[..2]),
        ("Read(.git/modules/*/token)", &files[2..3]),
        ("Read(.git/**/token)", &files[2..3]),
        ("Read(.git/mod*/**)", &files[2..3]),
        ("Read(.git/*/*/*)", &files[2..3]),
        ("Edit(**/.git/token)", &files[..1]),
        ("Edit(*/.git/info/**)", &files[1..2]),
        ("Read(**/token)", &[]),
    ] {
        let globs = Globs::new(&[rule], json!("required"));
        for file in files {
            globs.write(file, "SECRET\n");
            for name in ["HEAD", "objects/x", "refs/x"] {
                globs.write(&format!("r/.git/{name}"), "");
                globs.write(&format!(".git/{name}"), "");
            }
        }
        let is_read = rule.starts_with("Read");
        for file in files {
            let said = globs.run(&format!("cat {file}; echo NEW > {file}; true"));
            let is_closed = closed.contains(&file);
            assert_eq!(said.is_empty(), is_closed && is_read, "{rule} {file}: {said}");
            assert_eq!(globs.read(file) == "SECRET\n", is_closed, "{rule} {file}");
        }
    }
}

#[test]
fn what_globs_keep_from_being_changed_is_neither_changed_nor_replaced() {
    for script in [
        "echo NEW > conf/a/locked",
        "rm conf/a/locked; echo NEW > conf/a/locked",
        "echo NEW > x; mv x conf/a/locked",
        "mv conf c; mkdir -p conf/a; echo NEW > conf/a/locked",
        "mv conf/a conf/b; mkdir -p conf/a; echo NEW > conf/a/locked",
        "python3 -c 'open(\"conf/a/locked\",\"w\").write(\"NEW\\n\")'",
    ] {
        for (rules, expected) in [(&[][..], "NEW\n"), (&GLOBS[..], "OLD")] {
            let globs = Globs::new(rules, json!("required"));
            globs.write("conf/a/locked", "OLD");
            globs.run(script);
            assert_eq!(globs.read("conf/a/locked"), expected, "{script}");
        }
    }
    assert_says(|globs| globs.write("conf/a/locked", "OLD"), "cat conf/a/locked", "OLD", "OLD");
}

#[test]
fn a_bare_rule_that_denies_a_file_tool_holds_for_every_file() {
    let script = "echo NEW > plain; echo NEW > new; mkdir d; cat key.pem; echo x > /tmp/x; cat /tmp/x";
    for (rules, stdout, plain) in [
        (&[][..], "OLDx\n", "NEW\n"),
        (&["Write"], "OLDx\n", "OLD"),
        (&["Edit"], "OLDx\n", "OLD"),
        (&["Write(**)"], "OLDx\n", "OLD"),
    ] {
        let globs = Globs::new(rules, json!("required"));
        assert_eq!(globs.run(script), stdout, "{rules:?}");
        assert_eq!(
            (&*globs.read("plain"), globs.read("new").is_empty()),
            (plain, !rules.is_empty()),
            "{rules:?}"
        );
        assert_eq!(globs.dir.path().join("d").exists(), rules.is_empty(), "{rules:?}");
    }
    for rules in [["Read"], ["Read(**)"]] {
        let globs = Globs::new(&rules, json!("required"));
        let said = match globs
            .host
            .call(crate::common::call(json!({"command": "grep -r OLD . | wc -l"})), CallOptions::default())
        {
            CallOutcome::Ok(value, _) => value["stdout"].as_str().unwrap().to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(said, "0\n", "{rules:?}");
    }
}

#[test]
fn what_is_named_is_not_moved_off_by_its_directory() {
    for (script, file) in [
        ("mv secrets s; mkdir -p secrets/deep; echo NEW > secrets/deep/b", "secrets/deep/b"),
        ("mv secrets/deep secrets/d; mkdir secrets/deep; echo NEW > secrets/deep/b", "secrets/deep/b"),
    ] {
        for (rules, expected) in [(&[][..], "NEW\n"), (&["Edit(secrets/deep/b)"][..], "OLD")] {
            let globs = Globs::new(rules, json!("required"));
            globs.run(script);
            assert_eq!(globs.read(file), expected, "{script}");
        }
    }
    let globs = Globs::new(&["Read(secrets/deep/b)"], json!("required"));
    globs.run("mv secrets s");
    assert_eq!(globs.run("cat s/deep/b; cat secrets/a"), "OLD");
}

/// Neither the workspace's own name nor another one leads to the files beside it.
#[test]
fn a_rule_about_a_place_above_the_workspace_holds_beside_it() {
    let [above, outside] = [(); 2].map(|()| TempDir::new_in("/var/tmp").unwrap());
    let place = above.path().join("place");
    fs::create_dir_all(place.join("deep/ws")).unwrap();
    fs::write(place.join("deep/ws/made"), "OLD").unwrap();
    fs::write(place.join("deep/beside"), "OLD").unwrap();
    std::os::unix::fs::symlink(&place, above.path().join("link")).unwrap();
    let [direct, linked] =
        ["place", "link"].map(|name| above.path().join(name).join("deep/ws").display().to_string());
    let script = format!(
        "import os\nfor path in ['made', '../beside', '{direct}/../beside', '{linked}/../beside']:\n try: \
         print(open(path).read())\n except OSError: print('-')\ntry: open('../new', 'w')\nexcept OSError: print(os.listdir())"
    );
    fs::write(outside.path().join("script"), script).unwrap();
    let command = format!("python3 {}", outside.path().join("script").display());
    for opened in [&direct, &linked] {
        let run = |denied: &[&str]| run_under(Path::new(opened), denied, "required", &command);
        assert_eq!(run(&[]), "OLD\nOLD\nOLD\nOLD\n['made']\n");
        for rule in ["place/**", "place", "link/**", "place/deep/**", "{place,none}/**"] {
            let rule = format!("Read({}/{rule})", above.path().display());
            // Names in the workspace stay visible.
            assert_eq!(run(&[&rule]), "-\n-\n-\n-\n['made']\n", "{opened} {rule}");
        }
    }
}

#[test]
fn a_rule_that_names_a_link_is_about_what_it_leads_to() {
    let kept = TempDir::new_in("/var/tmp").unwrap();
    for (rule, link, target, file) in [
        ("Read(l)", "l", "f".into(), "f"),
        ("Read(l/**)", "l", "d".into(), "d/f"),
        ("Read(l/**/f)", "l", "d".into(), "d/f"),
        ("Read(l)", "l", kept.path().join("f"), "l"),
        ("Edit(l)", "l", "f".into(), "f"),
    ] {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join(link)).unwrap();
        fs::write(dir.path().join(file), "OLD\n").unwrap();
        fs::write(dir.path().join("change"), format!("cat {file}; echo NEW >> {file}; true")).unwrap();
        let run = |denied: &[&str]| run_under(dir.path(), denied, "required", "bash change");
        assert_eq!(run(&[rule]), if rule == "Edit(l)" { "OLD\n" } else { "" }, "{rule}");
        assert_eq!(fs::read_to_string(dir.path().join(file)).unwrap(), "OLD\n", "{rule}");
        assert_eq!(run(&[]), "OLD\n", "{rule}");
    }
}

/// What git commits of a workspace in which everything is tracked, when a command commits all changes under these rules.
fn committed(rules: &[&str], files: &[&str]) -> Vec<String> {
    let globs = Globs::new(rules, json!("required"));
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(globs.dir.path()).args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap()
    };
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "first"]] {
        assert!(git(words).status.success());
    }
    globs.run(
        "echo NEW > plain; echo NEW > key.pem; rm -rf secrets; git -c user.name=n -c user.email=e@x commit -qam x; true",
    );
    let text = |file: &&str| {
        let output = git(&["show", &format!("HEAD:{file}")]);
        if output.status.success() { String::from_utf8(output.stdout).unwrap() } else { "gone".to_owned() }
    };
    files.iter().map(text).collect()
}

#[test]
fn git_does_not_commit_what_is_hidden_as_empty_or_deleted() {
    let files = ["plain", "key.pem", "secrets/a", "secrets/deep/b"];
    assert_eq!(committed(&[], &files), ["NEW\n", "NEW\n", "gone", "gone"]);
    // What cannot be read ends git, what cannot be looked up is left as it is.
    assert_eq!(committed(&["Read(key.pem)"], &files[1..2]), ["OLD"]);
    assert_eq!(committed(&["Read(**/*.pem)"], &files[1..2]), ["OLD"]);
    let hidden = committed(&["Read(secrets/**)"], &files);
    assert_eq!(hidden[2..], ["OLD", "OLD"]);
    // Without mounts, git sees the files in it, and ends when it has to compare one.
    assert!(!crate::common::is_full() || hidden[..2] == ["NEW\n", "NEW\n"], "{hidden:?}");
}

#[test]
fn what_is_hidden_cannot_be_opened_and_programs_that_walk_go_on() {
    let globs = Globs::new(&["Read(key.pem)", "Read(secrets/**)"], json!("required"));
    let script = "chmod 777 key.pem secrets 2>/dev/null; cat key.pem 2>/dev/null || echo refused; \
                  find . -name b >/dev/null; echo $?; ls -d key.pem secrets";
    let opened = "refused\n0\nkey.pem\nsecrets\n";
    assert_eq!(globs.run(script), opened);
}

#[test]
fn a_background_command_sees_no_more() {
    let globs = Globs::new(&GLOBS, json!("required"));
    globs.write("script", "cat key.pem secrets/a");
    let session = crate::common::InSession::new(&globs.host);
    let id = session.start(json!({"command": "bash script"}));
    assert_eq!(session.ended(&id)["stdout"], "OLD");
}

#[test]
fn more_than_can_be_protected_is_refused_or_said() {
    let globs = Globs::new(&GLOBS, json!("required"));
    for number in 0..5_000 {
        fs::write(globs.dir.path().join(format!("{number}.pem")), "").unwrap();
    }
    let call = || crate::common::call(json!({"command": "touch ran"}));
    let error = crate::common::error(globs.host.call(call(), CallOptions::default()));
    assert_eq!(error.reason, beamai_base::Reason::IsolationUnavailable);
    for part in ["protected_paths", "4000", "Read(**/*.pem)", "best_effort"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert!(!globs.dir.path().join("ran").exists());
    let permissions = json!({"default": "allow", "deny": GLOBS});
    let host = crate::common::host(globs.dir.path(), permissions, json!("best_effort"));
    let CallOutcome::Ok(result, _) = host.call(call(), CallOptions::default()) else { panic!() };
    let partly = &result["isolation"]["partly"][0];
    assert_eq!(partly["layer"], "protected_paths", "{result}");
    assert!(partly["why"].as_str().unwrap().contains("4000"), "{result}");
    assert!(globs.dir.path().join("ran").exists());
    // That rules match too much says nothing of repositories: each directory was looked into.
    globs.write("script", "git init -q new; touch new/.git/hooks/post-commit {1..5000}.key");
    let permissions = json!({"default": "allow", "allow": ["Bash(bash script)"], "deny": ["Read(**/*.key)"]});
    let host = crate::common::host(globs.dir.path(), permissions, json!("required"));
    let makes = crate::common::call(json!({"command": "bash script"}));
    let CallOutcome::Ok(result, _) = host.call(makes, CallOptions::default()) else { panic!() };
    let planted = result["planted"].as_array().unwrap();
    let is_of_hook = |entry: &Value| entry["path"].as_str().unwrap().ends_with("new/.git/hooks/post-commit");
    assert!(planted.len() == 1 && is_of_hook(&planted[0]), "{result}");
    // Without such rules, there is nothing to be found.
    let host = crate::common::host(globs.dir.path(), json!({"default": "allow"}), json!("required"));
    assert!(matches!(host.call(call(), CallOptions::default()), CallOutcome::Ok(..)));
}

/// What is covered for a command that it must not create is gone from the machine with the port, however that ended.
#[test]
fn a_name_that_is_kept_from_commands_is_not_left_behind() {
    let options = ["--default", "allow", "--deny", "Write(new.conf)", "--workspace"];
    let dirs: Vec<TempDir> = (0..30)
        .map(|_| {
            let dir = workspace();
            let mut port = std::process::Command::new(crate::common::PROGRAM);
            port.args(["call", "shell_exec", r#"{"command": "test -e new.conf && echo covered"}"#]);
            let output = port.args(options).arg(dir.path()).output().unwrap();
            assert!(String::from_utf8_lossy(&output.stdout).contains("covered"), "{output:?}");
            dir
        })
        .collect();
    let is_left = || dirs.iter().any(|dir| dir.path().join("new.conf").exists());
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while is_left() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(!is_left());
}
