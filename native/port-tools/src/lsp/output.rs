//! Results of the language server tools.

use super::LspOperation;
use schemars::JsonSchema;
use serde::Serialize;

/// Result of [`Lsp`](super::Lsp). Of `locations`, `contents`, `symbols`, `items` and `calls`, the one for the operation
/// is present.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LspOutput {
    /// The operation.
    pub operation: LspOperation,
    /// Whether a language server answered. If not, message says why and what to do instead.
    pub available: bool,
    /// The server's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Further information about the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the host can configure so that there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configure: Option<String>,
    /// Where the symbol is defined, used or implemented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<CodeLocation>>,
    /// Type and documentation of the symbol, usually Markdown; empty if the server has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
    /// Symbols of the file, in its order, or of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Vec<CodeSymbol>>,
    /// Functions at the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<HierarchyItem>>,
    /// The callers of the function, or the functions that it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<HierarchyCall>>,
    /// Number of results; for hover, number of characters.
    pub total: usize,
    /// Whether there are more than returned.
    pub truncated: bool,
}

/// A location in code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct CodeLocation {
    /// Path in the workspace, absolute if outside.
    pub path: String,
    /// 1-based line.
    pub line: u64,
    /// 1-based character in the line.
    pub character: u64,
    /// Line of the end.
    pub end_line: u64,
    /// Character after the end.
    pub end_character: u64,
    /// The line's text; absent outside the workspace, and if the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Whether the file is outside the workspace. It was not read then, so the character may be off in lines with
    /// non-ASCII characters.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// A symbol.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CodeSymbol {
    /// Its name.
    pub name: String,
    /// Its kind, such as "function", "class" or "variable".
    pub kind: String,
    /// Further information from the server, such as the symbol's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Name of the enclosing symbol; several are joined with dots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Position of its name, or of its start if the server does not tell.
    #[serde(flatten)]
    pub location: CodeLocation,
    /// Its last line, 1-based.
    pub last_line: u64,
}

/// A function in a call hierarchy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HierarchyItem {
    /// Its name.
    pub name: String,
    /// Its kind, such as "function" or "method".
    pub kind: String,
    /// Further information from the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Position of its name.
    #[serde(flatten)]
    pub location: CodeLocation,
}

/// A caller or callee.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HierarchyCall {
    /// The function.
    #[serde(flatten)]
    pub item: HierarchyItem,
    /// Positions of the calls.
    pub sites: Vec<CodeLocation>,
}
