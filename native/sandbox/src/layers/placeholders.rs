//! Placeholders: empty files and directories that are created on the machine as mount points.
//!
//! A mount disappears when the file below it is removed. So each reaper holds a shared lock (`flock`) on the
//! placeholders that it covers, and after a reaper has exited, its launcher removes them only where it gets an
//! exclusive lock: reapers of other port programs may cover them, too. Mode and date tell placeholders from files of
//! others: so one that a killed launcher has left is removed later, and a file that somebody else made, or wrote to,
//! never is. Where a file system has no locks, placeholders stay.

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
use rustix::process::Pid;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The mode bit of a placeholder. It is set with the creation itself, and means nothing for a file, or for an empty
/// directory.
const MARK: Mode = Mode::SVTX;
/// The date of a placeholder's contents in seconds since 1970, which changes when somebody writes to it.
const DATE: i64 = 981_173_106;
/// How often to try to hold one that is just being removed, and the time between two tries.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// The placeholders that a reaper covers. They stay as long as it lives.
#[derive(Default)]
pub struct Placeholders(Vec<(PathBuf, OwnedFd)>);

impl Placeholders {
    /// Where they are.
    pub fn paths(&self) -> Vec<OsString> {
        self.0.iter().map(|(path, _)| path.clone().into_os_string()).collect()
    }

    /// Creates one at a path in `directory` where nothing is yet, and holds it; or holds the one that another reaper has
    /// just created.
    pub(super) fn make(
        &mut self,
        directory: BorrowedFd<'_>,
        path: &Path,
        kind: FileType,
    ) -> Result<(), Errno> {
        for _ in 0..TRIES {
            match create(directory, path.file_name().unwrap_or_default(), kind) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            match self.hold(directory, path) {
                // Its launcher has just removed it.
                Err(Errno::NOENT) => {}
                held => return held,
            }
        }
        Err(Errno::BUSY)
    }

    /// Holds what lies at a path in `directory`, if it is a placeholder.
    pub(super) fn hold(&mut self, directory: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
        let name = path.file_name().unwrap_or_default();
        for _ in 0..TRIES {
            let found = look(directory, name)?;
            if !is_marked(&found) {
                return Ok(());
            }
            let fd = match open(directory, name, OFlags::RDONLY) {
                // A person's own: every user can read a placeholder.
                Err(Errno::ACCESS) if found.st_mtime != DATE => return Ok(()),
                opened => opened?,
            };
            match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockShared) {
                // If no process can lock it, none removes it.
                Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                Err(Errno::WOULDBLOCK) => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(errno) => return Err(errno),
            }
            if is_at(&fd, directory, name) {
                self.0.push((path.to_owned(), fd));
                return Ok(());
            }
        }
        Err(Errno::BUSY)
    }
}

/// Whether a path is a placeholder: as good as missing.
pub fn is_placeholder(path: &Path) -> bool {
    let found = rustix::fs::lstat(path);
    found.is_ok_and(|found| is_marked(&found) && found.st_mtime == DATE)
}

fn create(directory: BorrowedFd<'_>, name: &OsStr, kind: FileType) -> Result<(), Errno> {
    // Reapers of other users must be able to read it, to lock it.
    let mask = rustix::process::umask(Mode::WGRP | Mode::WOTH);
    let created = match kind {
        FileType::Directory => rustix::fs::mkdirat(directory, name, MARK | Mode::from_raw_mode(0o755)),
        _ => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(directory, name, flags, MARK | Mode::from_raw_mode(0o644)).map(drop)
        }
    };
    rustix::process::umask(mask);
    created?;
    let date = Timespec { tv_sec: DATE, tv_nsec: 0 };
    let dates = Timestamps { last_access: date, last_modification: date };
    rustix::fs::utimensat(directory, name, &dates, AtFlags::SYMLINK_NOFOLLOW)
}

