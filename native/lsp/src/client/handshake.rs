//! Capabilities of client and server.

use super::encoding::PositionEncoding;
use super::plan::ServerPlan;
use super::uri::uri_of;
use serde_json::{Value, json};

/// The capabilities of a server.
#[derive(Debug)]
pub(crate) struct ServerCapabilities {
    capabilities: Value,
    /// The unit that it counts in a line.
    pub encoding: PositionEncoding,
}

impl ServerCapabilities {
    /// From the result of `initialize`.
    pub(super) fn of(answer: &Value) -> Self {
        let capabilities = answer["capabilities"].clone();
        let said = capabilities["positionEncoding"].as_str().and_then(PositionEncoding::named);
        Self { encoding: said.unwrap_or_else(|| assumed(&answer["serverInfo"]["name"])), capabilities }
    }

    /// Whether the server has the capability of that name, such as `hoverProvider`.
    pub(crate) fn has(&self, name: &str) -> bool {
        !matches!(self.capabilities[name], Value::Null | Value::Bool(false))
    }

    /// Whether the server wants notifications of saved files; the value is whether they include the text.
    pub(super) fn save(&self) -> Option<bool> {
        match &self.capabilities["textDocumentSync"]["save"] {
            Value::Null | Value::Bool(false) => None,
            save => Some(save["includeText"] == true),
        }
    }

    /// The identifier of the server's pull diagnostics.
    pub(crate) fn diagnostics_identifier(&self) -> &Value {
        &self.capabilities["diagnosticProvider"]["identifier"]
    }
}

/// The protocol's default, and the encoding that servers without this capability actually use.
fn assumed(server: &Value) -> PositionEncoding {
    match server.as_str() {
        Some("pylsp") => PositionEncoding::Utf32,
        _ => PositionEncoding::Utf16,
    }
}

/// The parameters of `initialize`.
pub(super) fn initialize(plan: &ServerPlan) -> Value {
    json!({
        // A server cannot see this process from its PID namespace, and would exit.
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

/// The workspace as a list of workspace folders.
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
        // An extension of rust-analyzer: it reports when it has loaded the project.
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
