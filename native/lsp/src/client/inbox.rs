//! Messages from a server: responses, notifications, requests.

use super::handshake::{ServerCapabilities, folders};
use super::server::{INITIALIZE, LanguageServer};
use super::state::{ServerPhase, ServerReply};
use super::uri::path_of;
use super::wire::{PublishDiagnostics, ResponseError};
use serde_json::{Value, json};
use std::sync::Arc;

impl LanguageServer {
    /// Handles a message.
    pub(super) fn handle(&self, mut message: Value) {
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message["method"].as_str().map(str::to_owned);
        match (method, id) {
            (Some(method), Some(id)) => self.answer(&method, &id, &message["params"]),
            (Some(method), None) => self.handle_notification(&method, message["params"].take()),
            (None, Some(id)) => self.handle_response(&id, reply(message)),
            (None, None) => {}
        }
        self.wake();
    }

    /// Handles the response to a request.
    fn handle_response(&self, id: &Value, reply: ServerReply) {
        match id.as_u64() {
            Some(INITIALIZE) => self.begin(reply),
            Some(id) => self.state().reply(id, reply),
            None => {}
        }
    }

    /// Handles the response to `initialize`. `initialized` must be sent before any other message.
    fn begin(&self, reply: ServerReply) {
        let mut state = self.state();
        if !matches!(state.phase, ServerPhase::Starting) {
            return;
        }
        match reply {
            Ok(answer) => {
                self.notify("initialized", &json!({}));
                let settings = &self.plan.identity.spec.settings;
                if !settings.is_null() {
                    self.notify("workspace/didChangeConfiguration", &json!({"settings": settings}));
                }
                state.expect_work();
                state.phase = ServerPhase::Ready(Arc::new(ServerCapabilities::of(&answer)));
            }
            Err(error) => state.phase = ServerPhase::Broken(self.plan.broken(&error.message)),
        }
    }

    /// Handles a notification.
    fn handle_notification(&self, method: &str, params: Value) {
        match method {
            "textDocument/publishDiagnostics" => self.publish(params),
            "$/progress" => {
                let kind = params["value"]["kind"].as_str().unwrap_or_default();
                self.state().progress(&params["token"], kind);
            }
            // An extension of clangd: it reports the state of each file.
            "textDocument/clangd.fileStatus" => {
                if let Some(path) = params["uri"].as_str().and_then(path_of) {
                    self.state().work_on(path, params["state"] != "idle");
                }
            }
            "experimental/serverStatus" => self.state().loading(params["quiescent"] == false),
            _ => {}
        }
    }

    fn publish(&self, params: Value) {
        let Ok(said) = serde_json::from_value::<PublishDiagnostics>(params) else { return };
        let Some(path) = path_of(&said.uri) else { return };
        self.state().publish(path, said.version, said.diagnostics);
    }

    /// Answers a request of the server. None of them changes anything.
    fn answer(&self, method: &str, id: &Value, params: &Value) {
        let answer = match method {
            "workspace/configuration" => Ok(self.configuration(params)),
            "workspace/workspaceFolders" => Ok(folders(&self.plan)),
            "workspace/applyEdit" => {
                Ok(json!({"applied": false, "failureReason": "this client applies no edits"}))
            }
            "window/showDocument" => Ok(json!({"success": false})),
            "workspace/diagnostic/refresh" => {
                self.state().note_change();
                Ok(Value::Null)
            }
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/codeLens/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/inlineValue/refresh"
            | "workspace/foldingRange/refresh" => Ok(Value::Null),
            _ => Err(json!({"code": -32601, "message": format!("this client does not know {method}")})),
        };
        self.post(&match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        });
    }

    /// The host's settings for the requested sections.
    fn configuration(&self, params: &Value) -> Value {
        let items = params["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let section = |item: &Value| {
            let settings = &self.plan.identity.spec.settings;
            match item["section"].as_str().unwrap_or_default() {
                "" => settings.clone(),
                path => path.split('.').fold(settings, |value, key| &value[key]).clone(),
            }
        };
        items.iter().map(section).collect()
    }
}

fn reply(mut message: Value) -> ServerReply {
    match message.get_mut("error").map(Value::take) {
        None | Some(Value::Null) => Ok(message["result"].take()),
        Some(error) => Err(serde_json::from_value(error)
            .unwrap_or_else(|_| ResponseError { code: 0, message: "an error without a message".to_owned() })),
    }
}
