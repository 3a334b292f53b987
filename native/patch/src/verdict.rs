//! What became of each file and each hunk of a patch.

use super::target::PatchOperation;
use beamai_base::{Reason, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What became of a patch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FilePatchOutput {
    /// Whether the files were changed; false after a dry run.
    pub applied: bool,
    /// The files, in the patch's order.
    pub files: Vec<FileVerdict>,
    /// What applying it needs permission for, such as `Edit(src/main.rs)`. A dry run needs to read the files only.
    pub permissions: Vec<String>,
}

/// What became of a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileVerdict {
    /// Path of the file as it is after the patch; of a deleted one as it was.
    pub path: String,
    /// What happens to it.
    pub operation: PatchOperation,
    /// Where it was, when it is renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Its hunks, in the patch's order.
    pub hunks: Vec<HunkVerdict>,
    /// Lines that are added to it.
    pub additions: u64,
    /// Lines that are removed from it.
    pub deletions: u64,
    /// BLAKE3 hash of the file after the patch; null when it is deleted, or only renamed.
    pub hash: Option<String>,
    /// Encoding of the file, which it keeps; null where that did not matter.
    pub encoding: Option<String>,
    /// The executable bit that the patch sets or clears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// True when lines of the patch end otherwise than those of the file (LF where it has CR LF, a newline where its
    /// last line has none) and were taken to mean the file's.
    #[serde(skip_serializing_if = "is_false")]
    pub line_endings_adapted: bool,
    /// True when the file had other names (hard links), which keep the old content.
    #[serde(skip_serializing_if = "is_false")]
    pub link_broken: bool,
    /// What should be known about how it was understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it cannot be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<PatchProblem>,
}

/// What became of a hunk.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HunkVerdict {
    /// Line of the patch where it begins.
    pub patch_line: usize,
    /// Line of the file before the patch where it applies; null where it does not.
    pub line: Option<u64>,
    /// Line of the file after the patch.
    pub new_line: Option<u64>,
    /// How many lines that is after (or, negative, before) the line that its header states; null where it states none.
    pub offset: Option<i64>,
    /// Lines that it adds.
    pub additions: u64,
    /// Lines that it removes.
    pub deletions: u64,
    /// What is wrong in its header and was put right by its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<PatchProblem>,
}

/// Why something cannot be done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PatchProblem {
    /// The reason's name: `no_match`, `ambiguous`, `no_such_file` and so on.
    pub reason: String,
    /// What is wrong and what to do.
    pub message: String,
    /// Facts for programs: the nearest place, the lines of several.
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

/// Problems that the message of an error tells; all are in its details.
const TOLD: usize = 5;

/// The error about a patch of which some part cannot be done; `None` where all can.
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
        let hunk = hunk.map_or(String::new(), |at| format!(", hunk {at} of {}", file.hunks.len()));
        message += &format!("\n- {}{hunk}: {}", file.path, problem.message);
    }
    if count > TOLD {
        message += &format!("\n- and {} more, which are in the details", count - TOLD);
    }
    let error = ToolError::new(problem.kind.unwrap_or(Reason::NoMatch), message).file(&first.path);
    Some(error.with("applied", false).with("files", serde_json::to_value(files).unwrap_or_default()))
}

/// For fields that are left out when there is nothing to say.
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
