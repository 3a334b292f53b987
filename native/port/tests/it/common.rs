//! A workspace with a host over it, and a look at the machine's processes.

pub(crate) use crate::processes::{assert_none_left, marked, marker};
use beamai_base::{CancelToken, Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Both ways to watch over a command: a pid namespace, and the hunt where there is none.
pub(crate) const MODES: [&str; 2] = ["required", "off"];

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_beamai-port");

/// Every layer of a command whose starts nobody decides about, as results list them.
pub(crate) const LAYERS: [&str; 14] = [
    "user_namespace",
    "pid_namespace",
    "ipc_namespace",
    "uts_namespace",
    "network_namespace",
    "mount_namespace",
    "private_proc",
    "resource_limits",
    "read_only_filesystem",
    "protected_paths",
    "no_capabilities",
    "no_new_privileges",
    "landlock",
    "seccomp",
];

/// Whether other machines and users can be made here. In continuous integration they must be.
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    assert!(
        is_root || std::env::var_os("CI").is_none(),
        "continuous integration has to run these tests as root"
    );
    is_root
}

/// A workspace in a temporary directory with a host that allows everything, and the temporary directory of a session.
pub(crate) struct Env {
    pub(crate) dir: TempDir,
    pub(crate) temp: TempDir,
    pub(crate) host: Host,
}

impl Env {
    pub(crate) fn new() -> Self {
        Self::with("required")
    }

    pub(crate) fn with(sandbox: &str) -> Self {
        Self::under(json!(sandbox))
    }

    /// A workspace under a sandbox with these settings.
    pub(crate) fn under(sandbox: Value) -> Self {
        Self::at(TempDir::new().unwrap(), sandbox)
    }

    /// A workspace in this directory.
    pub(crate) fn at(dir: TempDir, sandbox: Value) -> Self {
        let temp = TempDir::new().unwrap();
        let host = host(dir.path(), json!({"default": "allow"}), sandbox);
        Self { dir, temp, host }
    }

    /// The same workspace under another sandbox.
    pub(crate) fn now_under(mut self, sandbox: Value) -> Self {
        self.host = host(self.dir.path(), json!({"default": "allow"}), sandbox);
        self
    }

    /// The same workspace under another sandbox, and with these rules that deny.
    pub(crate) fn now_denying(mut self, denied: &[&str], sandbox: Value) -> Self {
        self.host = host(self.dir.path(), json!({"default": "allow", "deny": denied}), sandbox);
        self
    }

    /// Whether an attempt of the port program's own succeeds as a command.
    pub(crate) fn attack(&self, attempt: &str) -> bool {
        match self.call(json!({"command": format!("exec {PROGRAM} attack {attempt}")})) {
            CallOutcome::Ok(result, _) => {
                assert_ne!(result["exit_code"], 2, "{attempt}: {result}");
                result["exit_code"] == 0
            }
            // Whoever looks at the memory of all processes may be quicker than the limit of one of them.
            CallOutcome::Error(error) if error.reason == Reason::OutOfMemory => false,
            other => panic!("{attempt}: {other:?}"),
        }
    }

    /// A call without a session, whose temporary directory is memory.
    pub(crate) fn run_alone(&self, command: &str) -> Value {
        match self.host.call(call(json!({"command": command})), CallOptions::default()) {
            CallOutcome::Ok(value, _) => value,
            other => panic!("{other:?}"),
        }
    }

    /// A call in a session with this temporary directory.
    pub(crate) fn run_in_session(&self, temp: &Path, command: &str) -> Value {
        let mut call = call(json!({"command": command}));
        call.session = serde_json::from_value(json!({"temp_dir": temp})).unwrap();
        match self.host.call(call, CallOptions::default()) {
            CallOutcome::Ok(value, _) => value,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn call(&self, args: Value) -> CallOutcome {
        self.host.call(self.made(args), CallOptions::default())
    }

    /// A call of the session.
    pub(crate) fn made(&self, args: Value) -> CallRequest {
        let session = serde_json::from_value(json!({"temp_dir": self.temp.path()})).unwrap();
        CallRequest { session, ..call(args) }
    }

    pub(crate) fn ok(&self, args: Value) -> Value {
        match self.call(args) {
            CallOutcome::Ok(value, _) => value,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn run(&self, command: &str) -> Value {
        self.ok(json!({"command": command}))
    }

    /// Standard output of a command that succeeds.
    pub(crate) fn stdout(&self, command: &str) -> String {
        let result = self.run(command);
        assert_eq!(result["exit_code"], 0, "{result}");
        result["stdout"].as_str().unwrap().to_owned()
    }

    pub(crate) fn fails(&self, args: Value) -> ToolError {
        error(self.call(args))
    }

    /// The outcome of a call that is cancelled as soon as `until` holds.
    pub(crate) fn cancelled_when(&self, args: Value, until: impl Fn() -> bool + Send) -> ToolError {
        let cancel = CancelToken::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                wait_until(until);
                cancel.cancel();
            });
            error(
                self.host
                    .call(self.made(args), CallOptions { cancel: cancel.clone(), ..CallOptions::default() }),
            )
        })
    }
}

