//! Restricts which files one of our own processes can read, enforced by Landlock.

use super::landlock::{VERSION, add_fd, errno_of};
use crate::SetupFailure;
use landlock::{AccessFs, BitFlags, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetError};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A directory by path and identity: a path alone could lead elsewhere by the time it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableDir {
    /// Absolute path without links.
    pub path: PathBuf,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// Restricts this thread, and threads that it starts later, to reading and listing the directories `dirs` and the paths
/// `settings`, recursively. Settings that do not exist are skipped. Writing is not affected. The restriction is
/// permanent. Without Landlock nothing is restricted: whether it is required has been checked before.
///
/// # Errors
/// `ENOENT` or `ESTALE` if one of `dirs` does not exist or was replaced; errors of Landlock.
pub fn limit_reads(dirs: &[ReadableDir], settings: &[PathBuf]) -> Result<(), SetupFailure> {
    let failure = |errno| SetupFailure::new("limit what this process reads", errno);
    let opened = dirs.iter().map(opened).collect::<Result<Vec<_>, _>>().map_err(failure)?;
    let limited = || -> Result<RestrictionStatus, RulesetError> {
        let access = AccessFs::from_read(VERSION);
        let mut rules = Ruleset::default().handle_access(access | AccessFs::Refer)?.create()?;
        // Any Landlock rule set must explicitly permit moving files between directories.
        rules = add(rules, Path::new("/"), AccessFs::Refer.into())?;
        for dir in opened {
            rules = add_fd(rules, dir, access)?;
        }
        for path in settings {
            rules = add(rules, path, access)?;
        }
        rules.restrict_self()
    };
    limited().map(drop).map_err(|error| failure(errno_of(&error)))
}

/// Opens the directory itself.
fn opened(dir: &ReadableDir) -> Result<OwnedFd, Errno> {
    let opened = handle(&dir.path)?;
    let found = rustix::fs::fstat(&opened)?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    match (found.st_dev as u64, found.st_ino as u64) == (dir.device, dir.inode) {
        true => Ok(opened),
        false => Err(Errno::STALE),
    }
}

/// Adds a rule for the target of a path, if it exists.
fn add(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match handle(path) {
        Ok(fd) => add_fd(rules, fd, access),
        Err(_) => Ok(rules),
    }
}

/// Opens the target of a path with plain `openat`: this process may already be in a sandbox whose filter refuses
/// `openat2`.
fn handle(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    fn dir(path: &Path) -> ReadableDir {
        let found = path.metadata().unwrap();
        ReadableDir { path: path.to_owned(), device: found.dev(), inode: found.ino() }
    }

    #[test]
    fn another_directory_in_the_place_of_one_is_refused() {
        let [inside, outside] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let own = inside.path().join("own");
        std::fs::create_dir(&own).unwrap();
        let expected = dir(&own);
        std::fs::rename(&own, inside.path().join("moved")).unwrap();
        let refused =
            |expected: &ReadableDir| limit_reads(std::slice::from_ref(expected), &[]).unwrap_err().errno;
        assert_eq!(refused(&expected), Errno::NOENT.raw_os_error());
        std::os::unix::fs::symlink(outside.path(), &own).unwrap();
        assert_eq!(refused(&expected), Errno::STALE.raw_os_error());
    }

    #[test]
    fn what_is_not_listed_cannot_be_read_by_any_path() {
        let [inside, outside] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        std::fs::write(inside.path().join("a"), "own").unwrap();
        std::fs::create_dir(inside.path().join("d")).unwrap();
        std::fs::write(outside.path().join("a"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
        let [own, moved, link] = ["a", "d/a", "link/a"].map(|name| inside.path().join(name));
        let (dirs, settings) = ([dir(inside.path())], [PathBuf::from("/no/such/directory")]);
        // Applies to this thread only.
        let limited = move || {
            assert!(std::fs::read(&link).is_ok());
            limit_reads(&dirs, &settings).unwrap();
            std::fs::rename(&own, &moved).unwrap();
            (std::fs::read_to_string(moved).unwrap(), std::fs::read(&link).is_err())
        };
        assert_eq!(std::thread::spawn(limited).join().unwrap(), ("own".to_owned(), true));
    }
}
