//! Results per file and per hunk of a patch.

use super::target::PatchOperation;
use beamai_base::{Reason, ToolError};
use beamai_tool::Preview;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Result of a patch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FilePatchOutput {
    /// Whether the files were changed; false after a dry run.
    pub applied: bool,
    /// The files, in the patch's order.
    pub files: Vec<FileVerdict>,
    /// Permissions needed to apply it, such as `Edit(src/main.rs)`. A dry run itself only needs to read the files.
    pub permissions: Vec<String>,
}

/// Result for a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileVerdict {
    /// Path of the file after the patch; for a deleted file, its old path.
    pub path: String,
    /// The operation.
    pub operation: PatchOperation,
    /// Its old path, if it is renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Its hunks, in the patch's order.
    pub hunks: Vec<HunkVerdict>,
    /// Number of added lines.
    pub additions: u64,
    /// Number of removed lines.
    pub deletions: u64,
    /// BLAKE3 hash of the file after the patch; null if it is deleted, or only renamed.
    pub hash: Option<String>,
    /// Encoding of the file; null if it was not needed.
    pub encoding: Option<String>,
    /// The executable bit that the patch sets or clears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// Whether line endings of the patch were adapted to the file's (LF to CR LF, or a missing final newline).
    #[serde(skip_serializing_if = "is_false")]
    pub line_endings_adapted: bool,
    /// Whether the file had other names (hard links), which keep the old content.
    #[serde(skip_serializing_if = "is_false")]
    pub link_broken: bool,
    /// A note on how it was interpreted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it cannot be applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<PatchProblem>,
    /// The hunks of a diff of its change, for a person who is asked about the patch.
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) shown: Option<Preview>,
}

/// Result for a hunk.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HunkVerdict {
    /// Line of the patch where it starts.
    pub patch_line: usize,
    /// Line of the old file where it applies; null if it does not.
    pub line: Option<u64>,
    /// Line of the new file.
    pub new_line: Option<u64>,
    /// Offset from the line in its header, in lines; null if the header has no line number.
    pub offset: Option<i64>,
    /// Number of added lines.
    pub additions: u64,
    /// Number of removed lines.
    pub deletions: u64,
    /// What is wrong in its header; its lines were used instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<PatchProblem>,
}

/// Why something cannot be applied.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PatchProblem {
    /// The reason's name: `no_match`, `ambiguous`, `no_such_file` and so on.
    pub reason: String,
    /// What is wrong and what to do.
    pub message: String,
    /// Details for programs: the nearest position, the lines of several matches.
    #[serde(flatten)]
    pub details: Map<String, Value>,
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) kind: Option<Reason>,
}

impl From<ToolError> for PatchProblem {
    fn from(error: ToolError) -> Self {
        Self {
            reason: error.reason.as_str().to_owned(),
            message: error.message,
            details: *error.details,
            kind: Some(error.reason),
        }
    }
}

impl FileVerdict {
    fn problems(&self) -> impl Iterator<Item = (Option<usize>, &PatchProblem)> {
        let hunks = self.hunks.iter().enumerate();
        let hunks = hunks.filter_map(|(at, hunk)| Some((Some(at + 1), hunk.problem.as_ref()?)));
        self.problem.iter().map(|problem| (None, problem)).chain(hunks)
    }
}

/// Maximum number of problems in an error message; its details list all of them.
const TOLD: usize = 5;

/// The error for a patch with problems; `None` if it applies.
pub(super) fn failure(files: &[FileVerdict]) -> Option<ToolError> {
    let problems =
        || files.iter().flat_map(|file| file.problems().map(move |(hunk, problem)| (file, hunk, problem)));
    let (first, _, problem) = problems().next()?;
    let count = problems().count();
    let mut message = match count {
        1 => "the patch does not apply; nothing was changed".to_owned(),
        count => format!("the patch does not apply in {count} places; nothing was changed"),
    };
    for (file, hunk, problem) in problems().take(TOLD) {
        // Hunks are about the file under its old name.
        let path = file.old_path.as_ref().filter(|_| hunk.is_some()).unwrap_or(&file.path);
        let about = match (hunk, file.hunks.len()) {
            (None, _) if problem.message.contains(path) => String::new(),
            (None, _) | (_, 1) => format!("{path}: "),
            (Some(at), count) => format!("{path}, hunk {at} of {count}: "),
        };
        message += &format!("\n- {about}{}", problem.message);
    }
    if count > TOLD {
        message += &format!("\n- and {} more, which are in the details", count - TOLD);
    }
    let error = ToolError::new(problem.kind.unwrap_or(Reason::NoMatch), message).file(&first.path);
    Some(error.with("applied", false).with("files", serde_json::to_value(files).unwrap_or_default()))
}

/// For optional flags, which are left out of results when false.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, problem: Option<PatchProblem>, hunks: Vec<HunkVerdict>) -> FileVerdict {
        FileVerdict {
            path: path.to_owned(),
            operation: PatchOperation::Updated,
            old_path: None,
            hunks,
            additions: 0,
            deletions: 0,
            hash: None,
            encoding: None,
            executable: None,
            line_endings_adapted: false,
            link_broken: false,
            note: None,
            problem,
            shown: None,
        }
    }

    fn problem(reason: Reason) -> Option<PatchProblem> {
        Some(ToolError::new(reason, format!("it is {}", reason.as_str())).with("lines", [1, 2]).into())
    }

    fn hunk(problem: Option<PatchProblem>) -> HunkVerdict {
        let (line, new_line, offset, note) = (None, None, None, None);
        HunkVerdict { patch_line: 3, line, new_line, offset, additions: 1, deletions: 0, note, problem }
    }

    #[test]
    fn all_problems_are_counted_and_the_first_gives_the_reason() {
        assert_eq!(failure(&[file("a", None, vec![hunk(None)])]), None);
        let files = [
            file("a", None, vec![hunk(None), hunk(problem(Reason::Ambiguous))]),
            file("b", problem(Reason::NoSuchFile), vec![]),
        ];
        let error = failure(&files).unwrap();
        assert_eq!((error.reason, &error.details["file"]), (Reason::Ambiguous, &"a".into()));
        assert_eq!(
            error.message,
            "the patch does not apply in 2 places; nothing was changed\n- a, hunk 2 of 2: it is ambiguous\n- b: it is \
             no_such_file"
        );
        assert_eq!(error.details["files"][0]["hunks"][1]["problem"]["lines"], serde_json::json!([1, 2]));
        let many: Vec<_> = (0..8).map(|_| file("a", problem(Reason::NoMatch), vec![])).collect();
        assert!(failure(&many).unwrap().message.ends_with("- and 3 more, which are in the details"));
    }
}
