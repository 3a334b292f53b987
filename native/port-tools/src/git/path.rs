//! Path arguments of the git tools.

use beamai_base::{Reason, Result, ToolError};
use beamai_policy::FilePath;
use beamai_tool::CallContext;
use beamai_workspace::{decode_path, encode_path};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// The bytes of a path argument, relative to the workspace, without `.` and `..`.
///
/// # Errors
/// `outside_workspace`, also for the session's temporary directory.
pub fn path_below(cx: &CallContext, text: &str) -> Result<Vec<u8>> {
    let path = cx.workspace.parse_path(text)?;
    let outside = || {
        let message = format!("{text} is outside the workspace; use a path inside it");
        ToolError::new(Reason::OutsideWorkspace, message).file(text)
    };
    if decode_path(&path.display()).is_absolute() {
        return Err(outside());
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.relative().components() {
        match part {
            Component::Normal(name) => parts.push(name.as_bytes()),
            Component::ParentDir => _ = parts.pop().ok_or_else(outside)?,
            _ => {}
        }
    }
    Ok(parts.join(&b'/'))
}

/// A path argument for the policy. git does not follow links, so neither does the check.
///
/// # Errors
/// As [`path_below`].
pub fn named(cx: &CallContext, text: &str) -> Result<FilePath> {
    let below = path_below(cx, text)?;
    let there = cx.workspace.path().join(OsStr::from_bytes(&below)).symlink_metadata();
    // A path that no longer exists may have been a directory.
    let is_tree = there.map_or(true, |found| found.is_dir());
    let path = shown(&below);
    Ok(FilePath { written: path.clone(), path, is_tree })
}

/// A path as shown in results and messages.
pub fn shown(path: &[u8]) -> String {
    match path {
        [] => ".".to_owned(),
        path => encode_path(Path::new(OsStr::from_bytes(path))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_workspace::Workspace;

    #[test]
    fn a_path_is_taken_from_the_workspace_and_must_not_leave_it() {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        assert_eq!(path_below(&cx, "./a/../b/c/").unwrap(), b"b/c");
        assert_eq!(path_below(&cx, ".").unwrap(), b"");
        assert_eq!(path_below(&cx, "caf\\xE9").unwrap(), b"caf\xe9");
        for outside in ["..", "a/../../b", "/etc", "~/x"] {
            assert_eq!(path_below(&cx, outside).unwrap_err().reason, Reason::OutsideWorkspace, "{outside}");
        }
    }
}
