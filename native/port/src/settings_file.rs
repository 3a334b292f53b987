//! Settings files: those given on the command line, and the user's own for all calls.
//!
//! Settings files in the workspace are never loaded automatically: tools could use them to change their own
//! permissions.

use crate::args::UsageError;
use beamai_base::{Entry, PathWay, Reason, Result as ToolResult, ToolError, describe};
use beamai_isolation::secrets::OWN_SETTINGS;
use beamai_workspace::WorkspaceId;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// In place of a path: no file is read, not even the user's own. Use `./none` for a file of this name.
pub(crate) const NONE: &str = "none";

/// The owner of directories above a user namespace, in which their users have no number.
const NOBODY: u32 = 65_534;

/// The settings file of the user.
#[derive(Clone)]
pub(crate) struct UserSettings {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its content.
    pub(crate) text: String,
}

impl UserSettings {
    /// Fails if tools could change the file: it must not be in the workspace.
    pub(crate) fn check_outside(&self, workspace: &WorkspaceId) -> ToolResult<()> {
        if !paths(&self.path).iter().any(|path| path.starts_with(&workspace.path)) {
            return Ok(());
        }
        let message = format!(
            "your settings file {} is in the workspace {}, where tools can change it; choose a workspace without it, name \
             the file with --settings FILE if that is what you want, or switch it off with --settings none",
            self.path.display(),
            workspace.path
        );
        Err(ToolError::new(Reason::InvalidArgument, message))
    }
}

/// The absolute paths of files that contain credentials, for the sandbox to hide.
///
/// # Errors
/// If tools could read one: it must not be in the workspace, nor have another name.
pub(crate) fn hidden(files: &[PathBuf], workspace: &WorkspaceId) -> ToolResult<Vec<String>> {
    let mut all = Vec::new();
    for file in files {
        if file.metadata().is_ok_and(|found| found.nlink() > 1) {
            let message = format!(
                "the settings file {} contains credentials and has several names (hard links), one of which tools could read; \
                 make it a copy",
                file.display()
            );
            return Err(ToolError::new(Reason::InvalidArgument, message));
        }
        for path in paths(file) {
            if path.starts_with(&workspace.path) {
                let message = format!(
                    "the settings file {} contains credentials and is in the workspace {}, where tools can read it; put \
                     it elsewhere",
                    file.display(),
                    workspace.path
                );
                return Err(ToolError::new(Reason::InvalidArgument, message));
            }
            all.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(all)
}

/// The absolute paths of a file: as it is named, and where links and the spelling of its directories lead.
fn paths(file: &Path) -> Vec<PathBuf> {
    let named = std::path::absolute(file).into_iter();
    named.flat_map(|path| [PathWay::of(&path, Entry::at).end, path]).chain(file.canonicalize()).collect()
}

/// An error in a settings file.
pub(crate) fn wrong(path: &Path, why: &str) -> UsageError {
    UsageError(format!("settings file {}: {why}", path.display()))
}

/// The text of a settings file.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub(crate) fn read(path: &Path) -> Result<String, UsageError> {
    std::fs::read_to_string(path).map_err(|error| wrong(path, &unreadable(&error)))
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::InvalidData => "it is not in UTF-8".to_owned(),
        _ => format!("it cannot be read: {}", describe(error)),
    }
}

/// The user's own settings file, if there is one.
///
/// # Errors
/// If its path has `..`, or it is not a regular file, cannot be read, can be changed by other users, or has hard links.
pub(crate) fn of_user() -> Result<Option<UserSettings>, UsageError> {
    let Some(path) = user_path(std::env::var_os("XDG_CONFIG_HOME"), std::env::home_dir()) else {
        return Ok(None);
    };
    // Where a `..` follows a link or a directory that tools can exchange, the path leads where they want.
    if path.components().any(|part| part == Component::ParentDir) {
        let why = "its path has `..`; write XDG_CONFIG_HOME and HOME without, or use --settings none";
        return Err(wrong(&path, why));
    }
    let metadata = match std::fs::metadata(&path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return match PathWay::of(&path, Entry::at).links().find(|link| !link.exists()) {
                None => Ok(None),
                Some(link) => {
                    let link = link.display();
                    Err(wrong(
                        &path,
                        &format!("the link {link} leads nowhere; mend it, or use --settings none"),
                    ))
                }
            };
        }
        Err(error) => {
            return Err(wrong(&path, &format!("{}; --settings none does without it", unreadable(&error))));
        }
        Ok(metadata) => metadata,
    };
    // While commands run that may not create it, an empty file is in its place.
    #[cfg(target_os = "linux")]
    if beamai_sandbox::layers::is_placeholder(&path) {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err(wrong(&path, "it is not a file; --settings none does without it"));
    }
    if let Some(at) = changeable(&path) {
        let why = format!(
            "other users can change {}, so it is not read: make that yours and take away their write permission, or use \
             --settings none",
            at.display()
        );
        return Err(wrong(&path, &why));
    }
    if metadata.nlink() > 1 {
        let why = "it has several names (hard links), one of which tools could reach, so it is not read: make it a copy, or \
                   use --settings none";
        return Err(wrong(&path, why));
    }
    Ok(Some(UserSettings { text: read(&path)?, path }))
}

/// What of a file other users can change: itself, a link that leads to it, or a directory on the way, where they could
/// put another one in its place.
fn changeable(path: &Path) -> Option<PathBuf> {
    let way = PathWay::of(path, Entry::at);
    let on_the_way = way.steps.iter().flat_map(|step| [step.path.parent(), Some(&*step.path)]).flatten();
    on_the_way.chain([&*way.end]).find(|at| others_can_change(at)).map(Path::to_owned)
}

/// Whether users other than this one and root can change what lies at a path. The members of this user's first group
/// count as this user, unless an access control list has further users, whose rights the group's bits show (acl(5)).
fn others_can_change(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else { return true };
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let is_own = [user, 0].contains(&found.uid()) || found.is_dir() && found.uid() == NOBODY;
    // In a directory with the sticky bit, a user can remove and rename only files of their own.
    let is_kept = found.is_symlink() || found.is_dir() && found.mode() & 0o1000 != 0;
    let has_list = rustix::fs::lgetxattr(path, "system.posix_acl_access", &mut [0; 0]).is_ok();
    let by_group = if found.gid() == group && !has_list { 0 } else { 0o020 };
    !is_own || !is_kept && found.mode() & (0o002 | by_group) != 0
}

/// Its path according to the XDG base directory specification, which ignores relative directories.
fn user_path(config: Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let config = config.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || home.filter(|home| home.is_absolute()).map(|home| home.join(".config"));
    Some(config.or_else(home)?.join(OWN_SETTINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_place_is_that_of_the_specification() {
        let path = |config: &str, home: &str| {
            let path =
                user_path(Some(config.into()).filter(|it: &OsString| !it.is_empty()), Some(home.into()));
            path.map(|path| path.display().to_string())
        };
        assert_eq!(path("", "/home/a").as_deref(), Some("/home/a/.config/beamai/settings.json"));
        assert_eq!(path("/etc/xdg", "/home/a").as_deref(), Some("/etc/xdg/beamai/settings.json"));
        assert_eq!(path("relative", "/home/a").as_deref(), Some("/home/a/.config/beamai/settings.json"));
        assert_eq!(path("", "relative"), None);
    }
}
