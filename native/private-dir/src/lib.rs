//! Temporary directories that only this user can access: of sessions, and of servers for which the sandbox has no
//! private `/tmp`. Those of programs that were killed are deleted by [`sweep`].

#![forbid(unsafe_code)]

mod leftovers;

use beamai_base::{Reason, ToolError, temp_dir};
use beamai_isolation::{SandboxMode, SandboxSettings, Tier};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Common prefix of their names.
const PREFIX: &str = "beamai-";

/// Deletes the directories of servers that were killed.
pub fn sweep() {
    leftovers::sweep(&temp_dir(), PREFIX);
}

/// A directory that only this user can access, deleted on drop.
#[derive(Debug)]
pub struct PrivateDir {
    /// Inaccessible to others from its creation, so that nobody can open the inner one at any time.
    outer: Option<TempDir>,
    inner: PathBuf,
}

impl PrivateDir {
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
        live().insert(outer.path().to_owned());
        Ok(Self { outer: Some(outer), inner })
    }

    /// Creates one if programs under this sandbox may otherwise have none: without mounts, `/tmp` is shared with other
    /// users.
    ///
    /// # Errors
    /// `io`.
    pub fn where_needed(sandbox: &SandboxSettings) -> beamai_base::Result<Option<Self>> {
        let has_mounts = sandbox.mode == SandboxMode::Required && sandbox.tier == Tier::Full;
        if has_mounts || sandbox.mode == SandboxMode::Off {
            return Ok(None);
        }
        sweep();
        Self::new().map(Some).map_err(|error| {
            ToolError::new(Reason::Io, format!("no temporary directory could be made: {error}"))
        })
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

impl Drop for PrivateDir {
    fn drop(&mut self) {
        let Some(outer) = self.outer.take() else { return };
        let path = outer.keep();
        if live().remove(&path) {
            delete(&path);
        }
    }
}

/// The directories of this program.
fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes the directories that are still there when the program ends, such as those of servers that were kept for
/// another call.
pub fn delete_all() {
    let all = std::mem::take(&mut *live());
    all.iter().for_each(|path| delete(path));
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
        let dir = PrivateDir::new().unwrap();
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
