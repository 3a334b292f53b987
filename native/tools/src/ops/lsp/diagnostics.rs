//! Errors and warnings of files.

use super::{RULE, TRAITS, need};
use crate::context::{CallContext, Stop};
use crate::error::Result;
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::Need;
use crate::tool::Traits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks language servers what is wrong.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[cfg_attr(
    not(all(feature = "port", target_os = "linux")),
    allow(dead_code, reason = "described everywhere, run by the port only")
)]
pub struct LspDiagnostics {
    /// The file to check; when absent, every file that the language servers of the workspace know is told of.
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// Most bytes that the file may have.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) largest: Option<u64>,
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
pub struct Diagnostic {
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
    /// How bad it is.
    pub(crate) severity: Severity,
    /// What is wrong.
    pub(crate) message: String,
    /// Who says so, such as "pyflakes"; null where the server does not tell.
    pub(crate) source: Option<String>,
    /// The checker's own name for it; null where there is none.
    pub(crate) code: Option<String>,
}

/// What [`LspDiagnostics`] returns.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Diagnostics {
    /// What is wrong, by file and place.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether a language server answered. If not, message says why and what to do instead.
    pub(crate) available: bool,
    /// Whether the servers have said all they have to say about the files as they are.
    pub(crate) complete: bool,
    /// The servers' programs.
    pub(crate) servers: Vec<String>,
    /// What else there is to know about the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// How many diagnostics there are.
    pub(crate) total: usize,
    /// Whether there are more than are given.
    pub(crate) truncated: bool,
}

impl Operation for LspDiagnostics {
    type Output = Diagnostics;
    const TRAITS: Traits = TRAITS;
    const RULE: &'static str = RULE;

    fn need(&self, cx: &CallContext) -> Result<Need> {
        need(cx, self.path.as_deref())
    }

    #[cfg(all(feature = "port", target_os = "linux"))]
    fn run(self, cx: &CallContext) -> Result<Diagnostics, Stop> {
        if let Some(path) = &self.path {
            let place = cx.workspace.place(path)?;
            let size = u64::try_from(place.stat()?.st_size).unwrap_or(0);
            crate::ops::file::refuse_larger(&place, size, self.largest)?;
        }
        Ok(super::run::diagnose(self.path.as_deref(), cx)?)
    }

    #[cfg(not(all(feature = "port", target_os = "linux")))]
    fn run(self, _: &CallContext) -> Result<Diagnostics, Stop> {
        Err(super::no_door().into())
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::diagnosed(result, call, page)
    }
}
