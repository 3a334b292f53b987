//! The git tools, the same in every dialect that has them.

use beamai_port_tools::git;
use beamai_tool::{Tool, ToolBinding};
use std::sync::Arc;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<git::GitStatus>::new(
            "git_status",
            "Shows the state of the git repository: branch and upstream, a merge or rebase in progress, conflicts, \
             staged, changed and untracked files.",
        )),
        Arc::new(ToolBinding::<git::GitDiff>::new(
            "git_diff",
            "Shows changes as `git diff` does, as a unified diff: by default what is not staged yet, with `staged` \
             what the next commit would record, with `commit` what changed since then.",
        )),
        Arc::new(ToolBinding::<git::GitLog>::new(
            "git_log",
            "Shows the history of the current branch as `git log` does, youngest commit first.",
        )),
        Arc::new(ToolBinding::<git::GitAdd>::new(
            "git_add",
            "Stages a file or directory for the next commit as `git add` does: new, changed and deleted files. \
             Ignored files are refused.",
        )),
        Arc::new(ToolBinding::<git::GitCommit>::new(
            "git_commit",
            "Commits what is staged as `git commit -m` does. Cannot amend, force or skip hooks: where hooks or \
             signing are active it is refused, and the shell is the way.",
        )),
    ]
}
