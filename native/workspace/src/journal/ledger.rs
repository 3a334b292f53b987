//! The directories that journals are kept in, and their files.

use crate::{
    draft::{fresh_name, nameless},
    names,
};
use beamai_base::without_parents;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Suffixes of complete and of incomplete journals.
const SUFFIX: &str = ".journal";
pub(super) const UNFINISHED: &str = ".unfinished";

/// File mode of data that only its owner may read.
const PRIVATE: Mode = Mode::from_raw_mode(0o600);
/// Write permission for group and others.
const OTHERS_WRITE: u32 = 0o022;

/// A directory for journals; it need not exist.
#[derive(Debug)]
pub(crate) struct StateDir {
    /// The parent directory, which may be shared with others.
    base: PathBuf,
    /// Two directories beneath it, which must belong to this user and be writable to nobody else.
    names: [OsString; 2],
    path: PathBuf,
    pub(super) c_path: CString,
}

impl StateDir {
    pub(crate) fn new(base: PathBuf, name: &str) -> Self {
        let names = [name.into(), "journals".into()];
        let path = base.join(&names[0]).join(&names[1]);
        let c_path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        Self { base, names, path, c_path }
    }

    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The path with links resolved, as far as it exists.
    pub(super) fn real(&self) -> PathBuf {
        real(&self.path)
    }

    /// Opens the directory, and creates it if it is missing.
    pub(crate) fn make(&self) -> io::Result<Ledger> {
        self.open().or_else(|_| {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            self.open()
        })
    }

    /// Opens the directory, if it exists and belongs to this user alone.
    pub(super) fn open(&self) -> io::Result<Ledger> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut dir = rustix::fs::open(&self.base, flags, Mode::empty())?;
        for name in &self.names {
            dir = rustix::fs::openat(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            if !is_own(&dir, OTHERS_WRITE)? {
                let message = "it belongs to another user, or others can write to it";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
            }
        }
        Ok(Ledger { dir })
    }
}

/// Whether a file belongs to this user and grants others none of these permissions.
pub(super) fn is_own(file: impl AsFd, without: u32) -> Result<bool, Errno> {
    let stat = rustix::fs::fstat(file)?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok(stat.st_uid == rustix::process::geteuid().as_raw() && (stat.st_mode as u32) & without == 0)
}

/// A path with links resolved, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let above = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    above.map_or_else(
        || path.to_owned(),
        |(above, real)| real.join(path.strip_prefix(above).unwrap_or(Path::new(""))),
    )
}

/// The directories for journals, the preferred one first.
pub(super) fn state_dirs() -> &'static [StateDir; 2] {
    static PLACES: LazyLock<[StateDir; 2]> = LazyLock::new(|| {
        let given = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || std::env::home_dir().filter(|home| home.is_absolute());
        // Mounts cannot follow `..`.
        let state = given.or_else(|| home().map(|home| home.join(".local/state"))).map(without_parents);
        let own = format!("beamai-state-{}", rustix::process::geteuid().as_raw());
        // Without a home directory, only /tmp: all processes must agree on it, so TMPDIR does not count.
        let temp = || StateDir::new("/tmp".into(), &own);
        [state.map_or_else(temp, |state| StateDir::new(state, "beamai")), temp()]
    });
    &PLACES
}

/// The directories for journals, those first that are outside these workspaces, where tools could write.
pub(super) fn outside_first(roots: &[PathBuf]) -> [&'static StateDir; 2] {
    let is_outside = |state_dir: &StateDir| {
        let real = state_dir.real();
        !roots.iter().any(|root| real.starts_with(root))
    };
    let [usual, other] = state_dirs();
    if is_outside(usual) || !is_outside(other) { [usual, other] } else { [other, usual] }
}

/// An open directory with journals.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(super) dir: OwnedFd,
}

impl Ledger {
    /// Writes a journal. It appears complete, and locked by this process.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<Journal> {
        let (fresh, own) = (fresh_name(), rustix::process::getpid().as_raw_nonzero());
        let unique = fresh.trim_start_matches(".beamai-").trim_end_matches(".tmp");
        let name = OsString::from(format!("{unique}-{own}{SUFFIX}"));
        let dir = self.dir.try_clone()?;
        match nameless(self.dir.as_fd(), PRIVATE) {
            Some(fd) => {
                let file = filled(fd, bytes)?;
                names::name_file(&file, (dir.as_fd(), &name))?;
                Ok(Journal { file, dir, name })
            }
            None => self.write_named(bytes, dir, name),
        }
    }

    fn write_named(&self, bytes: &[u8], dir: OwnedFd, name: OsString) -> io::Result<Journal> {
        let mut unfinished = name.clone();
        unfinished.push(UNFINISHED);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        names::kill_point();
        let fd = rustix::fs::openat(&dir, &unfinished, flags, PRIVATE)?;
        let done = filled(fd, bytes).and_then(|file| {
            names::rename((dir.as_fd(), &unfinished), (dir.as_fd(), &name))?;
            Ok(file)
        });
        match done {
            Ok(file) => Ok(Journal { file, dir, name }),
            Err(error) => {
                _ = names::unlink((dir.as_fd(), &unfinished));
                Err(error)
            }
        }
    }

    /// The names of all complete journals, and of all incomplete ones.
    pub(super) fn names(&self) -> io::Result<(Vec<OsString>, Vec<OsString>)> {
        let mut found = (Vec::new(), Vec::new());
        for entry in rustix::fs::Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_bytes().to_owned();
            let own = OsStr::from_bytes(&name).to_owned();
            if name.ends_with(SUFFIX.as_bytes()) {
                found.0.push(own);
            } else if name.ends_with(UNFINISHED.as_bytes()) {
                found.1.push(own);
            }
        }
        Ok(found)
    }
}

/// Whether the process that wrote a journal has ended, or is ending. In doubt, it counts as alive.
pub(super) fn is_owner_gone(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let stem = text.strip_suffix(SUFFIX).unwrap_or_default();
    let own = stem.rsplit('-').next().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    own.is_some_and(|pid| {
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok();
        // The state follows the program's name, which may contain any character.
        let is_ending = || stat()?.rsplit_once(") ")?.1.chars().next().map(|state| "ZX".contains(state));
        rustix::process::test_kill_process(pid) == Err(Errno::SRCH) || is_ending().unwrap_or(false)
    })
}

fn filled(fd: OwnedFd, bytes: &[u8]) -> io::Result<File> {
    let file = File::from(fd);
    file.write_all_at(bytes, 0)?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// A journal of this process; dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    dir: OwnedFd,
    name: OsString,
}

impl Journal {
    /// Marks the change as complete: from here on recovery finishes it instead of undoing it.
    pub(crate) fn seal(&self) -> io::Result<()> {
        names::kill_point();
        self.file.write_all_at(&[super::record::SEALED], 0)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        _ = names::unlink((self.dir.as_fd(), &self.name));
    }
}
