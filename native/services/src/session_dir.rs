//! A session's private temporary directory.

use crate::leftovers;
use beamai_base::temp_dir;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Common prefix of their names.
const PREFIX: &str = "beamai-";

/// Deletes the directories of servers that were killed.
pub fn sweep() {
    leftovers::sweep(&temp_dir(), PREFIX);
}

/// A directory that only this user can access, deleted on drop.
pub struct SessionDir {
    /// Inaccessible to others from its creation, so that nobody can open the inner one at any time.
    outer: Option<TempDir>,
    inner: PathBuf,
}

impl SessionDir {
    /// Creates one in the system's directory for temporary files.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new() -> Result<Self> {
        let private = || Permissions::from_mode(0o700);
        let outer = tempfile::Builder::new().prefix(PREFIX).permissions(private()).tempdir_in(temp_dir())?;
        leftovers::sign(outer.path())?;
        let inner = outer.path().join("tmp");
        fs::create_dir(&inner)?;
        fs::set_permissions(&inner, private())?;
        Ok(Self { outer: Some(outer), inner })
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.inner
    }

    /// Whether it still exists and is not a link: a command can delete it.
    pub fn is_there(&self) -> bool {
        self.inner.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
    }
}

impl Drop for SessionDir {
    fn drop(&mut self) {
        let Some(outer) = self.outer.take() else { return };
        delete(&outer.keep());
    }
}

/// Deletes a directory recursively. Links are removed, not followed. Failures are reported.
pub(crate) fn delete(path: &Path) {
    if fs::remove_dir_all(path).is_ok() {
        return;
    }
    // Build tools may leave directories without write permission.
    open_up(path);
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            eprintln!("beamai-port: the temporary directory {} is left behind: {error}", path.display());
        }
        _ => {}
    }
}

fn open_up(directory: &Path) {
    _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_and_goes_with_what_is_in_it() {
        let dir = SessionDir::new().unwrap();
        let path = dir.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::set_permissions(path.join("a"), Permissions::from_mode(0o500)).unwrap();
        assert!(dir.is_there());
        drop(dir);
        assert!(!path.parent().unwrap().exists());
    }
}
