//! Where journals are kept, and one that is kept there.

use super::record::Record;
use crate::{
    draft::{fresh_name, nameless},
    names, path,
};
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

/// How the name of a journal ends, and that of one which is not complete.
const SUFFIX: &str = ".journal";
const UNFINISHED: &str = ".unfinished";

/// The mode of what only its user may look at.
const PRIVATE: Mode = Mode::from_raw_mode(0o600);
/// The bits of others who may write.
const OTHERS_WRITE: u32 = 0o022;

/// A directory that journals may be kept in; it need not be there.
#[derive(Debug)]
pub(crate) struct StateDir {
    /// Where it begins: a directory that is not ours alone.
    base: PathBuf,
    /// Two directories beneath that must be this user's, and nobody else's to write.
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

    /// The path with every link followed, as far as it is there.
    fn real(&self) -> PathBuf {
        let above = self.path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
        above.map_or_else(
            || self.path.clone(),
            |(above, real)| real.join(self.path.strip_prefix(above).unwrap_or(Path::new(""))),
        )
    }

    /// The directory, made if need be.
    pub(crate) fn make(&self) -> io::Result<Ledger> {
        self.open().or_else(|_| {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            self.open()
        })
    }

    /// The directory, if it is there and nobody else's.
    pub(super) fn open(&self) -> io::Result<Ledger> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut dir = rustix::fs::open(&self.base, flags, Mode::empty())?;
        for name in &self.names {
            dir = rustix::fs::openat(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            if !is_own(&dir, OTHERS_WRITE)? {
                let message = "it is another user's, or others can write there";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
            }
        }
        Ok(Ledger { dir })
    }
}

/// Whether a file is this user's, without these rights for others.
pub(super) fn is_own(file: impl AsFd, without: u32) -> Result<bool, Errno> {
    let stat = rustix::fs::fstat(file)?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok(stat.st_uid == rustix::process::geteuid().as_raw() && (stat.st_mode as u32) & without == 0)
}

/// Where journals may be, the usual place first.
pub(super) fn places() -> &'static [StateDir; 2] {
    static PLACES: LazyLock<[StateDir; 2]> = LazyLock::new(|| {
        let given = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || std::env::home_dir().filter(|home| home.is_absolute());
        let state = given.or_else(|| home().map(|home| home.join(".local/state")));
        let own = format!("beamai-state-{}", rustix::process::geteuid().as_raw());
        // Without a home, there is one place: the directory that all temporary files go to, whatever TMPDIR says to
        // this process or that one.
        let temp = || StateDir::new("/tmp".into(), &own);
        [state.map_or_else(temp, |state| StateDir::new(state, "beamai")), temp()]
    });
    &PLACES
}

/// The places for the journal of a change in these directories: those first that are not in one of them, where tools
/// could write.
pub(super) fn outside_first(record: &Record) -> [&'static StateDir; 2] {
    let roots: Vec<PathBuf> = record.roots.iter().map(|root| path::decode(&root.path)).collect();
    let is_outside = |place: &StateDir| {
        let real = place.real();
        !roots.iter().any(|root| real.starts_with(root))
    };
    let [usual, other] = places();
    if is_outside(usual) || !is_outside(other) { [usual, other] } else { [other, usual] }
}

/// A directory with journals in it.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(super) dir: OwnedFd,
}

impl Ledger {
    /// Keeps a journal. It appears complete, and locked by this process.
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
        names::moment();
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

    /// The names of all journals, and of what never became one.
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

/// Whether the process that began a journal has ended, or is ending. Where that cannot be told, it lives.
pub(super) fn is_owner_gone(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let stem = text.strip_suffix(SUFFIX).unwrap_or_default();
    let own = stem.rsplit('-').next().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    own.is_some_and(|pid| {
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok();
        // The state follows the program's name, which may hold anything.
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

/// A journal that this process keeps, and removes when it is done: when it is dropped.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    dir: OwnedFd,
    name: OsString,
}

impl Journal {
    /// Says that every file has its place. From here on nothing is undone, whatever happens.
    pub(crate) fn seal(&self) -> io::Result<()> {
        names::moment();
        self.file.write_all_at(&[super::record::SEALED], 0)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        _ = names::unlink((self.dir.as_fd(), &self.name));
    }
}