fn open(directory: BorrowedFd<'_>, name: &OsStr, access: OFlags) -> Result<OwnedFd, Errno> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

fn look(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Stat, Errno> {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Whether it may be a placeholder, or one that is just being created.
fn is_marked(found: &Stat) -> bool {
    let kind = FileType::from_raw_mode(found.st_mode);
    let others = Mode::WGRP | Mode::WOTH;
    Mode::from_raw_mode(found.st_mode).intersection(MARK | others) == MARK
        && (kind == FileType::Directory || kind == FileType::RegularFile && found.st_size == 0)
}

/// Whether a name still leads to an open file.
fn is_at(fd: &OwnedFd, directory: BorrowedFd<'_>, name: &OsStr) -> bool {
    let id = |found: Stat| (found.st_dev, found.st_ino);
    rustix::fs::fstat(fd).map(id).ok() == look(directory, name).map(id).ok()
}

/// A launcher's list of the placeholders that its reapers cover.
#[derive(Default)]
pub struct CoveredPlaceholders(HashMap<Pid, Vec<OsString>>);

impl CoveredPlaceholders {
    /// Notes those of a reaper.
    pub fn add(&mut self, reaper: Pid, covered: &[OsString]) {
        if !covered.is_empty() {
            self.0.insert(reaper, covered.to_vec());
        }
    }

    /// The reapers that cover any.
    pub fn reapers(&self) -> impl Iterator<Item = Pid> {
        self.0.keys().copied()
    }

    /// Removes those that nobody covers any more after a reaper has exited.
    pub fn remove(&mut self, reaper: Pid) {
        for path in self.0.remove(&reaper).unwrap_or_default() {
            // One that another reaper covers is removed after that reaper. One that cannot be removed stays, as an
            // empty file.
            _ = remove_uncovered(Path::new(&path));
        }
    }
}

/// Removes the placeholder at a path, unless a reaper holds it or somebody has put something into it.
fn remove_uncovered(path: &Path) -> Result<(), Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(parent, flags, Mode::empty())?;
    let is_directory = FileType::from_raw_mode(look(directory.as_fd(), name)?.st_mode) == FileType::Directory;
    // A network file system gives an exclusive lock only to who may write.
    let access = if is_directory { OFlags::RDONLY } else { OFlags::RDWR };
    let fd = open(directory.as_fd(), name, access)?;
    rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
    let found = rustix::fs::fstat(&fd)?;
    if !is_marked(&found) || found.st_mtime != DATE || !is_at(&fd, directory.as_fd(), name) {
        return Ok(());
    }
    let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    rustix::fs::unlinkat(&directory, name, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// A directory, and a launcher's list.
    struct Scene {
        dir: TempDir,
        covered: CoveredPlaceholders,
    }

    impl Scene {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap(), covered: CoveredPlaceholders::default() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        /// What a reaper of this launcher does that needs these.
        fn cover(&mut self, reaper: Pid, needed: &[(&str, FileType)]) -> Placeholders {
            let mut held = Placeholders::default();
            let directory = std::fs::File::open(self.dir.path()).unwrap();
            for (name, kind) in needed {
                held.make(directory.as_fd(), &self.path(name), *kind).unwrap();
            }
            self.covered.add(reaper, &held.paths());
            held
        }
    }

    const HOOKS: (&str, FileType) = ("hooks", FileType::Directory);
    const CONFIG: (&str, FileType) = ("config", FileType::RegularFile);

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn a_placeholder_stays_until_the_last_who_covers_it_has_exited() {
        let mut scene = Scene::new();
        let [first, second] = [1, 2].map(|number| scene.cover(pid(number), &[HOOKS, CONFIG]));
        drop(first);
        scene.covered.remove(pid(1));
        assert!(scene.path("hooks").exists() && scene.path("config").exists());
        drop(second);
        scene.covered.remove(pid(2));
        assert!(!scene.path("hooks").exists() && !scene.path("config").exists());
    }

    #[test]
    fn a_placeholder_of_a_launcher_that_was_killed_is_removed_after_the_next_reaper() {
        let mut scene = Scene::new();
        drop(scene.cover(pid(1), &[HOOKS, CONFIG]));
        scene.covered = CoveredPlaceholders::default();
        drop(scene.cover(pid(2), &[HOOKS, CONFIG]));
        scene.covered.remove(pid(2));
        assert!(!scene.path("hooks").exists() && !scene.path("config").exists());
    }

    #[test]
    fn what_others_have_made_or_used_is_never_removed() {
        let mut scene = Scene::new();
        std::fs::create_dir(scene.path("hooks")).unwrap();
        std::fs::write(scene.path("config"), "").unwrap();
        std::fs::create_dir(scene.path("own")).unwrap();
        std::fs::set_permissions(scene.path("own"), PermissionsExt::from_mode(0o1755)).unwrap();
        let used = ("used", FileType::RegularFile);
        let [renewed, kept] = [("renewed", FileType::RegularFile), ("kept", FileType::Directory)];
        let held = scene.cover(pid(1), &[HOOKS, CONFIG, ("own", FileType::Directory), used, renewed, kept]);
        assert_eq!(held.paths().len(), 4);
        std::fs::write(scene.path("used"), "[core]").unwrap();
        std::fs::remove_file(scene.path("renewed")).unwrap();
        std::fs::write(scene.path("renewed"), "").unwrap();
        std::fs::write(scene.path("kept/pre-commit"), "").unwrap();
        drop(held);
        scene.covered.remove(pid(1));
        for name in ["hooks", "config", "own", "used", "renewed", "kept/pre-commit"] {
            assert!(scene.path(name).exists(), "{name}");
        }
    }

    #[test]
    fn reapers_of_many_launchers_never_lose_one_that_they_hold() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        let directory = std::fs::File::open(dir.path()).unwrap();
        std::thread::scope(|scope| {
            for number in 1..=4 {
                let (directory, path) = (&directory, &path);
                scope.spawn(move || {
                    let mut covered = CoveredPlaceholders::default();
                    for _ in 0..500 {
                        let mut held = Placeholders::default();
                        held.make(directory.as_fd(), path, FileType::RegularFile).unwrap();
                        covered.add(pid(number), &held.paths());
                        let name = path.file_name().unwrap();
                        assert!(held.0.iter().all(|(_, fd)| is_at(fd, directory.as_fd(), name)));
                        std::thread::yield_now();
                        assert!(held.0.len() == 1 && is_at(&held.0[0].1, directory.as_fd(), name));
                        drop(held);
                        covered.remove(pid(number));
                    }
                });
            }
        });
        assert!(!path.exists());
    }
}
