//! What a command gives back.

use crate::process::Isolation;
use schemars::JsonSchema;
use serde::Serialize;

/// What [`Shell`](super::Shell) returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShellOutput {
    /// Exit code of the shell; null when a signal killed it.
    pub(super) exit_code: Option<i32>,
    /// The signal that killed the shell, such as `SIGSEGV`; absent when it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<String>,
    /// Standard output. Bytes that are not UTF-8 are replaced; output with such bytes and NULs is empty here.
    pub(super) stdout: String,
    /// Standard error, likewise.
    pub(super) stderr: String,
    /// The exact bytes of a standard output that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stdout_base64: Option<String>,
    /// The exact bytes of a standard error that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stderr_base64: Option<String>,
    /// Whether output or errors were longer than what is given; such text ends with `[output truncated]`.
    pub(super) truncated: bool,
    /// Bytes of the whole standard output; absent when all of it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stdout_bytes: Option<u64>,
    /// Bytes of the whole standard error; absent when all of it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stderr_bytes: Option<u64>,
    /// How many processes the command left running, which were killed; absent when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) killed: Option<u32>,
    /// Milliseconds from start to end.
    pub(super) duration_ms: u64,
    /// What stood between the command and the machine.
    pub(super) isolation: Isolation,
}
