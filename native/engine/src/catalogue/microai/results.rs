//! Results of the dialect's tools that differ from those of the operation.

use beamai_files::FileReadOutput;
use beamai_search::{
    grep::{self, CutLine, GrepMatch},
    remaining::Remaining,
};
use beamai_session::todo;
use beamai_text::LineEnding;
use beamai_tool::todo::TodoStatus;
use beamai_walk::SearchCoverage;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
pub(super) struct ReadResult {
    /// The lines, each prefixed with its number, right-aligned to six columns, and a tab; without line endings. Empty
    /// for an image.
    content: String,
    /// Number of lines in the whole file; 0 for an image.
    total_lines: u64,
    /// Number of the first line in content; null for an image.
    start_line: Option<u64>,
    /// Number of the last line in content; start_line - 1 if content has no line.
    end_line: Option<u64>,
    /// Column of the first character in content, if it is not the start of its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u64>,
    /// Whether content ends within its only line; continue with its column.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    line_is_cut: bool,
    /// Characters of that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_length: Option<u64>,
    /// Whether the file has more lines after end_line.
    has_more: bool,
    /// Encoding that the text was decoded from; null for an image.
    encoding: Option<String>,
    /// Line ending of the file.
    line_ending: LineEnding,
    /// BLAKE3 hash of the whole file.
    hash: Option<String>,
    /// Size of the file in bytes.
    size: u64,
    /// Whether requested lines were left out because the result would be too large; see note.
    truncated: bool,
    /// Whether the file has bytes that are invalid in its encoding; content has U+FFFD for them.
    lossy: bool,
    /// Further information about the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The image, base64-encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    image_base64: Option<String>,
    /// Media type of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
}

impl From<FileReadOutput> for ReadResult {
    fn from(read: FileReadOutput) -> Self {
        Self {
            content: numbered(&read.content, read.start_line.unwrap_or(1)),
            total_lines: read.total_lines.unwrap_or(0),
            start_line: read.start_line,
            end_line: read.end_line,
            start_column: read.start_column,
            line_is_cut: read.line_is_cut,
            line_length: read.line_length,
            has_more: read.has_more,
            encoding: read.encoding,
            line_ending: read.line_ending,
            hash: read.hash,
            size: read.size,
            truncated: read.truncated,
            lossy: read.lossy,
            note: read.note,
            image_base64: read.image_base64,
            media_type: read.media_type,
        }
    }
}

fn numbered(text: &str, first: u64) -> String {
    // `lines` splits like the read operation: at line feeds, removing a preceding carriage return.
    let lines = text.lines().zip(first..).map(|(line, number)| format!("{number:>6}\t{line}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[derive(Serialize, JsonSchema)]
pub(super) struct TodoResult {
    /// Always true: failures are reported as errors.
    success: bool,
    /// All tasks, in order.
    todos: Vec<TodoItem>,
    /// Number of tasks.
    count: usize,
}

/// A task with this dialect's field names.
#[derive(Serialize, JsonSchema)]
struct TodoItem {
    /// Id of the task.
    id: u64,
    /// What to do.
    content: String,
    /// Status.
    status: TodoStatus,
    /// The same in the present continuous; absent if the task was created without it.
    #[serde(rename = "activeForm", skip_serializing_if = "Option::is_none")]
    active_form: Option<String>,
}

impl From<todo::TodoOutput> for TodoResult {
    fn from(list: todo::TodoOutput) -> Self {
        let todo = |todo: beamai_tool::todo::Todo| TodoItem {
            id: todo.id,
            content: todo.content,
            status: todo.status,
            active_form: todo.active_form,
        };
        Self { success: true, count: list.count, todos: list.todos.into_iter().map(todo).collect() }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct GrepResult {
    /// The matches, by path and line; empty unless the output mode is content.
    matches: Vec<FileMatch>,
    /// Number of matching lines in all files, including those not returned.
    total_matches: u64,
    /// The files in this result, sorted by path, relative to the workspace.
    files: Vec<String>,
    /// Matching lines per file; only in output mode count.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<String, u64>>,
    /// Number of files with a match, including those not returned.
    total_files: u64,
    /// Whether there are more results; continue with offset.
    truncated: bool,
    /// Where the results after these are; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<Remaining>,
    /// What was searched and what was left out.
    coverage: SearchCoverage,
}

#[derive(Serialize, JsonSchema)]
struct FileMatch {
    /// Path of the file, relative to the workspace.
    file: String,
    /// 1-based line number; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_number: Option<u64>,
    /// The line without its line ending.
    content: String,
    /// Lines before it, in order.
    before: Vec<String>,
    /// Lines after it, in order.
    after: Vec<String>,
    /// Present and true if only part of a very long line is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    content_truncated: bool,
    /// The lines that are cut, where they are in UTF-8.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_lines: Vec<CutLine>,
    /// Lines at the end of a match over several lines that content lacks; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_left_out: Option<u64>,
    /// Character of the line, from 1, at which the first match in it begins; absent for lines up to 400 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
}

impl From<grep::GrepOutput> for GrepResult {
    fn from(grepped: grep::GrepOutput) -> Self {
        let matches = grepped.matches.into_iter().map(|hit| matched(hit, !grepped.unnumbered)).collect();
        Self {
            matches,
            total_matches: grepped.total_matches,
            files: grepped.files,
            counts: grepped.counts,
            total_files: grepped.total_files,
            truncated: grepped.truncated,
            remaining: grepped.remaining,
            coverage: grepped.coverage,
        }
    }
}

fn matched(hit: GrepMatch, is_numbered: bool) -> FileMatch {
    FileMatch {
        file: hit.file,
        line_number: is_numbered.then_some(hit.line_number),
        content: hit.content,
        before: hit.before,
        after: hit.after,
        content_truncated: hit.content_truncated,
        cut_lines: hit.cut_lines,
        lines_left_out: Some(hit.lines_left_out).filter(|count| *count > 0),
        column: hit.column,
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn each_line_has_its_number_in_front() {
        assert_eq!(numbered("func main() {\n\tx()\n}", 1), "     1\tfunc main() {\n     2\t\tx()\n     3\t}");
        assert_eq!(numbered("a\r\n\r\n", 9), "     9\ta\n    10\t");
        assert_eq!(numbered("", 1), "");
    }
}
