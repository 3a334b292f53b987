//! What a command gives back.

use beamai_isolation::{Isolation, NetworkUse, Planted};
use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;

/// What [`Shell`](super::Shell) returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShellOutput {
    /// What the command left for your own git to run outside of the sandbox: settings, hooks and steps of a rebase, each with
    /// what was done about it; absent when there was nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Planted>,
    /// Name of a command in the background, for the tools that read its output and kill it; absent in the foreground.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Exit code of the shell; null when a signal killed it, and in the background.
    pub exit_code: Option<i32>,
    /// The signal that killed the shell, such as `SIGSEGV`; absent when it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// What it printed.
    #[serde(flatten)]
    pub printed: PrintedOutput,
    /// How many processes the command left running, which were killed; absent when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u32>,
    /// Programs that were kept from starting while the command went on, up to 20; absent when there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedStart>,
    /// Names that the command reached, and names that were refused. Absent unless the network is limited to names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<NetworkUse>>,
    /// How a host gives commands the network; absent unless the command failed and printed what programs print for want of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_off: Option<String>,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
    /// What stood between the command and the machine; absent when that was all there is, unless the host wants to
    /// hear it of every command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// The start of a program that a rule or a person refused while the command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedStart {
    /// The program, by its path.
    pub program: String,
    /// The program with its arguments, shortened.
    pub command: String,
    /// The program that tried to start it.
    pub by: String,
    /// The rule that refused it; null where a person or the default mode did.
    pub rule: Option<String>,
    /// What the person said; absent where a rule refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How far a command in the background is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandStatus {
    /// It, or something that it started, still runs.
    Running,
    /// It has ended by itself, and so has everything that it started.
    Exited,
    /// It was killed, with everything that it started.
    Killed,
    /// It was killed because its timeout was over.
    TimedOut,
    /// It could not be started, or was lost; `error` says why.
    Failed,
}

/// What [`ShellPoll`](super::ShellPoll) and [`ShellKill`](super::ShellKill) return.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackgroundOutput {
    /// What the command left for your own git to run outside of the sandbox: settings, hooks and steps of a rebase, each with
    /// what was done about it; absent when there was nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Planted>,
    /// The command's id.
    pub id: String,
    /// How far it is.
    pub status: CommandStatus,
    /// Exit code of the shell; null while it runs, and when it was killed.
    pub exit_code: Option<i32>,
    /// The signal that killed the shell, such as `SIGSEGV`; absent when it was not that which ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// What it printed.
    #[serde(flatten)]
    pub printed: PrintedOutput,
    /// How many processes were killed at the end; absent while it runs and when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u32>,
    /// Programs that were kept from starting so far, up to 20; absent when there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedStart>,
    /// What it reached by name so far, and what was refused; absent where the network does not go by names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<NetworkUse>>,
    /// What went wrong, if something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds from the start to the end, or until now.
    pub duration_ms: u64,
}

impl BackgroundOutput {
    /// Leaves only the lines that a pattern matches.
    pub(super) fn keep_lines(&mut self, pattern: &Regex) {
        for text in [&mut self.printed.stdout, &mut self.printed.stderr] {
            *text = text.split_inclusive('\n').filter(|line| pattern.is_match(line.trim_end())).collect();
        }
    }
}

/// What a command printed: in the background, what came since the last call.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PrintedOutput {
    /// Standard output. Bytes that are not UTF-8 are replaced; output with such bytes and NULs is empty here.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// The exact bytes of a standard output that is not UTF-8; where it was cut, those of its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_base64: Option<String>,
    /// The exact bytes of a standard error that is not UTF-8, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_base64: Option<String>,
    /// Whether output or errors were longer than what is given: beginning and end, with a line between them that says
    /// how much is left out. Such text ends with `[output truncated]`.
    pub truncated: bool,
    /// Bytes on standard output, of which not all are given; absent when they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<u64>,
    /// Bytes on standard error, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<u64>,
    /// Absolute path of a file with all output since the start, standard output and errors as they came in; absent while
    /// all of it is given. File tools read it until the session ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_file: Option<String>,
    /// What that file lacks, or why there is none; absent when it lacks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_file_lacks: Option<String>,
}
