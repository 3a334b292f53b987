//! How client and server tell each other what they can do.

use super::encoding::Encoding;
use super::plan::Plan;
use super::uri::uri_of;
use serde_json::{Value, json};

/// What a server can do, as it says.
#[derive(Debug)]
pub(crate) struct Capabilities {
    capabilities: Value,
    /// What it counts in a line.
    pub encoding: Encoding,
}

impl Capabilities {
    /// Of the answer to `initialize`.
    pub(super) fn of(answer: &Value) -> Self {
        let capabilities = answer["capabilities"].clone();
        let said = capabilities["positionEncoding"].as_str().and_then(Encoding::named);
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
fn assumed(server: &Value) -> Encoding {
    match server.as_str() {
        Some("pylsp") => Encoding::Utf32,
        _ => Encoding::Utf16,
    }
}

/// What a server is told first.
pub(super) fn initialize(plan: &Plan) -> Value {
    json!({
        // A server that looked for this process would not find it from within its namespace.
        "processId": null,
        "clientInfo": {"name": "beamai", "version": env!("CARGO_PKG_VERSION")},
        "rootPath": plan.workspace.path().to_str(),
        "rootUri": uri_of(plan.workspace.path()),
        "workspaceFolders": folders(plan),
        "initializationOptions": plan.identity.what.options,
        "capabilities": client(),
        "trace": "off",
    })
}

/// The workspace as the protocol has it.
pub(super) fn folders(plan: &Plan) -> Value {
    let path = plan.workspace.path();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    json!([{"uri": uri_of(path), "name": name}])
}

fn client() -> Value {
    json!({
        "general": {"positionEncodings": Encoding::OFFERED},
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
        let can = Capabilities::of(&json!({"capabilities": {
            "hoverProvider": {}, "definitionProvider": false, "positionEncoding": "utf-8",
            "textDocumentSync": {"save": {"includeText": true}},
        }}));
        assert_eq!(
            (can.has("hoverProvider"), can.has("definitionProvider"), can.has("x")),
            (true, false, false)
        );
        assert_eq!((can.encoding, can.save()), (Encoding::Utf8, Some(true)));
    }

    #[test]
    fn what_is_not_said_is_the_protocols_default() {
        let can = Capabilities::of(&json!({"capabilities": {"textDocumentSync": 1}}));
        assert_eq!((can.encoding, can.save()), (Encoding::Utf16, None));
        let pylsp = json!({"capabilities": {}, "serverInfo": {"name": "pylsp"}});
        assert_eq!(Capabilities::of(&pylsp).encoding, Encoding::Utf32);
    }
}
