//! Searching: the contents of files, the names of files, what is in a directory.

pub mod glob;
pub mod grep;
#[cfg(test)]
mod ignored;
pub mod list;
mod smallest;

use beamai_base::Result;
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_tool::CallContext;

/// The path where none is given.
fn here() -> String {
    ".".to_owned()
}

/// What an operation needs that tells the names below a path.
fn needs_listing(path: &str, cx: &CallContext) -> Result<PermissionRequest> {
    let operand = Operand::File(FilePath::tree(&cx.workspace.place(path)?)?);
    Ok(PermissionRequest { rule: "Glob".into(), touches: &[], allowed_by: &[], is_safe: true, operand })
}
