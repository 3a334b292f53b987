//! A client that writes and reads lines, as raw as they are.

use crate::common::PROGRAM;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use tempfile::TempDir;

/// The longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A directory with a workspace and a place for temporary files.
pub(crate) struct World {
    pub(crate) dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["workspace", "temp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("workspace/a.txt"), "one\n").unwrap();
        Self { dir }
    }

    /// The program over the workspace.
    pub(crate) fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("mcp").arg("--workspace").arg(self.dir.path().join("workspace")).args(options);
        command.env("TMPDIR", self.temp());
        command
    }

    pub(crate) fn temp(&self) -> std::path::PathBuf {
        self.dir.path().join("temp")
    }

    pub(crate) fn has_temp_dirs(&self) -> bool {
        has_entries(&self.temp())
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join("workspace").join(name)).ok()
    }

    /// A client that has said nothing yet.
    pub(crate) fn client(&self, options: &[&str]) -> Client {
        Client::start(self.command(options))
    }

    /// A client that has shaken hands.
    pub(crate) fn connected(&self, options: &[&str]) -> Client {
        let mut client = self.client(options);
        client.initialize("2025-11-25");
        client
    }
}

fn has_entries(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_some()
}

pub(crate) struct Client {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    next: u64,
}

impl Client {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, output) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { input: child.stdin.take(), child, output, next: 100 }
    }

    pub(crate) fn line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    /// The next message of the server.
    pub(crate) fn hear(&self) -> Value {
        self.output.recv_timeout(PATIENCE).expect("the server says something")
    }

    /// Everything that the server still says, until it ends.
    pub(crate) fn hear_all(&self) -> Vec<Value> {
        let mut heard = Vec::new();
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(message) => heard.push(message),
                Err(RecvTimeoutError::Disconnected) => return heard,
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let result = self.request("initialize", initialize(version));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result["result"].clone()
    }

    /// Sends a request and returns its answer, which must be the next message.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        let answer = self.hear();
        assert_eq!(answer["id"], self.next, "{answer}");
        answer
    }

    /// Begins the call of a tool under an id.
    pub(crate) fn begin(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"].clone()
    }

    pub(crate) fn assert_lives(&mut self) {
        assert_eq!(self.request("ping", json!({}))["result"], json!({}));
    }

    /// The most memory that the program has had so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }

    /// Ends the input and waits for the end of the program.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<Value>) {
        self.input = None;
        let heard = self.hear_all();
        (self.child.wait().unwrap(), heard)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}
