//! Errors and warnings of files.

use super::{RULE, TRAITS, permission};
use beamai_base::Result;
use beamai_policy::PermissionRequest;
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks language servers for errors and warnings.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct LspDiagnostics {
    /// The file to check. Default: every file that the running language servers know.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub path: Option<String>,
    /// Maximum size of the file in bytes.
    #[serde(skip)]
    #[schemars(skip)]
    pub largest: Option<u64>,
}

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// Information.
    Information,
    /// A suggestion.
    Hint,
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct CodeDiagnostic {
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
    /// Severity.
    pub severity: Severity,
    /// The message.
    pub message: String,
    /// The checker, such as "pyflakes"; null if unknown.
    pub source: Option<String>,
    /// The checker's code; null if there is none.
    pub code: Option<String>,
}

/// Result of [`LspDiagnostics`].
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Diagnostics {
    /// The diagnostics, sorted by file and position.
    pub diagnostics: Vec<CodeDiagnostic>,
    /// Whether a language server answered. If not, message says why and what to do instead.
    pub available: bool,
    /// Whether the servers have finished checking the current files.
    pub complete: bool,
    /// The servers' programs.
    pub servers: Vec<String>,
    /// Further information about the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the host can configure so that there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configure: Option<String>,
    /// Number of diagnostics.
    pub total: usize,
    /// Whether there are more than returned.
    pub truncated: bool,
}

impl Operation for LspDiagnostics {
    type Output = Diagnostics;
    const TRAITS: Traits = TRAITS;
    const RULE: &'static str = RULE;

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        permission(cx, self.path.as_deref())
    }

    fn run(self, cx: &CallContext) -> Result<Diagnostics, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::diagnosed(result, call, page)
    }
}
