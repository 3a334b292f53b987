//! A workspace in which every tool of a dialect works: files, a session, a language server, a web server.

use super::server;
use crate::common::PROGRAM;
use beamai_base::{Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, catalogue, catalogue::ToolOrigin};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A workspace and a session in one dialect.
pub(crate) struct Env {
    dialect: &'static str,
    dir: TempDir,
    host: Host,
    /// The session's temporary directory.
    temp: TempDir,
    state: RefCell<Value>,
}

impl Env {
    /// A workspace where everything is allowed.
    pub(crate) fn new(dialect: &'static str) -> Self {
        Self::with(dialect, json!({"default": "allow"}))
    }

    /// A workspace with these permissions.
    pub(crate) fn with(dialect: &'static str, permissions: Value) -> Self {
        beamai_process::set_program(PROGRAM);
        let dir = TempDir::new().unwrap();
        let settings = json!({
            "workspace": Workspace::open(dir.path()).unwrap().id(),
            "permissions": permissions,
            "sandbox": crate::checkout::visible(json!("required")),
            "lsp": {"servers": {"fake": language_server(dir.path())}},
            "web": {
                "allow_addresses": [server::address()],
                "search": {"provider": "searxng", "base_url": server::url("/")},
            },
        });
        let host = Host::new(
            &serde_json::from_value(settings).unwrap(),
            std::sync::Arc::new(beamai_services::services()),
        )
        .unwrap();
        Self { dialect, dir, host, temp: TempDir::new().unwrap(), state: RefCell::new(json!({})) }
    }

    /// A workspace with these files.
    pub(crate) fn files(dialect: &'static str, files: &[(&str, &str)]) -> Self {
        let env = Self::new(dialect);
        files.iter().for_each(|(path, content)| env.file(path, content));
        env
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    /// The absolute path, as an argument.
    pub(crate) fn absolute(&self, path: &str) -> String {
        self.path(path).display().to_string()
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Makes a call with what the host adds to it, such as `answers`.
    pub(crate) fn outcome(&self, tool: &str, args: &Value, more: Value) -> CallOutcome {
        let mut call = more;
        call["tool"] = tool.into();
        call["dialect"] = self.dialect.into();
        call["args"] = args.clone();
        let temp = self.temp.path();
        call["session"] = json!({"id": temp, "temp_dir": temp, "state": *self.state.borrow()});
        let call: CallRequest = serde_json::from_value(call).unwrap();
        let outcome = self.host.call(call, CallOptions::default());
        if let CallOutcome::Ok(_, Some(state)) = &outcome {
            *self.state.borrow_mut() = json!(state);
        }
        outcome
    }

    pub(crate) fn try_call(&self, tool: &str, args: &Value) -> Result<Value, ToolError> {
        match self.outcome(tool, args, json!({})) {
            CallOutcome::Ok(value, _) => Ok(value),
            CallOutcome::Error(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    /// A call that succeeds.
    pub(crate) fn call(&self, tool: &str, args: Value) -> Value {
        self.try_call(tool, &args).unwrap_or_else(|error| panic!("{tool} {args}: {error}"))
    }

    /// The text that a model gets of a call that succeeds, at most `limit` characters.
    pub(crate) fn text(&self, tool: &str, args: &Value, limit: usize) -> String {
        let (origin, result) = (ToolOrigin::Dialect(self.dialect), self.call(tool, args.clone()));
        let text =
            catalogue::text_for_model(origin, tool, args.as_object().unwrap(), &result, limit).unwrap();
        assert!(text.chars().count() <= limit, "{tool} {args}: {}", text.chars().count());
        text
    }

    /// Runs git in the workspace.
    pub(crate) fn git(&self, args: &[&str]) {
        let settings =
            ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
        let status = Command::new("git").args(settings).args(args).current_dir(self.path("")).status();
        assert!(status.unwrap().success(), "{args:?}");
    }

    /// Each call fails with the tool's name and this reason.
    pub(crate) fn refuses(&self, calls: &[(&str, Value, Reason)]) {
        for (tool, args, reason) in calls {
            let error = self.try_call(tool, args).expect_err(&format!("{tool} {args}"));
            assert_eq!((error.reason, error.tool.as_str()), (*reason, *tool), "{tool} {args}: {error}");
            assert!(error.message.len() > 10, "{tool} {args}: {error}");
        }
    }
}

/// So many numbered lines.
pub(crate) fn numbered(count: usize) -> String {
    (1..=count).fold(String::new(), |mut text, number| {
        _ = writeln!(text, "line {number}");
        text
    })
}

fn language_server(dir: &Path) -> Value {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/lsp/fake_server.py");
    let range = json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}});
    let function = json!({"name": "foo", "kind": 12, "uri": "@uri", "range": range, "selectionRange": range});
    let location = json!({"uri": "@uri", "range": range});
    let answer = json!({
        "textDocument/definition": [location],
        "textDocument/implementation": [location],
        "textDocument/references": [location],
        "textDocument/hover": {"contents": "fn foo()"},
        "textDocument/documentSymbol": [{"name": "foo", "kind": 12, "range": range, "selectionRange": range}],
        "workspace/symbol": [],
        "textDocument/prepareCallHierarchy": [function],
        "callHierarchy/incomingCalls": [],
        "callHierarchy/outgoingCalls": [],
    });
    let script = json!({"answer": answer, "publish": [[0, "current", ["it is wrong"]]]});
    let log = dir.with_extension("log");
    json!({"command": ["python3", program, log, script.to_string()], "extensions": ["fake"]})
}