/// Asserts that an attempt succeeds without a sandbox and fails under one.
pub(crate) fn assert_prevented(attempt: &str) {
    assert!(Env::with("off").attack(attempt), "{attempt} does not even work where it is allowed");
    assert!(!Env::with("required").attack(attempt), "{attempt} works under the sandbox");
}

pub(crate) fn host(workspace: &Path, permissions: Value, sandbox: impl Into<Value>) -> Host {
    // What starts the launcher is this program otherwise.
    beamai_process::set_program(PROGRAM);
    let sandbox = crate::checkout::visible(reporting(sandbox.into()));
    let workspace = Workspace::open(workspace).unwrap().id();
    let settings = json!({"workspace": workspace, "permissions": permissions, "sandbox": sandbox});
    Host::new(&serde_json::from_value(settings).unwrap(), std::sync::Arc::new(beamai_services::services()))
        .unwrap()
}

/// Names the least tier of the sandboxes that tests require; without it, that is the full one.
pub(crate) const TIER: &str = "BEAMAI_TEST_TIER";

/// The mode `required` with that tier, as the command line has it.
pub(crate) fn required() -> String {
    format!("required:{}", tier())
}

/// Whether the sandboxes that tests require have mounts.
pub(crate) fn is_full() -> bool {
    tier() == "full"
}

fn tier() -> String {
    std::env::var(TIER).unwrap_or_else(|_| "full".to_owned())
}

/// The settings of a sandbox whose results always say how their commands were isolated.
pub(crate) fn reporting(sandbox: Value) -> Value {
    match sandbox {
        Value::String(mode) if mode != "off" => json!({"mode": mode, "tier": tier(), "report": "always"}),
        Value::Object(mut settings) => {
            settings.entry("tier").or_insert_with(|| tier().into());
            settings.insert("report".to_owned(), "always".into());
            settings.into()
        }
        other => other,
    }
}

pub(crate) fn call(args: Value) -> CallRequest {
    serde_json::from_value(json!({"tool": "shell_exec", "args": args})).unwrap()
}

/// A session: its calls go through a host, with an id of their own.
pub(crate) struct InSession<'e> {
    pub(crate) host: &'e Host,
    pub(crate) id: String,
    pub(crate) temp: TempDir,
}

impl<'e> InSession<'e> {
    pub(crate) fn new(host: &'e Host) -> Self {
        Self { host, id: format!("session-{}", marker()), temp: TempDir::new().unwrap() }
    }

    pub(crate) fn call(&self, tool: &str, args: Value) -> CallOutcome {
        let session = json!({"id": self.id, "temp_dir": self.temp.path()});
        let call = json!({"tool": tool, "args": args, "session": session});
        self.host.call(serde_json::from_value(call).unwrap(), CallOptions::default())
    }

    pub(crate) fn ok(&self, tool: &str, args: Value) -> Value {
        match self.call(tool, args) {
            CallOutcome::Ok(value, _) => value,
            other => panic!("{other:?}"),
        }
    }

    /// Starts a command in the background and returns its id.
    pub(crate) fn start(&self, mut args: Value) -> String {
        args["run_in_background"] = json!(true);
        self.ok("shell_exec", args)["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn output(&self, id: &str) -> Value {
        self.ok("shell_output", json!({"id": id}))
    }

    /// The answer of shell_output once the command has ended, with the standard output of all calls.
    pub(crate) fn ended(&self, id: &str) -> Value {
        self.output_when(id, |answer| answer["status"] != "running")
    }

    /// The answer of shell_output once it is as expected, with the standard output of all calls until then.
    pub(crate) fn output_when(&self, id: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let (start, mut stdout) = (Instant::now(), String::new());
        loop {
            let mut answer = self.output(id);
            stdout += answer["stdout"].as_str().unwrap();
            answer["stdout"] = stdout.as_str().into();
            if holds(&answer) {
                return answer;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "it never came to pass: {answer}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the session as a host does, and waits for that.
    pub(crate) fn end(&self) {
        if let Some(wait) = beamai_services::end_session(&self.id) {
            wait();
        }
    }
}

impl Drop for InSession<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn error(outcome: CallOutcome) -> ToolError {
    match outcome {
        CallOutcome::Error(error) => error,
        other => panic!("{other:?}"),
    }
}

/// Waits until something holds; panics after ten seconds.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never came to pass");
        std::thread::sleep(Duration::from_millis(5));
    }
}
