//! Paths that a policy makes read-only or hides, given as lists.

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

#[test]
fn what_the_host_gave_to_be_written_is_not_protected() {
    let dir = workspace();
    let path: PathBuf = dir.path().join("key.pem");
    run(dir.path(), "echo NEW > key.pem", |confinement| {
        confinement.read_only = vec![path.clone().into()];
        confinement.writable = vec![path.clone().into()];
    });
    assert_eq!(texts(dir.path(), &["key.pem"]), ["NEW\n"]);
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
fn what_globs_match_is_not_carried_off_for_a_later_command() {
    for (mv, cat) in [("mv a z", "cat z/b/deep.pem"), ("mv a/b/vault open", "cat open/x")] {
        for (rules, expected) in [(&[][..], "SECRET"), (&GLOBS[..], "")] {
            let globs = Globs::new(rules, json!("required"));
            globs.write("a/b/deep.pem", "SECRET");
            globs.write("a/b/vault/x", "SECRET");
            globs.run(mv);
            assert_eq!(globs.run(cat), expected, "{mv}");
        }
    }
}

#[test]
fn what_comes_later_is_hidden_whoever_made_it() {
    let globs = Globs::new(&GLOBS, json!("required"));
    // Its directory was there when the reaper was made, and the reaper was not made anew for nothing.
    assert_eq!(globs.run("echo SECRET > secrets/new.pem; cat secrets/new.pem"), "SECRET\n");
    assert_eq!(globs.run("cat secrets/new.pem"), "");
    globs.write("secrets/host.pem", "SECRET");
    assert_eq!(globs.run("cat secrets/host.pem"), "");
    globs.write("n/e/w/host.pem", "SECRET");
    assert_eq!(globs.run("cat n/e/w/host.pem; echo end"), "end\n");
    // What is gone takes its protection with it.
    fs::rename(globs.dir.path().join("n"), globs.dir.path().join("m")).unwrap();
    globs.write("n/e/w/host.txt", "PLAIN");
    assert_eq!(globs.run("cat n/e/w/host.txt m/e/w/host.pem"), "PLAIN");
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

#[test]
fn what_appears_under_a_rule_is_kept_from_the_next_command() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    let dir = TempDir::new().unwrap();
    let file = elsewhere.path().join("d/f");
    std::os::unix::fs::symlink(elsewhere.path().join("d"), dir.path().join("l")).unwrap();
    // Names in a command are judged; so this is in a file.
    fs::write(dir.path().join("read"), format!("cat {} l/f; true", file.display())).unwrap();
    let rules = [format!("Read({})", file.display()), "Read(l/f)".to_owned(), "Read(l/*)".to_owned()];
    for denied in [&[][..], &[&*rules[0]], &[&*rules[1]], &[&*rules[2]]] {
        let read = || run_under(dir.path(), denied, "required", "bash read");
        assert_eq!(read(), "", "{denied:?}");
        fs::create_dir(elsewhere.path().join("d")).unwrap();
        fs::write(&file, "SECRET\n").unwrap();
        assert_eq!(read(), if denied.is_empty() { "SECRET\nSECRET\n" } else { "" }, "{denied:?}");
        fs::remove_dir_all(elsewhere.path().join("d")).unwrap();
    }
}

#[test]
fn what_a_person_moves_away_and_makes_again_is_kept_from_the_next_command() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    let there = elsewhere.path().join("f").display().to_string();
    for (rule, moved, path) in [
        ("Read(f)".to_owned(), "f", "f".to_owned()),
        ("Read(**/*.env)".to_owned(), "f.env", "f.env".to_owned()),
        ("Read(d/f)".to_owned(), "d", "d/f".to_owned()),
        ("Read(l/f)".to_owned(), "d", "d/f".to_owned()),
        ("Read(d)".to_owned(), "d", "d/f".to_owned()),
        (format!("Read({there})"), &*there, there.clone()),
        ("Edit(d/f)".to_owned(), "d", "d/f".to_owned()),
        ("Edit(f*)".to_owned(), "f", "f".to_owned()),
    ] {
        for denied in [&[][..], &[&*rule]] {
            let dir = TempDir::new().unwrap();
            let make = |content: &str| {
                fs::create_dir_all(dir.path().join("d")).unwrap();
                fs::write(dir.path().join(&path), content).unwrap();
            };
            std::os::unix::fs::symlink("d", dir.path().join("l")).unwrap();
            make("OLD\n");
            // Names in a command are judged; so this is in a file.
            fs::write(dir.path().join("use"), format!("cat {path}; echo NEW >> {path}; true")).unwrap();
            let used = || run_under(dir.path(), denied, "required", "bash use");
            used();
            let moved = dir.path().join(moved);
            fs::rename(&moved, moved.with_file_name("away")).unwrap();
            make("AGAIN\n");
            let is_read = denied.is_empty() || rule.starts_with("Edit");
            assert_eq!(used(), if is_read { "AGAIN\n" } else { "" }, "{denied:?}");
            // Outside of the workspace, commands change nothing anyway.
            let is_changed = denied.is_empty() && path != there;
            let content = fs::read_to_string(dir.path().join(&path)).unwrap();
            assert_eq!(content == "AGAIN\nNEW\n", is_changed, "{denied:?}");
        }
    }
}

