//! The git tools, the same in every dialect that has them.

use beamai_port_tools::git;
use beamai_tool::{Face, Tool};
use std::sync::Arc;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Face::<git::Status>::new(
            "git_status",
            "Shows the state of the git repository: branch and upstream, a merge or rebase in progress, conflicts, \
             staged, changed and untracked files.",
        )),
        Arc::new(Face::<git::Diff>::new(
            "git_diff",
            "Shows changes as `git diff` does, as a unified diff: by default what is not staged yet, with `staged` \
             what the next commit would record, with `commit` what changed since then.",
        )),
        Arc::new(Face::<git::Log>::new(
            "git_log",
            "Shows the history of the current branch as `git log` does, youngest commit first.",
        )),
        Arc::new(Face::<git::Add>::new(
            "git_add",
            "Stages a file or directory for the next commit as `git add` does: new, changed and deleted files. \
             Ignored files are refused.",
        )),
        Arc::new(Face::<git::Commit>::new(
            "git_commit",
            "Commits what is staged as `git commit -m` does. Cannot amend, force or skip hooks: where hooks or \
             signing are active it is refused, and the shell is the way.",
        )),
    ]
}
