//! A workspace with language servers: real ones, and one that does as the test says.

use crate::common::{PROGRAM, wait_until};
use beamai_base::ToolError;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) struct Env {
    pub(crate) dir: TempDir,
    /// Where the fake server logs; outside the workspace.
    logs: TempDir,
    pub(crate) host: Host,
}

impl Env {
    /// A workspace for real servers.
    pub(crate) fn new() -> Self {
        Self::with(|_| json!({}))
    }

    /// A workspace in which files with the extension `fake` have a server with this script.
    pub(crate) fn fake(script: Value) -> Self {
        Self::with(|log| json!({"servers": {"fake": fake(log, &script)}}))
    }

    /// A workspace with the settings that are made with the path of the log.
    pub(crate) fn with(settings: impl FnOnce(&Path) -> Value) -> Self {
        beamai_process::set_program(PROGRAM);
        let (dir, logs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let id = Workspace::open(dir.path()).unwrap().id();
        let lsp = settings(&logs.path().join("log"));
        let sandbox = crate::checkout::visible(json!({"writable": [logs.path()]}));
        let settings =
            json!({"workspace": id, "permissions": {"default": "allow"}, "sandbox": sandbox, "lsp": lsp});
        let host = Host::new(
            &serde_json::from_value(settings).unwrap(),
            std::sync::Arc::new(beamai_services::services()),
        )
        .unwrap();
        let env = Self { dir, logs, host };
        env.file("a.fake", "foo(a, b)\nfoo()\n");
        env
    }

    /// The same workspace under other settings.
    pub(crate) fn under(mut self, mut settings: Value) -> Self {
        settings["workspace"] = json!(Workspace::open(self.dir.path()).unwrap().id());
        let own = settings.get("sandbox").cloned();
        let own = own.unwrap_or_else(|| json!({"writable": [self.logs.path()]}));
        settings["sandbox"] = crate::checkout::visible(own);
        self.host = Host::new(
            &serde_json::from_value(settings).unwrap(),
            std::sync::Arc::new(beamai_services::services()),
        )
        .unwrap();
        self
    }

    /// Where the fake server logs; its arguments have it.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.logs.path().join("log")
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn try_call(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        self.run(tool, args, None, CallOptions::default())
    }

    /// A call with so many milliseconds to end.
    pub(crate) fn run(
        &self,
        tool: &str,
        args: Value,
        timeout: Option<u64>,
        run: CallOptions,
    ) -> Result<Value, ToolError> {
        let call = json!({"tool": tool, "args": args, "timeout": timeout});
        match self.host.call(serde_json::from_value::<CallRequest>(call).unwrap(), run) {
            CallOutcome::Ok(value, _) => Ok(value),
            CallOutcome::Error(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    /// An operation that must be carried out.
    pub(crate) fn lsp(&self, args: Value) -> Value {
        let answer = self.try_call("lsp", args).unwrap();
        assert_eq!(answer["available"], true, "{answer}");
        answer
    }

    /// Hovers over the first character of the file `a.fake`.
    pub(crate) fn hover(&self) -> Result<Value, ToolError> {
        self.try_call("lsp", hover())
    }

    pub(crate) fn diagnostics(&self, path: &str) -> Value {
        let answer = self.try_call("lsp_diagnostics", json!({"path": path})).unwrap();
        assert_eq!(answer["available"], true, "{answer}");
        answer
    }

    /// What the fake server was told, by method.
    pub(crate) fn told(&self, method: &str) -> Vec<Value> {
        self.log()
            .into_iter()
            .filter(|message| message["method"] == method)
            .map(|mut one| one["params"].take())
            .collect()
    }

    pub(crate) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn wait_for(&self, method: &str) -> Value {
        wait_until(|| !self.told(method).is_empty());
        self.told(method).remove(0)
    }
}

/// The settings of a fake server.
pub(crate) fn fake(log: &Path, script: &Value) -> Value {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/lsp/fake_server.py");
    json!({"command": ["python3", program, log, script.to_string()], "extensions": ["fake"]})
}

pub(crate) fn hover() -> Value {
    json!({"operation": "hover", "path": "a.fake", "line": 1, "character": 1})
}

/// A range of one line as the protocol writes it.
pub(crate) fn range(line: u64, from: u64, to: u64) -> Value {
    json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}})
}
