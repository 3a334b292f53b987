//! Restricts which files one of our own processes can read, enforced by Landlock.

use super::landlock::{VERSION, add_fd, errno_of};
use crate::SetupFailure;
use landlock::{AccessFs, BitFlags, Ruleset, RulesetAttr, RulesetCreated};
use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
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

/// Maximum number of Landlock rules. Each costs some microseconds and memory of the Linux kernel.
const MOST: usize = 20_000;

/// Restricts this thread, and threads that it starts later, to reading and listing the directories `dirs` and the paths
/// `settings`, recursively, except for the absolute paths `hidden` beneath them, whose names can be listed. No rule of
/// Landlock can deny, so what is beside these is permitted one by one, and what comes there later is not. Settings that
/// do not exist are skipped. Writing is not affected. The restriction is permanent. Without Landlock nothing is
/// restricted: whether it is required has been checked before.
///
/// # Errors
/// `ENOENT` or `ESTALE` if one of `dirs` does not exist or was replaced; `E2BIG` if there is too much beside hidden
/// paths; errors of Landlock.
pub fn limit_reads(
    dirs: &[ReadableDir],
    settings: &[PathBuf],
    hidden: &[PathBuf],
) -> Result<(), SetupFailure> {
    let failure = |errno| SetupFailure::new("limit what this process reads", errno);
    let opened = dirs.iter().map(opened).collect::<Result<Vec<_>, _>>().map_err(failure)?;
    let access = AccessFs::from_read(VERSION);
    let limited = || -> Result<(), Errno> {
        let created = Ruleset::default().handle_access(access | AccessFs::Refer).and_then(Ruleset::create);
        let mut reads =
            PermittedReads { rules: created.map_err(|error| errno_of(&error))?, access, left: MOST };
        // Any Landlock rule set must explicitly permit moving files between directories.
        reads = reads.with(handle(Path::new("/"))?, AccessFs::Refer.into())?;
        let shown = dirs.iter().map(|dir| &dir.path).zip(opened);
        let is_hidden = |path: &Path| hidden.iter().any(|hidden| path.starts_with(hidden));
        let settings = settings.iter().filter(|path| !path.canonicalize().is_ok_and(|real| is_hidden(&real)));
        let settings = settings.filter_map(|path| Some((path, handle(path).ok()?)));
        for (path, fd) in shown.chain(settings) {
            let beneath: Vec<&Path> =
                hidden.iter().map(PathBuf::as_path).filter(|hidden| hidden.starts_with(path)).collect();
            reads = reads.beneath(path, fd, &beneath)?;
        }
        reads.rules.restrict_self().map(drop).map_err(|error| errno_of(&error))
    };
    limited().map_err(failure)
}

/// What a rule set permits reading.
struct PermittedReads {
    rules: RulesetCreated,
    access: BitFlags<AccessFs>,
    /// How many more rules there may be.
    left: usize,
}

impl PermittedReads {
    fn with(self, fd: OwnedFd, access: BitFlags<AccessFs>) -> Result<Self, Errno> {
        let left = self.left.checked_sub(1).ok_or(Errno::TOOBIG)?;
        let rules = add_fd(self.rules, fd, access).map_err(|error| errno_of(&error))?;
        Ok(Self { rules, left, ..self })
    }

    /// Permits a path, without the hidden ones at it or beneath it. No link is followed, since somebody may make one
    /// meanwhile.
    fn beneath(mut self, path: &Path, fd: OwnedFd, hidden: &[&Path]) -> Result<Self, Errno> {
        if hidden.is_empty() {
            let access = self.access;
            return self.with(fd, access);
        }
        let is_directory = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Directory;
        if !is_directory {
            return Ok(self);
        }
        let list = rustix::fs::openat(
            &fd,
            c".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        self = self.with(fd, AccessFs::ReadDir.into())?;
        // In a directory that cannot be listed, nothing is permitted.
        let Ok(list) = list else { return Ok(self) };
        if hidden.contains(&path) {
            return Ok(self);
        }
        let Ok(entries) = Dir::read_from(&list) else { return Ok(self) };
        for entry in entries.flatten() {
            let name = Path::new(OsStr::from_bytes(entry.file_name().to_bytes()));
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let path = path.join(name);
            if name == Path::new(".") || name == Path::new("..") {
                continue;
            }
            // The entry may be gone by now. A link needs no rule: what it leads to has one if it may be read.
            let Ok(fd) = rustix::fs::openat(&list, entry.file_name(), flags, Mode::empty()) else { continue };
            if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Symlink {
                continue;
            }
            let beneath: Vec<&Path> =
                hidden.iter().copied().filter(|hidden| hidden.starts_with(&path)).collect();
            self = self.beneath(&path, fd, &beneath)?;
        }
        Ok(self)
    }
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
            |expected: &ReadableDir| limit_reads(std::slice::from_ref(expected), &[], &[]).unwrap_err().errno;
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
            limit_reads(&dirs, &settings, &[]).unwrap();
            std::fs::rename(&own, &moved).unwrap();
            (std::fs::read_to_string(moved).unwrap(), std::fs::read(&link).is_err())
        };
        assert_eq!(std::thread::spawn(limited).join().unwrap(), ("own".to_owned(), true));
    }

    #[test]
    fn what_is_hidden_cannot_be_read_and_what_lies_beside_it_can() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        std::fs::create_dir_all(at("d/deep")).unwrap();
        std::fs::create_dir(at("closed")).unwrap();
        for file in ["a", "key", "d/key", "d/b", "d/deep/c", "closed/x"] {
            std::fs::write(at(file), file).unwrap();
        }
        std::os::unix::fs::symlink("closed", at("link")).unwrap();
        let hidden = ["key", "d/key", "closed", "none"].map(at);
        let dirs = [dir(top.path())];
        let files = ["a", "d/b", "d/deep/c", "key", "d/key", "closed/x", "link/x"].map(at);
        let limited = move || {
            limit_reads(&dirs, &[], &hidden).unwrap();
            (files.map(|file| std::fs::read(file).is_ok()), std::fs::read_dir(&hidden[2]).unwrap().count())
        };
        let expected = ([true, true, true, false, false, false, false], 1);
        assert_eq!(std::thread::spawn(limited).join().unwrap(), expected);
    }
}
