//! Results of the shell tools.

use beamai_isolation::{Isolation, NetworkUse, Planted};
use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;

/// Result of [`Shell`](super::Shell).
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShellOutput {
    /// Files that the command left for your own git to execute outside of the sandbox: settings, hooks and rebase
    /// steps, each with what was done about it; absent if there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Planted>,
    /// Id of a background command, for the tools that poll and kill it; absent in the foreground.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Exit code of the shell; null if a signal killed it, and in the background.
    pub exit_code: Option<i32>,
    /// The signal that killed the shell, such as `SIGSEGV`; absent if it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The output.
    #[serde(flatten)]
    pub printed: PrintedOutput,
    /// Number of processes that the command left running, and that were killed; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u32>,
    /// Programs that were prevented from starting.
    #[serde(flatten)]
    pub refused: RefusedStarts,
    /// Names that the command reached, and names that were refused. Absent unless network access is limited to names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<NetworkUse>>,
    /// How the host can enable network access, or that the proxy to the allowed names was not used; absent unless the
    /// command failed and had tried to reach the network in a way that is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_off: Option<String>,
    /// How the host can let commands change files of another user; absent unless the command failed for want of permission
    /// and there are such files in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_files: Option<String>,
    /// Why a path could be neither moved nor deleted; absent unless the command failed with "Device or resource busy".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_paths: Option<String>,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
    /// The sandbox layers that were active or missing; absent if none was missing, unless the host asks for a report on
    /// every command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// The program starts that rules or a person refused while the command ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedStarts {
    /// Programs that were prevented from starting, each once, up to 20; absent if there were none.
    #[serde(rename = "refused", skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<RefusedStart>,
    /// Number of further ones; absent if there were none.
    #[serde(rename = "refused_more", skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

/// A program start that a rule or a person refused while the command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedStart {
    /// The program's path.
    pub program: String,
    /// The program with its arguments, shortened.
    pub command: String,
    /// The program that tried to start it.
    pub by: String,
    /// The rule that refused it; null if a person or the default mode did.
    pub rule: Option<String>,
    /// The person's reason; absent if a rule refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Status of a background command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandStatus {
    /// The command, or a process that it started, is running.
    Running,
    /// It has exited, and so have all processes that it started.
    Exited,
    /// It was killed, with all processes that it started.
    Killed,
    /// It was killed because it timed out.
    TimedOut,
    /// It could not be started, or was lost; `error` says why.
    Failed,
}

/// Result of [`ShellPoll`](super::ShellPoll) and [`ShellKill`](super::ShellKill).
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackgroundOutput {
    /// Files that the command left for your own git to execute outside of the sandbox: settings, hooks and rebase
    /// steps, each with what was done about it; absent if there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Planted>,
    /// The command's id.
    pub id: String,
    /// Status.
    pub status: CommandStatus,
    /// Exit code of the shell; null while it runs, and if it was killed.
    pub exit_code: Option<i32>,
    /// The signal that killed the shell, such as `SIGSEGV`; absent if it ended otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The output.
    #[serde(flatten)]
    pub printed: PrintedOutput,
    /// Number of processes that were killed at the end; absent while it runs, and if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u32>,
    /// Programs that were prevented from starting so far.
    #[serde(flatten)]
    pub refused: RefusedStarts,
    /// Names reached and refused so far; absent unless network access is limited to names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<NetworkUse>>,
    /// How the host can enable network access, or that the proxy to the allowed names was not used; absent unless the
    /// command failed and had tried to reach the network in a way that is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_off: Option<String>,
    /// The error, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the host can configure against the error; absent if there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configure: Option<String>,
    /// Milliseconds from the start to the end, or until now.
    pub duration_ms: u64,
}

impl BackgroundOutput {
    /// Keeps only lines that match a pattern, and those that stand for what was left out.
    pub(super) fn keep_lines(&mut self, pattern: &Regex) {
        let printed = &mut self.printed;
        keep_lines(&mut printed.stdout, &mut printed.stdout_gap, pattern);
        keep_lines(&mut printed.stderr, &mut printed.stderr_gap, pattern);
        // The lines around a gap may be dropped, or not.
        (printed.stdout_cut_lines, printed.stderr_cut_lines) = (None, None);
    }
}

fn keep_lines(text: &mut String, gap: &mut Option<OutputGap>, pattern: &Regex) {
    let (mut kept, mut count, was) = (String::new(), 0, gap.map(|gap| gap.line));
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let is_gap = was == Some(number);
        if is_gap || pattern.is_match(line.trim_end()) {
            kept.push_str(line);
            count += 1;
        }
        if is_gap && let Some(gap) = gap {
            gap.line = count;
        }
    }
    *text = kept;
}

/// What an output lacks between its beginning and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutputGap {
    /// The line of the text, from 1, that stands in its place.
    pub line: u64,
    /// Number of bytes left out.
    pub bytes: u64,
}

/// The lengths, in characters, of lines of which an output has only a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CutLines {
    /// The line that the beginning ends in; absent if it ends with a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The line that the end begins in; absent if it begins with a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// Output of a command; for a background command, what is new since the last call.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PrintedOutput {
    /// Standard output. Bytes that are not UTF-8 are replaced; binary output (with NUL bytes) is empty here.
    pub stdout: String,
    /// Standard error, in the same form.
    pub stderr: String,
    /// The exact bytes of a standard output that is not UTF-8; of its beginning if it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_base64: Option<String>,
    /// The exact bytes of a standard error that is not UTF-8, in the same form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_base64: Option<String>,
    /// Whether an output stream was cut to its beginning and end, with a line between them that says how much is left
    /// out. Cut text ends with `[output truncated]`.
    pub truncated: bool,
    /// Total bytes of standard output; absent unless it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<u64>,
    /// Total bytes of standard error; absent unless it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<u64>,
    /// What standard output lacks; absent unless it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_gap: Option<OutputGap>,
    /// What standard error lacks; absent unless it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_gap: Option<OutputGap>,
    /// The lines of standard output that the cut went through; absent if it was at line ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_cut_lines: Option<CutLines>,
    /// The lines of standard error that the cut went through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_cut_lines: Option<CutLines>,
    /// Absolute path of a file with all output since the start, both streams in order of arrival; absent if nothing was
    /// cut. File tools can read it until the session ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_file: Option<String>,
    /// Absolute path of a file with all output of which nothing was cut, if it is more than 24 KiB or has a line of
    /// more than 2,000 bytes: a model may be shown only a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_copy: Option<String>,
    /// What the file lacks, or why there is none; absent if it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_file_lacks: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_keeps_the_line_in_place_of_what_was_left_out() {
        let mut gap = Some(OutputGap { line: 4, bytes: 9 });
        let mut text = "a\nb\nab\n[... 9 bytes left out ...]\nc\na\n".to_owned();
        keep_lines(&mut text, &mut gap, &Regex::new("^a").unwrap());
        assert_eq!(text, "a\nab\n[... 9 bytes left out ...]\na\n");
        assert_eq!(gap, Some(OutputGap { line: 3, bytes: 9 }));
    }
}
