//! How client and server tell each other what they can do.

use super::encoding::PositionEncoding;
use super::plan::ServerPlan;
use super::uri::uri_of;
use serde_json::{Value, json};

/// What a server can do, as it says.
#[derive(Debug)]
pub(crate) struct ServerCapabilities {
    capabilities: Value,
    /// What it counts in a line.
    pub encoding: PositionEncoding,
}

impl ServerCapabilities {
    /// Of the answer to `initialize`.
    pub(super) fn of(answer: &Value) -> Self {
        let capabilities = answer["capabilities"].clone();
        let said = capabilities["positionEncoding"].as_str().and_then(PositionEncoding::named);
        Self { encoding: said.unwrap_or_else(|| assumed(&answer["serverInfo"]["name"])), capabilities }
    }

    /// Whether the server has the capability of that name, such as `hoverProvider`.
    pub(crate) fn has(&self, name: &str) -> bool {
        !matches!(self.capabilities[name], Value::Null | Value::Bool(false))
    }

    /// Whether the server wants to know when a file is saved; inside, whether it wants the text with that.
    pub(super) fn save(&self) -> Option<bool> {
        match &self.capabilities["textDocumentSync"]["save"] {
            Value::Null | Value::Bool(false) => None,
            save => Some(save["includeText"] == true),
        }
    }

    /// What the server calls its diagnostics, where it gives them when asked.
    pub(crate) fn diagnostics_identifier(&self) -> &Value {
        &self.capabilities["diagnosticProvider"]["identifier"]
    }
}

/// The protocol's default, and what a server that ignores it counts in truth.
fn assumed(server: &Value) -> PositionEncoding {
    match server.as_str() {
        Some("pylsp") => PositionEncoding::Utf32,
        _ => PositionEncoding::Utf16,
    }
}

/// What a server is told first.
pub(super) fn initialize(plan: &ServerPlan) -> Value {
    json!({
        // A server that looked for this process would not find it from within its namespace.
        "processId": null,
        "clientInfo": {"name": "beamai", "version": env!("CARGO_PKG_VERSION")},
        "rootPath": plan.workspace.path().to_str(),
        "rootUri": uri_of(plan.workspace.path()),
        "workspaceFolders": folders(plan),
        "initializationOptions": plan.identity.spec.options,
        "capabilities": client(),
        "trace": "off",
    })
}

/// The workspace as the protocol has it.
pub(super) fn folders(plan: &ServerPlan) -> Value {
    let path = plan.workspace.path();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    json!([{"uri": uri_of(path), "name": name}])
}

fn client() -> Value {
    json!({
        "general": {"positionEncodings": PositionEncoding::OFFERED},
        "window": {"workDoneProgress": true},
        "workspace": {
            "applyEdit": false,
            "configuration": true,
            "workspaceFolders": true,
            "didChangeWatchedFiles": {"dynamicRegistration": true},
            "symbol": {},
        },
        "textDocument": {
            "synchronization": {"didSave": true},
            "publishDiagnostics": {"versionSupport": true},
            "diagnostic": {},
            "hover": {"contentFormat": ["markdown", "plaintext"]},
            "definition": {"linkSupport": true},
            "implementation": {"linkSupport": true},
            "references": {},
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
            "callHierarchy": {},
        },
        // An extension by which rust-analyzer says when it has loaded the project.
        "experimental": {"serverStatusNotification": true},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_what_it_can() {
        let can = ServerCapabilities::of(&json!({"capabilities": {
            "hoverProvider": {}, "definitionProvider": false, "positionEncoding": "utf-8",
            "textDocumentSync": {"save": {"includeText": true}},
        }}));
        assert_eq!(
            (can.has("hoverProvider"), can.has("definitionProvider"), can.has("x")),
            (true, false, false)
        );
        assert_eq!((can.encoding, can.save()), (PositionEncoding::Utf8, Some(true)));
    }

    #[test]
    fn what_is_not_said_is_the_protocols_default() {
        let can = ServerCapabilities::of(&json!({"capabilities": {"textDocumentSync": 1}}));
        assert_eq!((can.encoding, can.save()), (PositionEncoding::Utf16, None));
        let pylsp = json!({"capabilities": {}, "serverInfo": {"name": "pylsp"}});
        assert_eq!(ServerCapabilities::of(&pylsp).encoding, PositionEncoding::Utf32);
    }
}
