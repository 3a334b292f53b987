//! What a host, or a child, can do to the frames of `beamai-port serve`. After whatever means nothing, the next call is
//! answered.
#![cfg(target_os = "linux")]

use beamai_wire::{decode, encode, frame};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// A port as the BEAM starts it: frames on 3 and 4, files as standard output and error, and a descriptor too many.
struct Port {
    dir: TempDir,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

const START: &str = r#"ulimit -v "$5"; exec "$1" serve 3<&0 4>&1 9<"$4" 0</dev/null 1>"$2" 2>"$3""#;

impl Port {
    fn new() -> Self {
        Self::with_memory("unlimited")
    }

    /// A port that may have this many KiB of address space.
    fn with_memory(kib: &str) -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        std::fs::write(dir.path().join("secret"), "SECRET").unwrap();
        let files = ["stdout", "stderr", "secret"].map(|name| dir.path().join(name));
        let mut child = Command::new("bash")
            .args(["-c", START, "bash", crate::common::PROGRAM])
            .args(files)
            .arg(kib)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { dir, child, input, output }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Settings that allow everything, under a sandbox.
    fn settings(&self, sandbox: &str) -> Vec<u8> {
        let workspace = Workspace::open(&self.path("ws")).unwrap().id();
        encode(&json!({"workspace": workspace, "permissions": {"default": "allow"}, "sandbox": sandbox}))
    }

    /// The frame of a call.
    fn call(&self, sandbox: &str, tool: &str, args: Value) -> Vec<u8> {
        framed(&call(&self.settings(sandbox), &encode(&json!({"tool": tool, "args": args}))))
    }

    /// The next reply; panics where the output has anything but frames.
    fn reply(&mut self) -> Result<Value, Value> {
        let mut bytes = Vec::new();
        while frame::read(&mut self.output, &mut bytes).unwrap() {
            let head = b"\x01\x00\x02id";
            if let Some(term) = bytes.strip_prefix(head) {
                return value(term);
            }
            assert_eq!(bytes[0], 2, "neither reply nor progress: {bytes:?}");
        }
        panic!("the port has ended: {}", self.text("stderr"));
    }

    fn run(&mut self, sandbox: &str, command: &str) -> Value {
        let frame = self.call(sandbox, "shell_exec", json!({"command": command}));
        self.send(&frame);
        self.reply().unwrap()
    }

    /// Asserts that a call is answered, whatever came before.
    fn assert_answers(&mut self, after: &str) {
        let frame = self.call("off", "file_write", json!({"path": "made", "content": "x"}));
        self.send(&frame);
        assert!(self.reply().is_ok(), "after {after}");
    }

