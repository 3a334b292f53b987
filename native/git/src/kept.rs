//! Refuses to change what deny rules that name `.git` keep in a repository's own directory.

use crate::task::Task;
use beamai_base::{Reason, Result, ToolError};
use beamai_git_repository::{RepoLocation, locate};
use beamai_tool::CallContext;
use beamai_workspace::WorkspacePath;
use std::path::{Path, PathBuf};

/// Files about a merge or the like, which a commit ends and removes.
const STATE: [&str; 8] = [
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "SQUASH_MSG",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "ORIG_HEAD",
];

/// Fails if a task would change something that a rule denies.
///
/// # Errors
/// `denied`, with the first such file.
pub(crate) fn refuse_kept(task: &Task, cx: &CallContext) -> Result<()> {
    let rules = cx.denied_paths.within_repositories();
    if rules.is_empty() {
        return Ok(());
    }
    // Without a repository, the task says so.
    let Ok(located) = locate(&cx.workspace.unguarded(), task.path()) else { return Ok(()) };
    let seen = |path: PathBuf| path.strip_prefix(cx.workspace.path()).map(Path::to_owned).unwrap_or(path);
    let changed = changed(task, &located);
    if changed.is_empty() {
        return Ok(());
    }
    let objects = seen(located.common_dir.absolute().join("objects"));
    let kept = changed.into_iter().map(seen).find(|path| rules.protects(path, false));
    match kept.or_else(|| rules.protects_objects(&objects).then_some(objects)) {
        Some(path) => {
            let path = path.display().to_string();
            let message = format!(
                "{path} would be changed, which a deny rule for Edit or Write forbids; nothing was done"
            );
            Err(ToolError::new(Reason::Denied, message).file(path))
        }
        None => Ok(()),
    }
}

/// The files that a task changes, besides objects.
fn changed(task: &Task, located: &RepoLocation) -> Vec<PathBuf> {
    let at = |directory: &WorkspacePath, name: &Path| directory.absolute().join(name);
    let (own, common) = (&located.git_dir, &located.common_dir);
    let index = at(own, Path::new("index"));
    match task {
        Task::Add { .. } => vec![index],
        Task::Commit { .. } => {
            let head = Path::new("HEAD");
            let log = |name: &Path| Path::new("logs").join(name);
            let branch = located.branch();
            let branch = branch.iter().flat_map(|name| [at(common, name), at(common, &log(name))]);
            let ended = STATE.iter().map(|name| at(own, Path::new(name)));
            let ended = ended.filter(|path| path.symlink_metadata().is_ok());
            branch.chain([index, at(own, head), at(own, &log(head))]).chain(ended).collect()
        }
        Task::Status { .. } | Task::Diff { .. } | Task::Log { .. } => Vec::new(),
    }
}
