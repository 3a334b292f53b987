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

/// Asks language servers what is wrong.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct LspDiagnostics {
    /// The file to check. Default: every file that the running language servers know.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub path: Option<String>,
    /// Most bytes that the file may have.
    #[serde(skip)]
    #[schemars(skip)]
    pub largest: Option<u64>,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is wrong.
    Error,
    /// It may be wrong.
    Warning,
    /// It is worth knowing.
    Information,
    /// It could be better.
    Hint,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct CodeDiagnostic {
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
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Who says so, such as "pyflakes"; null where the server does not tell.
    pub source: Option<String>,
    /// The checker's own name for it; null where there is none.
    pub code: Option<String>,
}

/// What [`LspDiagnostics`] returns.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Diagnostics {
    /// What is wrong, by file and place.
    pub diagnostics: Vec<CodeDiagnostic>,
    /// Whether a language server answered. If not, message says why and what to do instead.
    pub available: bool,
    /// Whether the servers have said all they have to say about the files as they are.
    pub complete: bool,
    /// The servers' programs.
    pub servers: Vec<String>,
    /// What else there is to know about the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the host can change so that there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configure: Option<String>,
    /// How many diagnostics there are.
    pub total: usize,
    /// Whether there are more than are given.
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
