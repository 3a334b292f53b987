//! What a language server's answers become.

use super::LspOperation;
use schemars::JsonSchema;
use serde::Serialize;

/// What [`Lsp`](super::Lsp) returns. Of `locations`, `contents`, `symbols`, `items` and `calls`, the one that belongs
/// to the operation is there.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LspOutput {
    /// The operation.
    pub(crate) operation: LspOperation,
    /// Whether a language server answered. If not, message says why and what to do instead.
    pub(crate) available: bool,
    /// The server's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// What else there is to know about the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Where the symbol is defined, used or implemented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) locations: Option<Vec<Location>>,
    /// Type and documentation of the symbol, mostly Markdown; empty when there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contents: Option<String>,
    /// Symbols of the file, in its order, or of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) symbols: Option<Vec<Symbol>>,
    /// Functions at the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Vec<Item>>,
    /// Who calls the function, or what it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<Vec<Call>>,
    /// How many results there are; of a hover, how many characters.
    pub(crate) total: usize,
    /// Whether there are more than are given.
    pub(crate) truncated: bool,
}

/// A place in code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Location {
    /// Path in the workspace, absolute if outside.
    pub(crate) path: String,
    /// Line, counted from 1.
    pub(crate) line: u64,
    /// Character in the line, counted from 1.
    pub(crate) character: u64,
    /// Line of the end.
    pub(crate) end_line: u64,
    /// Character after the last one.
    pub(crate) end_character: u64,
    /// The line's text; absent outside the workspace and where the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<String>,
    /// Whether the file is outside the workspace. Such a file was not read, and in a line with characters beyond
    /// ASCII the character may be counted otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) outside: bool,
}

/// A symbol.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Symbol {
    /// Its name.
    pub(crate) name: String,
    /// Its kind, such as "function", "class" or "variable".
    pub(crate) kind: String,
    /// What more the server says about it, such as its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Name of the symbol that it is in; with dots where several are around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) container: Option<String>,
    /// Where its name is; where the server does not tell, where it begins.
    #[serde(flatten)]
    pub(crate) location: Location,
    /// Last line of all of it, counted from 1.
    pub(crate) last_line: u64,
}

/// A function as call hierarchies name it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Item {
    /// Its name.
    pub(crate) name: String,
    /// Its kind, such as "function" or "method".
    pub(crate) kind: String,
    /// What more the server says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Where its name is.
    #[serde(flatten)]
    pub(crate) location: Location,
}

/// A function that calls or is called.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Call {
    /// The function.
    #[serde(flatten)]
    pub(crate) item: Item,
    /// Where the calls are.
    pub(crate) sites: Vec<Location>,
}
