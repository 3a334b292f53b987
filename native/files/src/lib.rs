//! Reading, writing and editing single files.

mod append;
pub mod buffered_file;
mod edit;
mod for_model;
mod mismatch;
pub mod missing;
pub mod placeholder;
mod read;
mod tail;
mod write;

#[cfg(test)]
mod tests;

pub use edit::{FileEdit, FileEditOutput};
pub use read::{FileRead, FileReadOutput};
pub use write::{FileWrite, FileWriteOutput, WriteMode, WriteOperation};

use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_tool::{CallContext, Interrupt};
use beamai_workspace::{WorkspacePath, WriteGuard};

/// Files up to this size are worked on in memory, larger ones in pieces. Small in tests, so that these see both.
const IN_MEMORY: u64 = if cfg!(test) { 64 << 10 } else { 4 << 20 };

/// The need of an operation that changes a file. Its answers quote the file, so it discloses, too.
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

/// Refuses more bytes than a caller takes of a file, or gives to it.
pub fn refuse_larger(path: &WorkspacePath, size: u64, most: Option<u64>) -> Result<()> {
    match most {
        Some(most) if size > most => {
            let shown = path.display();
            let message = format!("{shown} has {size} bytes, and this tool takes files of up to {most}");
            Err(ToolError::new(Reason::TooLarge, message).file(shown).with("size", size).with("limit", most))
        }
        _ => Ok(()),
    }
}

/// The right to change a file. A call that could not be cancelled while it waits moves to a thread of its own.
fn lock(path: &WorkspacePath, cx: &CallContext) -> Result<WriteGuard, Interrupt> {
    match path.try_lock() {
        Some(guard) => Ok(guard),
        None if cx.inline_bytes.is_some() => Err(Interrupt::Defer),
        None => Ok(path.lock(|| cx.check())?),
    }
}

/// Refuses a hash that no file can have.
fn check_hash(expected: Option<&str>) -> Result<()> {
    match expected {
        Some(hash) if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let message = format!(
                "expected_hash {hash:?} is not a hash; give the 64 hexadecimal digits of a result's \"hash\", \
                 or leave it out"
            );
            Err(ToolError::new(Reason::InvalidArgument, message))
        }
        _ => Ok(()),
    }
}

/// Refuses a file that is not the one the caller has seen.
fn expect_hash(path: &WorkspacePath, expected: Option<&str>, actual: blake3::Hash) -> Result<()> {
    match expected {
        Some(hash) if !actual.to_hex().eq_ignore_ascii_case(hash) => {
            let shown = path.display();
            let message = format!(
                "{shown} changed since it was read (its hash is {actual}, not {hash}); read it again and repeat \
                 the change"
            );
            Err(ToolError::new(Reason::Stale, message).file(shown).with("hash", actual.to_hex().as_str()))
        }
        _ => Ok(()),
    }
}

/// For fields that are left out of an answer when there is nothing to say.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
