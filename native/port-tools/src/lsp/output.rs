//! What a language server's answers become.

use super::LspOperation;
use schemars::JsonSchema;
use serde::Serialize;

/// What [`Lsp`](super::Lsp) returns. Of `locations`, `contents`, `symbols`, `items` and `calls`, the one that belongs
/// to the operation is there.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LspOutput {
    /// The operation.
    pub operation: LspOperation,
    /// Whether a language server answered. If not, message says why and what to do instead.
    pub available: bool,
    /// The server's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What else there is to know about the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the host can change so that there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configure: Option<String>,
    /// Where the symbol is defined, used or implemented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<CodeLocation>>,
    /// Type and documentation of the symbol, mostly Markdown; empty when there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
    /// Symbols of the file, in its order, or of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Vec<CodeSymbol>>,
    /// Functions at the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<HierarchyItem>>,
    /// Who calls the function, or what it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<HierarchyCall>>,
    /// How many results there are; of a hover, how many characters.
    pub total: usize,
    /// Whether there are more than are given.
    pub truncated: bool,
}

/// A place in code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct CodeLocation {
    /// Path in the workspace, absolute if outside.
    pub path: String,
    /// Line, counted from 1.
    pub line: u64,
    /// Character in the line, counted from 1.
    pub character: u64,
    /// Line of the end.
    pub end_line: u64,
    /// Character after the last one.
    pub end_character: u64,
    /// The line's text; absent outside the workspace and where the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Whether the file is outside the workspace. Such a file was not read, and in a line with characters beyond
    /// ASCII the character may be counted otherwise.
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
    /// What more the server says about it, such as its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Name of the symbol that it is in; with dots where several are around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Where its name is; where the server does not tell, where it begins.
    #[serde(flatten)]
    pub location: CodeLocation,
    /// Last line of all of it, counted from 1.
    pub last_line: u64,
}

/// A function as call hierarchies name it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HierarchyItem {
    /// Its name.
    pub name: String,
    /// Its kind, such as "function" or "method".
    pub kind: String,
    /// What more the server says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Where its name is.
    #[serde(flatten)]
    pub location: CodeLocation,
}

/// A function that calls or is called.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HierarchyCall {
    /// The function.
    #[serde(flatten)]
    pub item: HierarchyItem,
    /// Where the calls are.
    pub sites: Vec<CodeLocation>,
}
