//! What the git tools return.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text of a git tool.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct GitText {
    /// The text; where `available` is false, why there is none and what to do instead.
    pub content: String,
    /// False where the workspace has no git repository that this tool may use.
    pub available: bool,
    /// Whether the text ends early because it would be too long.
    pub truncated: bool,
    /// What the text leaves out, or shows otherwise than the git program would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
