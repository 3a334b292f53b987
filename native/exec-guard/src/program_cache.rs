//! Cache of resolved programs, for paths on which commands cannot change anything.

use super::resolver::{ResolvedProgram, open_followed};
use super::task::FileId;
use beamai_isolation::FileIdentity;
use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::Errno;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of cached programs.
const MAX_KNOWN: usize = 1_024;
/// How long a program is taken from the cache.
const FRESH: Duration = Duration::from_secs(10);

/// Identity and change time of a file. A change of contents, mode or name changes the stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) id: FileId,
    mode: u16,
    changed: (i64, u32),
}

impl FileStamp {
    pub(super) fn of(fd: &OwnedFd) -> Result<Self, Errno> {
        let wanted = StatxFlags::INO | StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::CTIME;
        let found = statx(fd, "", AtFlags::EMPTY_PATH, wanted)?;
        Ok(Self {
            id: (found.stx_dev_major.into(), found.stx_dev_minor.into(), found.stx_ino),
            mode: found.stx_mode,
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        })
    }

    /// The file's identity, as others than the guard read it.
    pub(super) fn identity(&self) -> FileIdentity {
        let (major, minor, inode) = self.id;
        (libc::makedev(major as u32, minor as u32), inode)
    }
}

/// Programs by absolute path, for all orders of a reaper. Commands can change neither the files nor the directories and
/// links that lead to them. Somebody outside the sandbox can. Each lookup compares the stamps, so another file is
/// noticed at once. A link that leads to the same file by another name is not. Therefore a program is resolved again
/// after [`FRESH`].
#[derive(Debug, Default)]
pub(super) struct ProgramCache(Mutex<HashMap<Vec<u8>, CachedProgram>>);

#[derive(Debug)]
struct CachedProgram {
    program: ResolvedProgram,
    /// The absolute paths of the program and its interpreters.
    paths: Vec<Vec<u8>>,
    resolved: Instant,
}

impl ProgramCache {
    /// The cached program, if the path still leads to the same files.
    pub(super) fn again(&self, root: &OwnedFd, path: &[u8]) -> Option<ResolvedProgram> {
        let known = self.known();
        let CachedProgram { program, paths, resolved } = known.get(path)?;
        let is_same = |(path, stamp): (&Vec<u8>, &FileStamp)| {
            open_followed(root, path).and_then(|fd| FileStamp::of(&fd)).is_ok_and(|now| now == *stamp)
        };
        (resolved.elapsed() < FRESH && paths.iter().zip(&program.stamps).all(is_same))
            .then(|| program.clone())
    }

    /// Caches a program. Commands must not be able to write it, and its paths must not depend on the calling process.
    pub(super) fn note(&self, program: &ResolvedProgram, paths: Vec<Vec<u8>>) {
        let Some(path) = paths.first().cloned() else { return };
        let mut known = self.known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        let cached = CachedProgram { program: program.clone(), paths, resolved: Instant::now() };
        known.insert(path, cached);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Vec<u8>, CachedProgram>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolver::{Caller, ProgramResolver, SandboxRoot};
    use super::super::writable::{UnwritableDirs, WriteProtection};
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    struct Case {
        view: SandboxRoot,
        unwritable: UnwritableDirs,
    }

    impl Case {
        fn new(writable: &[&Path]) -> Self {
            let roots = writable.iter().map(|path| path.to_path_buf()).collect();
            let root = fs::File::open("/").unwrap().into();
            let protection = WriteProtection::Landlock(roots);
            let view = SandboxRoot { root, protection, found: ProgramCache::default() };
            Self { view, unwritable: UnwritableDirs::default() }
        }

        fn find(&self, path: &Path) -> Result<ResolvedProgram, Errno> {
            let Self { view, unwritable } = self;
            let thread = rustix::thread::gettid().as_raw_pid();
            let caller = Caller::Thread(thread);
            ProgramResolver { view, unwritable, caller }.program(path.as_os_str().as_bytes(), "cwd")
        }

        fn knows(&self, path: &Path) -> bool {
            self.view.found.again(&self.view.root, path.as_os_str().as_bytes()).is_some()
        }
    }

    fn program(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        (dir, path)
    }

    #[test]
    fn a_program_is_found_again_as_long_as_it_is_the_same() {
        let (_dir, dir) = place();
        let [inner, script, link, other] = ["inner", "script", "link", "other"].map(|name| dir.join(name));
        program(&inner, "\x7fELF");
        program(&script, &format!("#!{}\n", inner.display()));
        program(&other, "\x7fELF");
        symlink("script", &link).unwrap();
        let case = Case::new(&[]);
        let first = case.find(&link).unwrap();
        assert!(!first.is_writable && case.knows(&link) && !case.knows(&script));
        let again = case.find(&link).unwrap();
        assert_eq!((&again.file, &again.links), (&script, &vec![script.clone()]));
        let interpreters: Vec<_> = again.interpreters.into_iter().map(|one| one.program.names).collect();
        assert_eq!((interpreters, again.stamps), (vec![vec![inner.clone()]], first.stamps.clone()));
        // Another interpreter at the same path.
        fs::rename(&other, &inner).unwrap();
        assert!(!case.knows(&link));
        assert_ne!(case.find(&link).unwrap().image(), first.image());
        assert!(case.knows(&link));
        // Another mode.
        fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!case.knows(&link));
        assert_eq!(case.find(&link).err(), Some(Errno::ACCESS));
        fs::remove_file(&script).unwrap();
        assert_eq!(case.find(&link).err(), Some(Errno::NOENT));
    }

    #[test]
    fn what_commands_can_change_or_what_depends_on_who_asks_is_not_remembered() {
        let (_dir, dir) = place();
        let (file, link) = (dir.join("file"), dir.join("link"));
        program(&file, "\x7fELF");
        symlink(&file, &link).unwrap();
        let case = Case::new(&[&dir]);
        assert!(case.find(&file).unwrap().is_writable && case.find(&link).unwrap().is_writable);
        assert!(!case.knows(&file) && !case.knows(&link));
        let case = Case::new(&[]);
        let own = Path::new("/proc/self/exe");
        let program_of_own = case.find(own).unwrap();
        assert!(!program_of_own.is_writable && !case.knows(own));
        // A script whose interpreter depends on the working directory.
        program(&file, "#!bin/sh\n");
        _ = case.find(&file);
        assert!(!case.knows(&file));
    }
}
