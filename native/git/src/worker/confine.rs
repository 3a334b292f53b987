//! The confinement of workers.

use beamai_base::{Reason, Result, ToolError};
use beamai_git_repository::{GitResult, RepoLocation};
use beamai_isolation::{SandboxMode, SandboxSettings};
use beamai_policy::DeniedPaths;
use beamai_sandbox::{Confinement, ReadableDir, RepositoryPaths};
use beamai_tool::CallContext;
use beamai_workspace::{WorkspaceId, WorkspacePath};
use std::ffi::{OsStr, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The confinement of a repository's workers: they may write only to the common directory, which contains the git
/// directory, except for its settings and hooks.
///
/// # Errors
/// If that directory cannot be opened.
pub(super) fn confinement(
    located: &RepoLocation,
    sandbox: &SandboxSettings,
    denied: &DeniedPaths,
    unchanged: &[PathBuf],
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
    Ok(Confinement::of_repository(&repository, sandbox, denied, unchanged))
}

/// The paths that a worker must not read, and those that it must not change: the same as commands.
///
/// # Errors
/// Those of [`Confinement::within`].
pub(super) fn closed(cx: &CallContext) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    // To look for what rules match would take long in a large workspace.
    if cx.guard.is_open() && cx.denied_paths.is_empty() {
        return Ok(Default::default());
    }
    let workspace = cx.workspace.unguarded().without_temp();
    Ok(Confinement::within(&workspace, &cx.sandbox, &cx.denied_paths, &|| cx.check())?.closed())
}

/// The directories that a worker may read: work tree, repository and workspace. Empty if it may read everything.
///
/// # Errors
/// If one cannot be opened.
pub(super) fn readable(located: &RepoLocation, cx: &CallContext) -> GitResult<Vec<ReadableDir>> {
    if cx.sandbox.mode == SandboxMode::Off {
        return Ok(Vec::new());
    }
    let WorkspaceId { device, inode, .. } = cx.workspace.id();
    let workspace = ReadableDir { path: cx.workspace.path().to_owned(), device, inode };
    Ok(vec![identified(&located.root)?, identified(&located.common_dir)?, workspace])
}

/// A directory with its device and inode numbers, read from a handle.
///
/// # Errors
/// If it cannot be opened, or a link has come to its path since it was found: what that leads to was not judged.
pub(super) fn identified(path: &WorkspacePath) -> GitResult<ReadableDir> {
    let opened = path.open_dir()?;
    let real = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    if let Some(real) = real.ok().filter(|real| *real != path.absolute()) {
        return Err(linked(&path.absolute(), &real).into());
    }
    let found = rustix::fs::fstat(opened).map_err(std::io::Error::from);
    let found = found.map_err(|error| ToolError::io("look at", path.display(), error))?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok(ReadableDir { path: path.absolute(), device: found.st_dev as u64, inode: found.st_ino as u64 })
}

/// The error if a link has come to a path, and the directory is elsewhere.
fn linked(path: &Path, real: &Path) -> ToolError {
    let (path, real) = (path.display(), real.display());
    let message = format!(
        "{path} is a link to {real} now, or behind one, and the git tools follow none; move it back, or start \
         again with the workspace where it is"
    );
    ToolError::new(Reason::Stale, message)
}

/// A directory as a command-line argument of a worker.
pub(super) fn argument(dir: &ReadableDir) -> OsString {
    let mut argument = OsString::from(format!("{}:{}:", dir.device, dir.inode));
    argument.push(&dir.path);
    argument
}

/// Parses such an argument.
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
