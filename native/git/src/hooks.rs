//! Finds hooks that git would run. These tools run none, so an operation with an active hook is refused.

use beamai_base::{Reason, ToolError};
use beamai_git_repository::{GitCall, GitError, GitResult, Repo, setting_path};
use beamai_workspace::{Workspace, WorkspacePath, encode_path};
use std::path::Path;

/// The first of these hooks that is active, worded for messages.
pub(super) fn active(repo: &Repo, names: &[&str], cx: &GitCall) -> GitResult<Option<String>> {
    if let Some(configured) = configured(repo, names)? {
        return Ok(Some(configured));
    }
    let dir = match setting_path(&repo.config, "core.hooksPath")? {
        Some(path) if path.as_os_str().is_empty() => None,
        Some(path) => hooks_at(repo, &path, cx)?,
        None => Some(repo.located.common_dir.join(Path::new("hooks"))),
    };
    let active = |name: &&&str| dir.as_ref().is_some_and(|dir| is_active(&dir.join(Path::new(name))));
    Ok(names.iter().find(active).map(|name| format!("the hook {name}")))
}

/// The directory of the hooks; `None` if it does not exist. One outside the workspace was chosen by the host, or is not
/// readable; only the existence of hooks is checked there.
fn hooks_at(repo: &Repo, path: &Path, cx: &GitCall) -> GitResult<Option<WorkspacePath>> {
    if path.is_relative() {
        return Ok(Some(repo.located.root.join(path)));
    }
    let outside = || Workspace::open(path).map(|outside| outside.top());
    match cx.workspace.parse_path(&encode_path(path)).or_else(|_| outside()) {
        Ok(hooks_at) => Ok(Some(hooks_at)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(_) => Err(GitError::unreadable(path.display()).into()),
    }
}

fn is_missing(error: &ToolError) -> bool {
    matches!(error.reason, Reason::NoSuchFile | Reason::NotADirectory)
}

/// Whether git would try to run the file, a directory included. A file that cannot be inspected counts as an active hook.
fn is_active(hook: &WorkspacePath) -> bool {
    match hook.stat() {
        Ok(stat) => stat.st_mode & 0o111 != 0,
        Err(error) => !is_missing(&error),
    }
}

/// Hooks defined in settings: `hook.<name>.event` and `hook.<name>.command`.
fn configured(repo: &Repo, names: &[&str]) -> GitResult<Option<String>> {
    let mut found = None;
    repo.config.entries(Some("^hook\\..*\\.event$"))?.for_each(|entry| {
        let event = String::from_utf8_lossy(entry.value_bytes()).into_owned();
        if names.contains(&event.as_str()) {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            found = Some(format!("the hook of the setting {name}"));
        }
    })?;
    Ok(found)
}
