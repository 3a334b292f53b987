//! The port program is killed while it changes several files, from outside and in earnest. Nothing has changed then,
//! or everything.
#![cfg(target_os = "linux")]

use crate::common::PROGRAM;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Files of the patch. To change them takes long enough to be killed meanwhile.
const FILES: usize = 800;
/// How often a program is killed at most.
const TIMES: usize = 8;

/// How often it must have been killed in time, after which it is enough; with `BEAMAI_LONG` it goes on.
fn enough() -> usize {
    if std::env::var_os("BEAMAI_LONG").is_some() { TIMES } else { 2 }
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A workspace of many files, and a directory for journals.
struct Fixture {
    ws: TempDir,
    state: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { ws: TempDir::new().unwrap(), state: TempDir::new().unwrap() };
        for at in 0..FILES {
            std::fs::write(fixture.file(at), "first\nsecond\n").unwrap();
        }
        fixture
    }

    fn file(&self, at: usize) -> PathBuf {
        self.ws.path().join(format!("f{at:04}"))
    }

    fn files(&self) -> Files {
        let mut found = Files::new();
        let mut pending = vec![self.ws.path().to_owned()];
        while let Some(dir) = pending.pop() {
            for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => pending.push(entry.path()),
                    // Whoever undoes something may do it right now.
                    false => _ = std::fs::read(entry.path()).map(|bytes| found.insert(entry.path(), bytes)),
                }
            }
        }
        found
    }

    fn has_journal(&self) -> bool {
        let dir = std::fs::read_dir(self.state.path().join("beamai/journals"));
        dir.is_ok_and(|mut dir| dir.next().is_some())
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut program = Command::new(PROGRAM);
        program.args(arguments).args(["--default", "allow"]).current_dir(self.ws.path());
        program.env("XDG_STATE_HOME", self.state.path());
        program
    }

    fn call(&self, tool: &str, args: &Value) -> Output {
        self.program(&["call", tool, &args.to_string()]).output().unwrap()
    }

    /// A program that applies the patch, seen at work on it.
    fn at_work(&self) -> Child {
        let (input, mut patch) = std::io::pipe().unwrap();
        let port = self.program(&["call", "file_patch", "-"]).stdin(input).stdout(Stdio::null()).spawn();
        patch.write_all(json!({"patch": patch_of_all()}).to_string().as_bytes()).unwrap();
        drop(patch);
        let begun = Instant::now();
        while std::fs::read(self.file(0)).unwrap() == b"first\nsecond\n" {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not begin");
        }
        port.unwrap()
    }

    /// Has the files half changed, by a program that nobody survives who would undo that.
    fn half_changed(&self) {
        loop {
            let mut port = self.at_work();
            let keepers = children(port.id());
            assert_eq!(keepers.len(), 1, "{keepers:?}");
            let pids = keepers.iter().map(u32::to_string).chain([port.id().to_string()]);
            assert!(Command::new("kill").arg("-9").args(pids).status().unwrap().success());
            port.wait().unwrap();
            let last = std::fs::read(self.file(FILES - 1)).unwrap();
            if last == b"first\nsecond\n" && std::fs::read(self.file(0)).unwrap() != last {
                assert!(self.has_journal());
                return;
            }
            // It was done already. All begins anew.
            self.call("file_read", &json!({"path": "f0000"}));
            self.reset();
        }
    }

    /// As it was at the beginning.
    fn reset(&self) {
        _ = std::fs::remove_dir_all(self.ws.path().join("new"));
        (0..FILES).for_each(|at| std::fs::write(self.file(at), "first\nsecond\n").unwrap());
    }
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_task = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children"));
    let lists: String = tasks.filter_map(|task| of_task(task.unwrap()).ok()).collect();
    lists.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Changes the first line of each file, and makes a file in directories that are not there.
fn patch_of_all() -> String {
    let of_one = |at| format!("--- a/f{at:04}\n+++ b/f{at:04}\n@@ -1,2 +1,2 @@\n-first\n+FIRST\n second\n");
    let changes: String = (0..FILES).map(of_one).collect();
    changes + "--- /dev/null\n+++ b/new/deep/file\n@@ -0,0 +1,1 @@\n+new\n"
}

