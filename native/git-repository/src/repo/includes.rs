//! Checks the settings files of a repository and those that they include. libgit2 reads them from anywhere, so an
//! include from outside the workspace makes the repository unusable.

use super::locate::RepoLocation;
use super::named_file::{NamedFile, files_named, in_home, is_about_branch, is_for_git_alone, is_unfollowed};
use super::settings_file::{entries, expect_alike};
use crate::fail::{GitError, GitResult};
use beamai_base::Reason;
use beamai_git_config::ConfigEntry;
use beamai_workspace::{Workspace, WorkspacePath, encode_path};

/// Maximum include depth, as in git.
const MAX_DEPTH: usize = 10;

/// Fails if git and libgit2 read a settings file of the repository differently, or if it includes anything but files in
/// the workspace. Missing files are accepted.
pub(super) fn check(file: &WorkspacePath, located: &RepoLocation, workspace: &Workspace) -> GitResult<()> {
    let is_followed = |condition: &[u8]| {
        !is_for_git_alone(condition) && (!is_about_branch(condition) || located.is_on_branch())
    };
    nested(file, workspace, &is_followed, 0)
}

/// The last value of a setting in the settings file itself, ignoring includes.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn setting(file: &WorkspacePath, section: &str, key: &str) -> GitResult<Option<Vec<u8>>> {
    let is_wanted =
        |entry: &ConfigEntry| entry.section == section && entry.subsection.is_none() && entry.key == key;
    let last = read(file)?.unwrap_or_default().into_iter().rfind(is_wanted);
    Ok(last.and_then(|entry| entry.value))
}

fn nested(
    file: &WorkspacePath,
    workspace: &Workspace,
    is_followed: &impl Fn(&[u8]) -> bool,
    depth: usize,
) -> GitResult<()> {
    if depth > MAX_DEPTH {
        return Err(refusal(file, "include each other recursively"));
    }
    let Some(entries) = read(file)? else { return Ok(()) };
    for named in files_named(&entries) {
        let NamedFile::Include { path, condition } = named else { continue };
        if let Some(condition) = condition.filter(|condition| !is_followed(condition)) {
            let shown = String::from_utf8_lossy(&condition);
            let why = format!("include others if {shown:?}, a condition that this tool cannot evaluate here");
            return Err(refusal(file, &why));
        }
        let Some(included) = inside(file, &path, workspace) else {
            let shown = String::from_utf8_lossy(&path);
            return Err(refusal(file, &format!("include {shown:?}, which is not in the workspace")));
        };
        nested(&included, workspace, is_followed, depth + 1)?;
    }
    // libgit2 opens the included files here, so they come first.
    expect_alike(&file.absolute(), &entries).map_err(|why| refusal(file, &why))
}

fn read(file: &WorkspacePath) -> GitResult<Option<Vec<ConfigEntry>>> {
    match file.open_file() {
        Ok((open, _)) => entries(open).map(Some).map_err(|why| refusal(file, &why)),
        Err(error) if error.reason == Reason::NoSuchFile => Ok(None),
        Err(error) if error.reason == Reason::AccessDenied => {
            Err(GitError::unreadable(file.display()).into())
        }
        Err(error) => Err(refusal(file, &format!("cannot be read ({})", error.message))),
    }
}

fn refusal(file: &WorkspacePath, why: &str) -> GitError {
    GitError::Unavailable(format!("its settings {} {why}", file.display()))
}

/// The file that a settings file includes; `None` if it could be outside of the workspace.
fn inside(includer: &WorkspacePath, path: &[u8], workspace: &Workspace) -> Option<WorkspacePath> {
    if is_unfollowed(path) {
        return None;
    }
    let path = in_home(path);
    let file = match path.is_absolute() {
        true => workspace.parse_path(&encode_path(&path)).ok()?,
        false => includer.parent().map(|(beside, _)| beside.join(&path))?,
    };
    match file.resolved() {
        Ok(_) => Some(file),
        // A missing file is harmless; a path that leads out gives another error.
        Err(error) => (error.reason == Reason::NoSuchFile).then_some(file),
    }
}
