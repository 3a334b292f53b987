//! What a worker is confined to.

use crate::fail::GitResult;
use crate::repo::locate::RepoLocation;
use beamai_base::ToolError;
use beamai_isolation::{SandboxMode, SandboxSettings};
use beamai_policy::DeniedPaths;
use beamai_sandbox::{Confinement, ReadableDir, RepositoryPaths};
use beamai_tool::CallContext;
use beamai_workspace::{WorkspaceId, WorkspacePath};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// The confinement of workers of a repository: nothing can be written but the directory that its work trees share, with
/// the work tree's own one in it, and there neither settings nor hooks.
///
/// # Errors
/// When that directory cannot be opened.
pub(super) fn confinement(
    located: &RepoLocation,
    sandbox: &SandboxSettings,
    denied: &DeniedPaths,
) -> GitResult<Arc<Confinement>> {
    if sandbox.mode == SandboxMode::Off {
        return Ok(Confinement::off());
    }
    let common = identified(&located.common_dir)?;
    let repository = RepositoryPaths {
        work_tree: located.root.absolute(),
        git_dir: located.git_dir.absolute(),
        common_dir: common.path,
        device: common.device,
        inode: common.inode,
    };
    Ok(Confinement::of_repository(&repository, sandbox, denied))
}

/// The directories that a worker may read: the work tree, the repository and the workspace. None where it may read
/// everything.
///
/// # Errors
/// When one cannot be opened.
pub(super) fn readable(located: &RepoLocation, cx: &CallContext) -> GitResult<Vec<ReadableDir>> {
    if cx.sandbox.mode == SandboxMode::Off {
        return Ok(Vec::new());
    }
    let WorkspaceId { device, inode, .. } = cx.workspace.id();
    let workspace = ReadableDir { path: cx.workspace.path().to_owned(), device, inode };
    Ok(vec![identified(&located.root)?, identified(&located.common_dir)?, workspace])
}

/// A directory with what it is, from a handle that leads nowhere else.
fn identified(path: &WorkspacePath) -> GitResult<ReadableDir> {
    let found = rustix::fs::fstat(path.open_dir()?).map_err(std::io::Error::from);
    let found = found.map_err(|error| ToolError::io("look at", path.display(), error))?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok(ReadableDir { path: path.absolute(), device: found.st_dev as u64, inode: found.st_ino as u64 })
}

/// A directory as an argument of a worker.
pub(super) fn argument(dir: &ReadableDir) -> OsString {
    let mut argument = OsString::from(format!("{}:{}:", dir.device, dir.inode));
    argument.push(&dir.path);
    argument
}

/// The directory that such an argument names.
pub(super) fn from_argument(argument: &OsStr) -> Option<ReadableDir> {
    let mut parts = argument.as_bytes().splitn(3, |byte| *byte == b':');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
    let (device, inode) = (number()?, number()?);
    Some(ReadableDir { path: OsStr::from_bytes(parts.next()?).into(), device, inode })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_comes_back_from_its_argument() {
        let dir = ReadableDir { path: OsStr::from_bytes(b"/a:b/\xff").into(), device: 1, inode: u64::MAX };
        assert_eq!(from_argument(&argument(&dir)), Some(dir));
        assert_eq!(from_argument("/a".as_ref()), None);
    }
}