#[test]
fn a_mount_that_went_away_with_a_name_of_the_file_is_made_anew() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    let there = elsewhere.path().join("f");
    for (rule, file) in
        [("Read(f)".to_owned(), PathBuf::from("f")), (format!("Read({})", there.display()), there)]
    {
        for denied in [&[][..], &[&*rule]] {
            let dir = TempDir::new().unwrap();
            let path = dir.path().join(&file);
            fs::write(&path, "SECRET\n").unwrap();
            // Names in a command are judged; so this is in a file.
            fs::write(dir.path().join("read"), format!("cat {}; true", file.display())).unwrap();
            let read = || run_under(dir.path(), denied, "required", "bash read");
            let expected = if denied.is_empty() { "SECRET\n" } else { "" };
            assert_eq!(read(), expected, "{denied:?}");
            // The same file, with the same number, by another entry of the directory.
            fs::hard_link(&path, path.with_file_name("kept")).unwrap();
            fs::rename(&path, path.with_file_name("moved")).unwrap();
            fs::rename(path.with_file_name("kept"), &path).unwrap();
            assert_eq!(read(), expected, "{denied:?}");
            // Replaced, as editors do it, until a number comes back.
            for _ in 0..20 {
                fs::write(path.with_file_name("new"), "SECRET\n").unwrap();
                fs::rename(path.with_file_name("new"), &path).unwrap();
                assert_eq!(read(), expected, "{denied:?}");
            }
            fs::remove_file(path.with_file_name("moved")).unwrap();
        }
    }
}

#[test]
fn what_leads_to_a_denied_file_stays() {
    // A second link of a chain, a directory that a link leaves, a link that leads outside.
    for (links, script) in [
        ([("a", "m/b"), ("m/b", "../r/s")], "rm m/b; mv m n"),
        ([("a", "r/s/t/.."), ("m/b", "../r")], "rmdir r/s/t"),
        ([("a", "m/b/s"), ("m/b", "../r")], "rm a; mv m n"),
    ] {
        for (denied, expected) in [(&[][..], "OLD"), (&["Read(a/f)"][..], "")] {
            let dir = TempDir::new().unwrap();
            for made in ["m", "r/s/t"] {
                fs::create_dir_all(dir.path().join(made)).unwrap();
            }
            for (link, target) in links {
                std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
            }
            fs::write(dir.path().join("r/s/f"), "OLD").unwrap();
            // Names in a command are judged; so these are in files.
            fs::write(dir.path().join("read"), "cat r/s/f; true").unwrap();
            fs::write(dir.path().join("change"), format!("{script}; true")).unwrap();
            for _ in 0..2 {
                assert_eq!(run_under(dir.path(), denied, "required", "bash read"), expected, "{script}");
                run_under(dir.path(), denied, "required", "bash change");
            }
        }
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
fn what_the_host_shows_is_not_hidden() {
    let globs = Globs::new(&GLOBS, json!({"readable": ["key.pem", "vault/public"]}));
    globs.write("vault/public", "PUBLIC");
    globs.write("vault/private", "SECRET");
    globs.write("other.pem", "SECRET");
    assert_eq!(globs.run("cat key.pem other.pem vault/public vault/private"), "OLDPUBLIC");
}

#[test]
fn what_the_host_gives_to_be_written_in_what_is_read_only_is_written() {
    for rule in ["Edit(**/kept/**)", "Edit(o/kept)", "Write(o/kept/**)"] {
        let globs = Globs::new(&[rule], json!("required"));
        globs.write("o/kept/out/old", "OLD");
        globs.write("o/kept/f", "OLD");
        let script = "echo NEW > o/kept/out/old; echo NEW > o/kept/out/new; echo NEW > o/kept/f; true";
        globs.run(script);
        let read =
            |globs: &Globs| ["o/kept/out/old", "o/kept/out/new", "o/kept/f"].map(|file| globs.read(file));
        assert_eq!(read(&globs), ["OLD", "", "OLD"], "{rule}");
        let sandbox = json!({"mode": "required", "writable": [globs.dir.path().join("o/kept/out")]});
        let rules = json!({"default": "allow", "allow": ["Bash(bash script)"], "deny": [rule]});
        let globs = Globs { host: crate::common::host(globs.dir.path(), rules, sandbox), ..globs };
        globs.run(script);
        assert_eq!(read(&globs), ["NEW\n", "NEW\n", "OLD"], "{rule}");
    }
}

#[test]
fn what_the_host_lifts_lifts_no_other_rule_within() {
    for (option, rules) in [
        ("readable", ["Read(o/kept/**)", "Read(*.pem)"]),
        ("writable", ["Read(o/kept/**)", "Read(*.pem)"]),
        ("writable", ["Edit(o/kept/**)", "Edit(*.pem)"]),
        ("writable", ["Edit(**/kept/**)", "Edit(**/out/*.pem)"]),
    ] {
        let globs = Globs::new(&[], json!("required"));
        globs.write("o/kept/out/k.pem", "KEY");
        globs.write("o/kept/out/plain", "PLAIN");
        globs.write("o/kept/f", "F");
        let sandbox = json!({"mode": "required", option: [globs.dir.path().join("o/kept/out")]});
        let policy = json!({"default": "allow", "allow": ["Bash(bash script)"], "deny": rules});
        let globs = Globs { host: crate::common::host(globs.dir.path(), policy, sandbox), ..globs };
        let said = globs.run("cat o/kept/out/plain o/kept/out/k.pem o/kept/f; for f in o/kept/out/k.pem o/kept/f; do echo NEW > $f; done; true");
        let is_hidden = rules[0].starts_with("Read");
        assert_eq!(said, if is_hidden { "PLAIN" } else { "PLAINKEYF" }, "{option} {rules:?}");
        assert_eq!(
            (globs.read("o/kept/out/k.pem"), globs.read("o/kept/f")),
            ("KEY".into(), "F".into()),
            "{option} {rules:?}"
        );
    }
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
