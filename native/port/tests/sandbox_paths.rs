//! Paths that a policy makes read-only or hides, given as lists.

mod common;

use beamai_tools::cancel::CancelToken;
use beamai_tools::engine::{Outcome, Run};
use beamai_tools::policy::Sealed;
use beamai_tools::process::{
    Confinement, End, Launcher, Report, Sink, Source, Spec, Stdin, Terms, Wake, collect, set_program,
};
use beamai_tools::sandbox::SandboxSettings;
use beamai_tools::workspace::Workspace;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What a command writes to its standard output.
#[derive(Default)]
struct Stdout(Vec<u8>);

impl Sink for Stdout {
    fn take(&mut self, source: Source, bytes: &[u8]) {
        if let Source::Stdout = source {
            self.0.extend(bytes);
        }
    }
}

/// Runs a command in a workspace and gives its output.
fn run(dir: &Path, command: &str, change: impl FnOnce(&mut Confinement)) -> String {
    set_program(common::PROGRAM);
    let workspace = Workspace::open(dir).unwrap();
    let mut confinement =
        Confinement::within(&workspace, &SandboxSettings::default(), &Sealed::default()).as_ref().clone();
    change(&mut confinement);
    let spec = Spec {
        program: "/bin/bash".into(),
        by_path: false,
        arguments: vec!["-c".into(), command.into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: workspace.top().open_dir().unwrap(),
        stdin: Stdin::Empty,
        lingers: false,
        confinement: Arc::new(confinement),
    };
    let child = Launcher::shared().spawn(&spec).unwrap();
    let wake = Wake::on(&CancelToken::new()).unwrap();
    let mut stdout = Stdout::default();
    let collected = collect(child, &Terms { input: &[], deadline: None, wake }, &mut stdout);
    assert_eq!(collected.end, End::Itself);
    assert!(matches!(collected.report, Ok(Report::Ended { .. })), "{:?}", collected.report);
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
    common::wait_until(|| !dir.path().join("new.pem").exists() && !dir.path().join("new").exists());
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
    set_program(common::PROGRAM);
    let host = common::host(dir, json!({"default": "allow", "deny": denied}), sandbox);
    match host.call(common::call(json!({"command": command})), Run::default()) {
        Outcome::Ok(value, _) => value["stdout"].as_str().unwrap().to_owned(),
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
