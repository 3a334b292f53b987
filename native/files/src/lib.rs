//! Reads, writes and edits single files.

mod append;
pub mod buffered_file;
mod edit;
mod for_model;
mod mismatch;
pub mod missing;
pub mod placeholder;
mod read;
mod shown_diff;
mod tail;
mod write;

#[cfg(test)]
mod tests;

pub use edit::{FileEdit, FileEditOutput, TextEdit};
pub use read::{FileRead, FileReadOutput};
pub use write::{FileWrite, FileWriteOutput, WriteMode, WriteOperation};

use beamai_base::{Reason, Result, ToolError, excerpt};
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_tool::{CallContext, Interrupt};
use beamai_workspace::{WorkspacePath, WriteGuard};

/// Files up to this size are processed in memory, larger ones in blocks. Small in tests, so that they cover both.
const IN_MEMORY: u64 = if cfg!(test) { 64 << 10 } else { 4 << 20 };

/// The permission request of an operation that changes a file. It includes reading, since results quote the file.
fn need_to_change(
    cx: &CallContext,
    path: &str,
    rule: &str,
    touches: &'static [&'static str],
) -> Result<PermissionRequest> {
    Ok(PermissionRequest {
        rule: rule.to_owned(),
        touches,
        allowed_by: &[],
        is_safe: false,
        operand: Operand::File(FilePath::written(&cx.workspace.parse_path(path)?)?),
    })
}

/// Refuses files larger than the caller's limit.
pub fn refuse_larger(path: &WorkspacePath, size: u64, most: Option<u64>) -> Result<()> {
    match most {
        Some(most) if size > most => {
            let shown = path.display();
            let message = format!("{shown} has {size} bytes; this tool accepts files of up to {most}");
            Err(ToolError::new(Reason::TooLarge, message).file(shown).with("size", size).with("limit", most))
        }
        _ => Ok(()),
    }
}

/// Locks a file for writing. If the wait could not be cancelled on this thread, the call moves to a thread of its own.
fn lock(path: &WorkspacePath, cx: &CallContext) -> Result<WriteGuard, Interrupt> {
    match path.try_lock() {
        Some(guard) => Ok(guard),
        None if cx.inline_bytes.is_some() => Err(Interrupt::Defer),
        None => Ok(path.lock(|| cx.check())?),
    }
}

/// Refuses malformed hashes.
fn check_hash(expected: Option<&str>) -> Result<()> {
    match expected {
        Some(hash) if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let message = format!(
                "expected_hash {:?} is not a hash; give the 64 hexadecimal digits of a result's \"hash\", \
                 or leave it out",
                excerpt(hash)
            );
            Err(ToolError::new(Reason::InvalidArgument, message))
        }
        _ => Ok(()),
    }
}

/// Fails if the file is not the version that the caller has seen.
fn expect_hash(path: &WorkspacePath, expected: Option<&str>, actual: blake3::Hash) -> Result<()> {
    match expected {
        Some(hash) if !actual.to_hex().eq_ignore_ascii_case(hash) => {
            let shown = path.display();
            let message = format!(
                "{shown} changed since it was read: its hash is not expected_hash; read it again and repeat the change"
            );
            Err(ToolError::new(Reason::Stale, message).file(shown).with("hash", actual.to_hex().as_str()))
        }
        _ => Ok(()),
    }
}

/// For optional flags, which are left out of results when false.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
