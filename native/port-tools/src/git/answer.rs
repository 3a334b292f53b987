//! The result type of the reading git tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text output of a git tool.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct GitText {
    /// The text; if `available` is false, the reason and what to do instead.
    pub content: String,
    /// False if the workspace has no git repository that this tool can use.
    pub available: bool,
    /// Whether the text was cut at the limit; its last line says so then.
    pub truncated: bool,
    /// What the text omits, or shows differently from the git program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
