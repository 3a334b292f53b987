//! Path arguments as git takes them.

use crate::context::CallContext;
use crate::error::{Reason, Result, ToolError};
use crate::policy::FilePath;
use crate::workspace::{decode_path, encode_path};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// The bytes of a path argument, relative to the workspace, without `.` and `..`.
///
/// # Errors
/// `outside_workspace` when it leads out, and for the session's temporary directory.
pub(super) fn path_below(cx: &CallContext, text: &str) -> Result<Vec<u8>> {
    let place = cx.workspace.place(text)?;
    let outside = || {
        let message = format!("{text} is outside the workspace; use a path inside it");
        ToolError::new(Reason::OutsideWorkspace, message).file(text)
    };
    if decode_path(&place.display()).is_absolute() {
        return Err(outside());
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in place.relative().components() {
        match part {
            Component::Normal(name) => parts.push(name.as_bytes()),
            Component::ParentDir => _ = parts.pop().ok_or_else(outside)?,
            _ => {}
        }
    }
    Ok(parts.join(&b'/'))
}

/// A path argument for the policy: git takes it as it is written and follows no link.
///
/// # Errors
/// As [`path_below`].
pub(super) fn named(cx: &CallContext, text: &str) -> Result<FilePath> {
    let path = shown(&path_below(cx, text)?);
    Ok(FilePath { written: path.clone(), path, is_tree: true })
}

#[cfg(feature = "port")]
/// Whether a path leads into a repository's own directory.
pub(super) fn is_administrative(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git"))
}

/// A path as results and messages show it.
pub(super) fn shown(path: &[u8]) -> String {
    match path {
        [] => ".".to_owned(),
        path => encode_path(Path::new(OsStr::from_bytes(path))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

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
