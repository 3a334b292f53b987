//! Searches file contents and file names, and lists directories.

pub mod glob;
pub mod grep;
#[cfg(test)]
mod ignored;
pub mod list;
pub mod remaining;
mod smallest;

use beamai_base::Result;
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_tool::CallContext;

/// Default of `path`: the workspace.
fn here() -> String {
    ".".to_owned()
}

/// The permission request of an operation that reveals the names below a path.
fn needs_listing(path: &str, cx: &CallContext) -> Result<PermissionRequest> {
    let operand = Operand::File(FilePath::tree(&cx.workspace.parse_path(path)?)?);
    Ok(PermissionRequest { rule: "Glob".into(), touches: &[], allowed_by: &[], is_safe: true, operand })
}
