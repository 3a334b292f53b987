//! Declarations of the language server tools.

mod diagnostics;
mod for_model;
mod output;

pub use diagnostics::{CodeDiagnostic, Diagnostics, LspDiagnostics, Severity};
pub use output::{CodeLocation, CodeSymbol, HierarchyCall, HierarchyItem, LspOutput};

use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Door, ExecutionClass, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_workspace::decode_path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The traits of all operations: they change nothing, and start processes.
const TRAITS: Traits = Traits { door: Door::Port, pace: ExecutionClass::Long, ..Traits::READS };
/// Appended to the reason if no server is available. Models see the names that their dialect has for these tools.
pub const INSTEAD: &str = " Use grep to search for names and read to look at files instead.";
/// The name of these operations in rules.
pub const RULE: &str = "LSP";

/// A question to a language server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LspOperation {
    /// Where the symbol at a position is defined.
    GoToDefinition,
    /// Where the symbol at a position is used.
    FindReferences,
    /// Type and documentation of the symbol at a position.
    Hover,
    /// The symbols of a file.
    DocumentSymbol,
    /// Symbols of the workspace by name.
    WorkspaceSymbol,
    /// Where the interface at a position is implemented.
    GoToImplementation,
    /// The function at a position, as call hierarchies name it.
    PrepareCallHierarchy,
    /// The callers of the function at a position.
    IncomingCalls,
    /// The functions that the function at a position calls.
    OutgoingCalls,
}

impl LspOperation {
    /// Whether it needs a position.
    pub fn needs_position(self) -> bool {
        !matches!(self, Self::DocumentSymbol | Self::WorkspaceSymbol)
    }
}

/// Asks a language server about code.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Lsp {
    /// The question. "goToDefinition", "findReferences", "hover", "goToImplementation", "prepareCallHierarchy",
    /// "incomingCalls" and "outgoingCalls" ask about the symbol at line and character; "documentSymbol" lists the
    /// symbols of the file; "workspaceSymbol" finds symbols of the whole workspace by name.
    #[schemars(extend("self_evident" = true))]
    pub operation: LspOperation,
    /// The file that the symbol is in. For "workspaceSymbol" any file of the language.
    #[schemars(extend("self_evident" = true))]
    pub path: String,
    /// 1-based; not for documentSymbol and workspaceSymbol.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub line: Option<u64>,
    /// 1-based, anywhere in the symbol's name.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub character: Option<u64>,
    /// Symbol name for workspaceSymbol.
    #[serde(default)]
    pub query: Option<String>,
}

impl Lsp {
    /// Line and character, if the operation needs them.
    pub fn position(&self) -> Result<Option<(u64, u64)>> {
        match (self.line, self.character) {
            (Some(line @ 1..), Some(character @ 1..)) => Ok(Some((line, character))),
            (None, None) if !self.operation.needs_position() => Ok(None),
            (line, character) => {
                let shown = |value: Option<u64>| value.map_or("absent".to_owned(), |value| value.to_string());
                let message = format!(
                    "line is {} and character is {}; give both, counted from 1",
                    shown(line),
                    shown(character)
                );
                Err(ToolError::new(Reason::InvalidArgument, message))
            }
        }
    }
}

impl Operation for Lsp {
    type Output = LspOutput;
    const TRAITS: Traits = TRAITS;
    const RULE: &'static str = RULE;

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        self.position()?;
        permission(cx, Some(&self.path))
    }

    fn run(self, cx: &CallContext) -> Result<LspOutput, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::answered(result, call, page)
    }
}

/// The service that tells whether a language server would be started for a file.
pub struct IsServed(pub fn(&CallContext, &Path) -> bool);

/// The permission to ask about a file. Answers quote files; permission to read does not include permission to run code.
fn permission(cx: &CallContext, path: Option<&str>) -> Result<PermissionRequest> {
    let file = path.map(|path| FilePath::existing(&cx.workspace.parse_path(path)?)).transpose()?;
    let is_safe = !file.as_ref().is_some_and(|file| runs_code(cx, &decode_path(&file.path)));
    let operand = match file {
        None => Operand::None,
        Some(file) if is_safe => Operand::File(file),
        Some(file) => Operand::Project(file),
    };
    let allowed_by = if is_safe { &["Read"][..] } else { &[] };
    Ok(PermissionRequest { rule: RULE.into(), touches: &["Read"], allowed_by, is_safe, operand })
}

