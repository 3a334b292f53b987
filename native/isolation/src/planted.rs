//! Files that a command left for later execution outside of the sandbox.

use schemars::JsonSchema;
use serde::Serialize;

/// A file that the person's own git would have executed, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Planted {
    /// The file; relative to the workspace if it is inside.
    pub path: String,
    /// The setting or command in it.
    pub setting: String,
    /// What was done: that it was removed or renamed, or why it is still there.
    pub outcome: String,
}

/// One line, for people and models.
impl std::fmt::Display for Planted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.path, self.setting, self.outcome)
    }
}