fn eventually(holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > Duration::from_secs(30) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

#[test]
fn a_killed_patch_is_undone_at_once_without_another_call() {
    let mut undone = 0;
    for _ in 0..TIMES {
        let fixture = Fixture::new();
        let before = fixture.files();
        let mut port = fixture.at_work();
        port.kill().unwrap();
        port.wait().unwrap();
        assert!(eventually(|| !fixture.has_journal()), "nobody undoes it");
        let files = fixture.files();
        if files == before {
            assert!(!fixture.ws.path().join("new").exists());
            undone += 1;
            if undone == enough() {
                break;
            }
        } else {
            assert_eq!(files.len(), FILES + 1, "{:?}", files.keys().next_back());
            let is_changed = |(path, content): (&PathBuf, &Vec<u8>)| {
                path.ends_with("new/deep/file") || content == b"FIRST\nsecond\n"
            };
            assert!(files.iter().all(is_changed));
        }
    }
    assert!(undone > 0, "it was never killed in time");
}

#[test]
fn a_patch_whose_group_is_killed_is_undone_as_well() {
    let fixture = Fixture::new();
    let before = fixture.files();
    let mut undone = false;
    for _ in 0..TIMES {
        let mut port = Command::new("setsid");
        port.args([PROGRAM, "call", "file_patch", "-", "--default", "allow"]).current_dir(fixture.ws.path());
        port.env("XDG_STATE_HOME", fixture.state.path()).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut port = port.spawn().unwrap();
        let args = json!({"patch": patch_of_all()}).to_string();
        port.stdin.take().unwrap().write_all(args.as_bytes()).unwrap();
        assert!(eventually(|| std::fs::read(fixture.file(0)).unwrap() != b"first\nsecond\n"));
        let group = format!("-{}", port.id());
        assert!(Command::new("kill").args(["-9", "--", &group]).status().unwrap().success());
        port.wait().unwrap();
        assert!(eventually(|| !fixture.has_journal()), "nobody undoes it");
        undone = fixture.files() == before;
        if undone {
            break;
        }
        fixture.reset();
    }
    assert!(undone, "it was never killed in time");
}

#[test]
fn what_nobody_survived_is_undone_before_the_next_call_sees_it() {
    let fixture = Fixture::new();
    let before = fixture.files();
    for (tool, args) in [
        ("file_read", json!({"path": "f0000"})),
        ("file_grep", json!({"pattern": "FIRST"})),
        ("shell_exec", json!({"command": "cat f0000"})),
    ] {
        fixture.half_changed();
        let output = fixture.call(tool, &args);
        let answer = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !answer.contains("FIRST\\n"), "{tool}: {answer}");
        assert!(fixture.files() == before, "{tool}");
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = format!("a process ended while it changed {} files in ", FILES + 1);
        assert!(said.contains(&expected) && said.contains("has been undone"), "{tool}: {said}");
        assert!(!fixture.has_journal());
    }
}

/// A server of the Model Context Protocol, which runs for long.
struct Server {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn new(fixture: &Fixture) -> Self {
        let mut program = fixture.program(&["mcp"]);
        let mut child =
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, output };
        let client = json!({"name": "test", "version": "1"});
        server.ask(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        server.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn say(&mut self, message: Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> String {
        self.say(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn read(&mut self, path: &str) -> String {
        self.ask("tools/call", json!({"name": "file_read", "arguments": {"path": path}}))
    }
}

#[test]
fn a_program_that_runs_already_undoes_what_another_one_left() {
    let fixture = Fixture::new();
    let before = fixture.files();
    let mut server = Server::new(&fixture);
    for _ in 0..2 {
        // Long enough ago that it remembers having found nothing to do.
        for _ in 0..2 {
            assert!(server.read("f0000").contains("first"));
            std::thread::sleep(Duration::from_millis(100));
        }
        fixture.half_changed();
        assert!(std::fs::read(fixture.file(0)).unwrap() == b"FIRST\nsecond\n");
        let answer = server.read("f0000");
        assert!(answer.contains("first") && !answer.contains("FIRST"), "{answer}");
        assert!(fixture.files() == before);
    }
    drop(server.child.stdin.take());
    assert!(server.child.wait().unwrap().success());
}

/// A workspace on a disk of its own, journals on one that is full, and no other place for them.
const NO_ROOM: &str = r#"
mount -t tmpfs -o size=4m tmpfs /mnt && mkdir /mnt/ws /mnt/state && cp -a "$1/." /mnt/ws || exit 7
mount -t tmpfs -o size=64k tmpfs /mnt/state || exit 7
[ -z "$3" ] || dd if=/dev/zero of=/mnt/state/full bs=1k count=64 2>/dev/null
mount -t tmpfs -o ro tmpfs /tmp || exit 7
export XDG_STATE_HOME=/mnt/state
cd /mnt/ws && "$2" call file_patch - --default allow; code=$?
cat f0000 f0001
exit $code
"#;

#[test]
fn without_room_for_a_journal_nothing_changes_and_that_is_said() {
    let files = TempDir::new().unwrap();
    for name in ["f0000", "f0001"] {
        std::fs::write(files.path().join(name), "first\nsecond\n").unwrap();
    }
    let patch = patch_of_all();
    let patch = &patch[..patch.find("--- a/f0002").unwrap()];
    for (full, expected) in
        [("", "FIRST\nsecond\nFIRST\nsecond\n"), ("yes", "first\nsecond\nfirst\nsecond\n")]
    {
        let mut child = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", NO_ROOM, "sh"])
            .args([files.path(), Path::new(PROGRAM), Path::new(full)])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let args = json!({"patch": patch}).to_string();
        child.stdin.take().unwrap().write_all(args.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(output.status.success(), full.is_empty(), "{text}");
        assert_eq!(text.contains("only be changed together with a journal"), !full.is_empty(), "{text}");
    }
}

#[test]
fn commands_neither_see_nor_write_journals() {
    let fixture = Fixture { ws: TempDir::new().unwrap(), state: beside_the_program() };
    let journals = fixture.state.path().join("beamai/journals");
    std::fs::create_dir_all(&journals).unwrap();
    std::fs::write(journals.join("seen"), "").unwrap();
    let attempt = |sandbox: &str| {
        let command = format!("cd '{}' && ls && touch written && echo done", journals.display());
        let args = json!({"command": command}).to_string();
        let output = fixture.program(&["call", "shell_exec", &args, "--sandbox", sandbox]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["stdout"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let seen = attempt("required");
    assert!(!seen.contains("seen") && !seen.contains("done"), "{seen}");
    assert!(!journals.join("written").exists());
    assert_eq!(attempt("off"), "seen\ndone\n");
    assert!(journals.join("written").exists());
}

/// A directory that commands could see: their `/tmp` is not that of others.
fn beside_the_program() -> TempDir {
    TempDir::new_in(Path::new(PROGRAM).parent().unwrap()).unwrap()
}