/// Whether asking about a file may run code of the project. A server that is not installed cannot.
fn runs_code(cx: &CallContext, path: &Path) -> bool {
    let is_served = cx.services.get::<IsServed>().is_none_or(|service| (service.0)(cx, path));
    is_served && cx.lsp.runs_code(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_testenv::TestEnv;
    use beamai_tool::{Tool, ToolBinding};
    use serde_json::json;

    fn need_of(args: serde_json::Value) -> Result<PermissionRequest> {
        let env = TestEnv::with(&[("a.py", "x = 1\n")]);
        serde_json::from_value::<Lsp>(args).unwrap().permission(&env.cx)
    }

    #[test]
    fn an_operation_on_a_position_needs_one() {
        for place in [json!({}), json!({"line": 1}), json!({"character": 1})] {
            let mut args = place;
            args["operation"] = "hover".into();
            args["path"] = "a.py".into();
            let error = need_of(args).unwrap_err();
            assert_eq!(error.reason, Reason::InvalidArgument);
            assert!(error.message.contains("give both, counted from 1"), "{error}");
        }
        need_of(json!({"operation": "documentSymbol", "path": "a.py"})).unwrap();
    }

    #[test]
    fn the_rule_names_the_file_and_read_rules_hold() {
        let permission =
            need_of(json!({"operation": "hover", "path": "./a.py", "line": 1, "character": 1})).unwrap();
        assert_eq!(permission.subject(), "LSP(a.py)");
        assert_eq!(
            (permission.touches, permission.allowed_by, permission.is_safe),
            (&["Read"][..], &["Read"][..], true)
        );
        let error = need_of(json!({"operation": "documentSymbol", "path": "../a.py"})).unwrap_err();
        assert_eq!(error.reason, Reason::OutsideWorkspace);
    }

    #[test]
    fn where_code_of_the_project_may_run_somebody_is_asked() {
        let env = TestEnv::with(&[("src/a.rs", "")]);
        let args = json!({"operation": "documentSymbol", "path": "src/a.rs"});
        let lsp: Lsp = serde_json::from_value(args).unwrap();
        let with = |rust: serde_json::Value| {
            let settings = serde_json::from_value(json!({"servers": {"rust": rust}})).unwrap();
            let cx = CallContext { lsp: std::sync::Arc::new(settings), ..env.cx.clone() };
            lsp.permission(&cx).unwrap()
        };
        let permission = with(json!({"command": ["/bin/sh"]}));
        assert_eq!((permission.subject(), permission.is_safe), ("LSP(src/a.rs)".to_owned(), false));
        assert!(
            permission.question("lsp").contains("src/a.rs with a program that may run code of the project")
        );
        assert!(permission.allowed_by.is_empty());
        assert!(with(json!({"command": ["/bin/sh"], "trusted": true})).is_safe);
        let services = beamai_tool::Services::default().with(IsServed(|_, _| false));
        let cx = CallContext { services: std::sync::Arc::new(services), ..env.cx.clone() };
        assert!(lsp.permission(&cx).unwrap().is_safe, "what is not there runs nothing");
    }

    #[test]
    fn the_operations_are_those_of_the_specification() {
        let tool = ToolBinding::<Lsp>::new("lsp", "");
        let values = serde_json::to_value(&tool.parameters()["operation"]).unwrap();
        let expected = json!([
            "goToDefinition",
            "findReferences",
            "hover",
            "documentSymbol",
            "workspaceSymbol",
            "goToImplementation",
            "prepareCallHierarchy",
            "incomingCalls",
            "outgoingCalls"
        ]);
        assert_eq!(values["enum"], expected);
        assert!(!tool.requires_permission());
    }

    #[test]
    fn without_the_port_it_is_listed_but_does_not_run() {
        let env = TestEnv::with(&[("a.py", "x = 1\n")]);
        let error = env.try_call::<Lsp>(json!({"operation": "documentSymbol", "path": "a.py"})).unwrap_err();
        assert_eq!(error.reason, Reason::DoorLost);
    }
}
