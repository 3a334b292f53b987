//! What a worker is confined to.

use crate::fail::GitResult;
use crate::repo::locate::RepoLocation;
use beamai_isolation::{SandboxMode, SandboxSettings};
use beamai_policy::DeniedPaths;
use beamai_sandbox::{Confinement, RepositoryPlaces};
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
    let found = rustix::fs::fstat(located.common_dir.open_dir()?).map_err(std::io::Error::from);
    let found =
        found.map_err(|error| beamai_base::ToolError::io("look at", located.common_dir.display(), error))?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    let places = RepositoryPlaces {
        work_tree: located.root.absolute(),
        git_dir: located.git_dir.absolute(),
        common_dir: located.common_dir.absolute(),
        device: found.st_dev as u64,
        inode: found.st_ino as u64,
    };
    Ok(Confinement::of_repository(&places, sandbox, denied))
}
