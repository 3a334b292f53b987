//! The git tools, the same in every dialect that has them.

use beamai_port_tools::git;
use beamai_tool::{Tool, ToolBinding};
use std::sync::Arc;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<git::GitStatus>::new(
            "git_status",
            "Show branch, staged, changed and untracked files. Use git_diff for the changes.",
        )),
        Arc::new(ToolBinding::<git::GitDiff>::new(
            "git_diff",
            "Show unstaged changes as a unified diff; with staged those of the next commit, with commit those since then. Use \
             git_log for history.",
        )),
        Arc::new(ToolBinding::<git::GitLog>::new(
            "git_log",
            "Show the commits of the current branch, newest first. It has no filters; use the shell for those.",
        )),
        Arc::new(ToolBinding::<git::GitAdd>::new(
            "git_add",
            "Stage a file or directory, deletions included. Ignored files are refused.",
        )),
        Arc::new(ToolBinding::<git::GitCommit>::new(
            "git_commit",
            "Commit what is staged. Cannot amend or skip hooks; where hooks or signing are active, commit with the \
             shell.",
        )),
    ]
}