    /// Ends the input and waits; whether the port ended well.
    fn end(&mut self) -> bool {
        drop(self.input.take());
        self.child.wait().unwrap().success()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.end();
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&u32::try_from(body.len()).unwrap().to_be_bytes(), body].concat()
}

fn call(settings: &[u8], call: &[u8]) -> Vec<u8> {
    call_as("id", settings, call)
}

/// A call whose reply is for another id than that of [`Port::reply`].
fn call_as(id: &str, settings: &[u8], call: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u32::try_from(bytes).unwrap().to_be_bytes();
    [b"\x01", &length(id.len())[2..], id.as_bytes(), &length(settings.len()), settings, call].concat()
}

/// `{ok, Value}` or `{error, Value}`.
fn value(term: &[u8]) -> Result<Value, Value> {
    let within = |rest: &[u8]| decode(&[&[131], rest].concat()).unwrap();
    let (ok, error) = (b"\x83h\x02w\x02ok", b"\x83h\x02w\x05error");
    match (term.strip_prefix(ok), term.strip_prefix(error)) {
        (Some(rest), _) => Ok(within(rest)),
        (_, Some(rest)) => Err(within(rest)),
        _ => panic!("{term:?}"),
    }
}

#[test]
fn frames_that_mean_nothing_are_passed_over() {
    let mut port = Port::new();
    for (what, body) in [
        ("nothing", &b""[..]),
        ("a kind without an id", b"\x01"),
        ("an id that is not there", b"\x01\xff\xffid"),
        ("settings that are not there", b"\x01\x00\x02id\xff\xff\xff\xff"),
        ("a kind that nobody knows", b"\x09\x00\x02id"),
        ("a cancel of what does not run", b"\x02\x00\x02no"),
        ("a cancel with more", b"\x02\x00\x02idmore"),
        ("the end of a session that has no name", b"\x03\x00\x02id\xff"),
    ] {
        port.send(&framed(body));
        port.assert_answers(what);
    }
    assert!(port.end());
}

#[test]
fn terms_that_cannot_be_read_are_an_error_of_their_call() {
    let mut port = Port::new();
    let nested = [b"\x83t\0\0\0\x01m\0\0\0\x04args".to_vec(), b"l\0\0\0\x01".repeat(100_000)].concat();
    let text = |text: &[u8]| {
        [b"\x83t\0\0\0\x01m\0\0\0\x04toolm\0\0\0".to_vec(), vec![text.len() as u8], text.to_vec()].concat()
    };
    for (what, term, says) in [
        ("no term", b"nonsense".to_vec(), "external format"),
        ("a hundred thousand levels", nested, "deeper than 128"),
        ("half of a character pair", text(b"\xed\xa0\x80"), "UTF-8"),
        ("a number without bounds", b"\x83n\xff\0".iter().copied().chain([255; 255]).collect(), "64 bits"),
        ("a list of four thousand million", b"\x83l\xff\xff\xff\xff".to_vec(), "ends in the middle"),
        ("a pid", b"\x83Xw\x01n\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(), "neither text"),
    ] {
        let settings = port.settings("off");
        port.send(&framed(&call(&settings, &term)));
        let error = port.reply().unwrap_err();
        assert!(error["message"].as_str().unwrap().contains(says), "{what}: {error}");
        port.send(&framed(&call(&term, &encode(&json!({"tool": "probe_noop", "args": {}})))));
        assert!(port.reply().is_err(), "{what} as settings");
        port.assert_answers(what);
    }
}

#[test]
fn a_header_of_four_gib_ends_the_port_and_takes_no_memory() {
    let mut port = Port::with_memory("4000000");
    port.assert_answers("nothing");
    port.send(b"\xff\xff\xff\xffrest");
    assert!(!port.end());
    assert!(port.text("stderr").contains("a frame of 4294967295 bytes is over"), "{}", port.text("stderr"));
}

#[test]
fn a_header_alone_takes_no_memory_and_its_frame_has_no_effect() {
    let mut port = Port::new();
    let frame = port.call("off", "file_write", json!({"path": "made", "content": "x"}));
    port.send(&frame[..frame.len() - 1]);
    assert!(!port.end(), "input that ends within a frame is an error");
    assert!(!port.path("ws/made").exists());
    let mut port = Port::new();
    port.assert_answers("nothing");
    assert!(port.path("ws/made").exists());
    port.send(b"\x0f\xff\xff\xff");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let status = std::fs::read_to_string(format!("/proc/{}/status", port.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u32 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 100 << 10, "{kib} KiB for a header");
}

#[test]
fn a_child_does_not_write_to_the_ports_own_descriptors() {
    let mut port = Port::new();
    let write = |of: &str, port: &Port| {
        format!("for fd in {of}; do echo GARBAGE > /proc/{}/fd/$fd; done; echo done", port.child.id())
    };
    // Where nothing stands in the way, what is written there arrives.
    let result = port.run("off", &write("1", &port));
    assert_eq!((&result["stdout"], port.text("stdout")), (&json!("done\n"), "GARBAGE\n".to_owned()));
    File::create(port.path("stdout")).unwrap();
    let command = format!("{}; echo to 3 >&3; echo to 4 >&4", write("1 2 3 4", &port));
    let result = port.run("required", &command);
    assert_eq!(result["stdout"], "done\n");
    port.assert_answers("a child that wrote to every descriptor");
    let said = ["stdout", "stderr"].map(|file| port.text(file));
    assert_eq!(said, ["", ""]);
}

#[test]
fn a_child_gets_none_of_the_ports_descriptors() {
    let mut port = Port::new();
    let mut inherited = String::new();
    let path = format!("/proc/{}/fd/9", port.child.id());
    port.assert_answers("the start");
    File::open(path).unwrap().read_to_string(&mut inherited).unwrap();
    assert_eq!(inherited, "SECRET", "the port has the descriptor");
    for sandbox in crate::common::MODES {
        let result = port.run(sandbox, "cat <&9; ls /proc/self/fd");
        // The fourth is that of the listing itself.
        assert_eq!(result["stdout"], "0\n1\n2\n3\n", "{sandbox}: {result}");
    }
}

#[test]
fn the_end_of_input_and_signals_wait_until_commands_have_been_cleaned_up_after() {
    let plant = "git init -q r && git -C r config core.fsmonitor x && touch ready && sleep 1000";
    for (signal, in_background) in
        [("", false), ("", true), ("-TERM", false), ("-TERM", true), ("-INT", false), ("-HUP", false)]
    {
        let mut port = Port::new();
        let args = json!({"command": plant, "run_in_background": in_background});
        let of_session = json!({"tool": "shell_exec", "args": args, "session": {"id": "s"}});
        let frame = framed(&call(&port.settings("required"), &encode(&of_session)));
        port.send(&frame);
        crate::common::wait_until(|| port.path("ws/ready").exists());
        if signal.is_empty() {
            assert!(port.end());
        } else {
            let pid = port.child.id().to_string();
            assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
            assert!(port.child.wait().unwrap().code().is_some_and(|code| code > 128), "{signal}");
        }
        let settings = port.text("ws/r/.git/config");
        assert!(!settings.contains("fsmonitor"), "{settings}");
    }
}

/// A JSON text with an error neither crashes the program nor has an effect.
#[test]
fn json_that_is_absurd_is_refused_on_the_command_line() {
    let dir = TempDir::new().unwrap();
    let write = |json: &str| {
        let mut child = Command::new(crate::common::PROGRAM)
            .args(["call", "file_write", "-", "--default", "allow"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(json.as_bytes()).unwrap();
        (child.wait_with_output().unwrap().status.code(), dir.path().join("made").exists())
    };
    for (value, code) in [
        ("[".repeat(100_000), 2),
        (format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), 2),
        (r#""\ud800""#.to_owned(), 2),
        (r#""\udc00\ud800""#.to_owned(), 2),
        ("1e400".to_owned(), 2),
        ("123456789012345678901234567890".to_owned(), 1),
        (r#""x", "path": 7"#.to_owned(), 1),
        (r#"{"$ref": "x"}"#.to_owned(), 1),
    ] {
        let json = format!(r#"{{"path": "made", "content": {value}}}"#);
        assert_eq!(write(&json), (Some(code), false), "{}", &json[..json.len().min(80)]);
    }
    assert_eq!(write(r#"{"path": "made", "content": "\ud83d\ude00"}"#), (Some(0), true));
}

/// A repository whose objects are never read to their end.
const FIFOS_AS_OBJECTS: &str =
    "git init -q && git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m one &&
    find .git/objects -type f | while read -r object; do rm -f $object && mkfifo $object || exit 1; done";

#[test]
fn calls_that_wait_for_ever_do_not_hold_those_of_other_sessions_nor_short_ones() {
    const WAITING: usize = 150;
    let mut port = Port::new();
    let made =
        Command::new("bash").args(["-c", FIFOS_AS_OBJECTS]).current_dir(port.path("ws")).status().unwrap();
    assert!(made.success());
    let settings = port.settings("required");
    let of = |session: &str, tool: &str, args: Value| {
        encode(&json!({"tool": tool, "args": args, "timeout": 100_000, "session": {"id": session}}))
    };
    // The first call prepares the settings.
    port.assert_answers("nothing");
    for number in 0..WAITING {
        let id = format!("w{number}");
        port.send(&framed(&call_as(&id, &settings, &of("a", "git_log", json!({})))));
    }
    // One that waits for a place does not wait for it when it is cancelled.
    port.send(&framed(&call(&settings, &of("a", "git_log", json!({})))));
    port.send(&framed(b"\x02\x00\x02id"));
    let cancelled = port.reply().unwrap_err();
    assert!(cancelled.to_string().contains("before it had begun"), "{cancelled}");
    let write = json!({"path": "short", "content": "x"});
    for (session, tool, args) in [
        ("b", "shell_exec", json!({"command": "echo b"})),
        ("b", "file_grep", json!({"pattern": "x"})),
        ("a", "file_write", write),
    ] {
        port.send(&framed(&call(&settings, &of(session, tool, args))));
        port.reply().unwrap_or_else(|error| panic!("{tool}: {error}"));
    }
}
