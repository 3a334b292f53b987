//! Files that root may change and its commands may not.

use rustix::process::{getegid, geteuid, getgroups};
use std::collections::VecDeque;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of paths that are looked at, the nearest to the workspace first.
const MOST_PATHS: usize = 1_000;

/// What to do about such files, for the host.
pub const FOREIGN_REMEDY: &str = "run beamai as the user whom the workspace belongs to (for a container: --user UID, or runAsUser), or have the \
     workspace belong to the user that beamai runs as (chown)";

/// A path of another user that commands cannot change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPath {
    /// The path.
    pub path: PathBuf,
    /// The user that it belongs to.
    pub uid: u32,
}

impl ForeignPath {
    /// The first such path in a directory, itself included, by depth. Commands have no capabilities, so the mode of a file
    /// holds for them even if they run as root. `None` for other users, whose commands may change what they may.
    pub fn within(directory: &Path) -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        let mut paths = VecDeque::from([directory.to_owned()]);
        for _ in 0..MOST_PATHS {
            let path = paths.pop_front()?;
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if !is_writable(&metadata) {
                return Some(Self { path, uid: metadata.uid() });
            }
            if metadata.is_dir() {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                paths.extend(entries.take(MOST_PATHS).map(|entry| entry.path()));
            }
        }
        None
    }
}

/// Whether its owner is this user, or its mode lets this user write.
fn is_writable(metadata: &Metadata) -> bool {
    let group = metadata.gid();
    let is_of_group = || {
        getegid().as_raw() == group
            || getgroups().is_ok_and(|all| all.iter().any(|one| one.as_raw() == group))
    };
    let bit = if is_of_group() { 0o020 } else { 0o002 };
    metadata.uid() == geteuid().as_raw() || metadata.mode() & bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn a_file_of_another_user_is_found_unless_its_mode_lets_everybody_write() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("src/deep/file");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        symlink("/nowhere", dir.path().join("link")).unwrap();
        assert_eq!(ForeignPath::within(dir.path()), None);
        if !geteuid().is_root() {
            return;
        }
        chown(&file, Some(4_242), None).unwrap();
        let found = ForeignPath { path: file.clone(), uid: 4_242 };
        assert_eq!(ForeignPath::within(dir.path()), Some(found));
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o664)).unwrap();
        assert_eq!(ForeignPath::within(dir.path()), None, "the group may write");
    }
}
