//! The operations, one file per family.

mod coverage;
pub mod file;
pub mod git;
pub mod glob;
mod globs;
pub mod grep;
pub mod list;
pub mod lsp;
pub mod patch;
pub mod probe;
pub mod question;
pub mod shell;
pub mod skill;
mod smallest;
pub mod task;
#[cfg(test)]
pub(crate) mod testenv;
pub mod todo;
mod walk;
pub mod web;

#[cfg(all(feature = "port", target_os = "linux"))]
pub(crate) use coverage::Tally;
pub use coverage::{Coverage, Skipped};
#[cfg(all(feature = "port", target_os = "linux"))]
pub(crate) use walk::{Entry, Select, Visit, Walk};

use crate::context::CallContext;
use crate::error::Result;
use crate::policy::{FilePath, Need, Operand};

/// The path where none is given.
fn here() -> String {
    ".".to_owned()
}

/// What an operation needs that tells the names below a path.
fn needs_listing(path: &str, cx: &CallContext) -> Result<Need> {
    let operand = Operand::File(FilePath::tree(&cx.workspace.place(path)?)?);
    Ok(Need { rule: "Glob".into(), touches: &[], allowed_by: &[], is_safe: true, operand })
}
