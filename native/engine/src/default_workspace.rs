//! Which directories are no workspace unless the host names them.

use beamai_isolation::secrets;
use beamai_workspace::{Workspace, WorkspaceId};
use std::path::{Path, PathBuf};

/// What the directory is, if it is a workspace only by name: `/`, and the home directory, of which there may be two, as
/// `HOME` has it and as the system's list of users. A program that was started there rarely means to give tools the
/// whole disk, or all files of its user.
pub fn too_wide(directory: &WorkspaceId) -> Option<&'static str> {
    let is_same = |path: &Path| {
        let other = Workspace::open(path).map(|other| (other.id().device, other.id().inode));
        other.is_ok_and(|other| other == (directory.device, directory.inode))
    };
    match secrets::homes() {
        _ if is_same(Path::new("/")) => Some("the root of the file system"),
        homes if homes.iter().map(PathBuf::as_path).any(is_same) => Some("the home directory"),
        _ => None,
    }
}
