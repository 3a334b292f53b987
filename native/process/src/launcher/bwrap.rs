//! `bwrap` (bubblewrap): namespaces and mounts where the machine refuses them to this program and not to that one.
//!
//! It is asked once for each reaper, told what to mount (see the sandbox's `plan`), and starts this program again in what
//! it has made, as the init of the pid namespace. It stays outside until that has ended, and each dies with the other.

use super::signals;
use crate::{
    frame,
    message::{Setup, from_bytes, to_bytes},
};
use beamai_sandbox::{
    Confinement, SetupFailure,
    layers::{self as sandbox, ReaperPlan},
};
use rustix::fs::{MemfdFlags, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Resource, Signal};
use std::ffi::{CString, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where systems install it.
const PLACES: [&str; 4] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/wrappers/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// Three for each mount. It takes 9,000, but for each mount it reads the list of all, so that a thousand of them take it
/// more than a second, and twice as many four times as long.
const MAX_ARGUMENTS: usize = 3_100;
/// Descriptors of the program that it starts.
pub(super) const CONTROL: RawFd = 3;
pub(super) const PLAN: RawFd = 4;
const ARGUMENTS: RawFd = 5;
const PROGRAM: RawFd = 6;
/// Where descriptors are kept until they get their numbers.
const HIGH: RawFd = 10;

/// The program, which only root can have put there.
pub(super) struct Bwrap(PathBuf);

impl Bwrap {
    /// Finds it outside of what commands can write.
    ///
    /// # Errors
    /// For people: why there is none.
    pub(super) fn find(confinement: &Confinement) -> Result<Self, String> {
        let mut why = "bwrap (bubblewrap), which might make them, is not installed".to_owned();
        for candidate in PLACES.map(Path::new).into_iter().filter(|candidate| candidate.exists()) {
            match trusted(candidate, confinement) {
                Ok(path) => return Ok(Self(path)),
                Err(problem) => why = format!("{} is not used: {problem}", candidate.display()),
            }
        }
        Err(why)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// The program without links, if it and every directory above it are root's alone to change.
fn trusted(candidate: &Path, confinement: &Confinement) -> Result<PathBuf, String> {
    let path = candidate.canonicalize().map_err(|error| error.to_string())?;
    let writable = [&confinement.workspace].into_iter().chain(&confinement.temp).chain(&confinement.writable);
    if writable.into_iter().any(|own| path.starts_with(own)) {
        return Err("commands can write it".to_owned());
    }
    for (nth, part) in path.ancestors().enumerate() {
        let found = std::fs::symlink_metadata(part).map_err(|error| error.to_string())?;
        let is_sticky = nth > 0 && found.mode() & 0o1000 != 0;
        if found.uid() != 0 || (found.mode() & 0o022 != 0 && !is_sticky) {
            return Err(format!("others than root can change {}", part.display()));
        }
    }
    Ok(path)
}

/// What is written for the reaper, and what `bwrap` says.
pub(super) struct BwrapFiles {
    plan: OwnedFd,
    stderr: OwnedFd,
}

impl BwrapFiles {
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self { plan: paper(c"plan")?, stderr: paper(c"said")? })
    }

    /// What was planned, as far as it came to that.
    pub(super) fn reaper_plan(&self) -> Option<ReaperPlan> {
        from_bytes(&read_all(self.plan.as_fd()).ok()?).ok()
    }

    /// What `bwrap` gave as the reason for its end.
    pub(super) fn stderr(&self) -> String {
        let text = read_all(self.stderr.as_fd()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let text = text.trim();
        let end = text.char_indices().nth(500).map_or(text.len(), |(at, _)| at);
        text[..end].replace('\n', "; ")
    }
}

/// All that stands in a file, from its beginning.
pub(super) fn read_all(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let mut text = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        match rustix::io::pread(fd, &mut chunk, text.len() as u64)? {
            0 => return Ok(text),
            length => text.extend(&chunk[..length]),
        }
    }
}

fn paper(name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)
}

/// Becomes `bwrap`, in a clone of the launcher. Where that fails, the reason goes out as if it were the reaper's.
pub(super) fn become_bwrap(
    bwrap: &Bwrap,
    bwrap_files: &BwrapFiles,
    confinement: &Confinement,
    control: &OwnedFd,
) -> ! {
    // Should the launcher die before bwrap has bound itself to it.
    _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let failure = match prepare(bwrap_files, confinement, control) {
        Err(failure) => failure,
        Ok(()) => SetupFailure::new(&format!("start {}", bwrap.0.display()), exec(&bwrap.0)),
    };
    // SAFETY: the number was given to a descriptor that is never closed; without that, sending fails.
    let control = unsafe { BorrowedFd::borrow_raw(CONTROL) };
    _ = frame::send(control, &to_bytes(&Setup::Err(failure)), &[]);
    // SAFETY: ends the process and returns to nothing.
    unsafe { libc::_exit(0) }
}

/// Writes everything down and gives every descriptor its number.
fn prepare(
    bwrap_files: &BwrapFiles,
    confinement: &Confinement,
    control: &OwnedFd,
) -> Result<(), SetupFailure> {
    let failure = |errno| SetupFailure::new("prepare a reaper for bwrap", errno);
    let high = |fd: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, HIGH).map_err(failure);
    let [control, plan, stderr] =
        [high(control.as_fd())?, high(bwrap_files.plan.as_fd())?, high(bwrap_files.stderr.as_fd())?];
    let arguments = high(paper(c"arguments").map_err(failure)?.as_fd())?;
    let program = rustix::fs::open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let program = high(program.map_err(failure)?.as_fd())?;
    let numbered =
        [(&control, CONTROL), (&stderr, 2), (&plan, PLAN), (&arguments, ARGUMENTS), (&program, PROGRAM)];
    for (fd, number) in numbered {
        give_number(fd.as_fd(), number).map_err(failure)?;
    }
    let (script, reaper_plan) = sandbox::plan(confinement)?;
    write_all(&plan, &to_bytes(&reaper_plan)).map_err(failure)?;
    write_all(&arguments, &joined(&options(confinement, &script)?)).map_err(failure)?;
    signals::release().map_err(failure)
}

/// Everything that is told to `bwrap`, but for what it starts.
fn options(confinement: &Confinement, script: &sandbox::MountScript) -> Result<Vec<OsString>, SetupFailure> {
    let too_many = |errno| {
        SetupFailure::new("tell bwrap of everything that is to be hidden", errno).of_layer("protected_paths")
    };
    let network: &[&str] = if confinement.network { &[] } else { &["--unshare-net"] };
    let fixed = [
        // With its own privileges it may make a user namespace where this program may not.
        "--unshare-user-try",
        "--unshare-cgroup-try",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--as-pid-1",
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--perms",
        "1777",
        "--tmpfs",
        "/dev/shm",
    ];
    let mut all: Vec<OsString> = fixed.iter().chain(network).map(OsString::from).collect();
    all.extend(script.arguments(nothing).map_err(too_many)?);
    all.extend(["--remount-ro", "/dev", "--chdir", "/"].map(OsString::from));
    match all.len() <= MAX_ARGUMENTS {
        true => Ok(all),
        false => Err(too_many(Errno::TOOBIG)),
    }
}

/// A descriptor of its own from which nothing is read. `bwrap` closes it.
fn nothing() -> Result<RawFd, Errno> {
    let null = match open_null() {
        Err(Errno::MFILE) => raise_the_number_of_descriptors().and_then(|()| open_null())?,
        null => null?,
    };
    rustix::io::fcntl_setfd(&null, FdFlags::empty())?;
    Ok(null.into_raw_fd())
}

fn open_null() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// As far as it may be raised; the reaper takes it back.
fn raise_the_number_of_descriptors() -> Result<(), Errno> {
    let known = rustix::process::getrlimit(Resource::Nofile);
    let raised = rustix::process::Rlimit { current: known.maximum, maximum: known.maximum };
    rustix::process::setrlimit(Resource::Nofile, raised)
}

fn joined(words: &[OsString]) -> Vec<u8> {
    words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect()
}

fn write_all(fd: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = rustix::io::write(fd, bytes)?;
        bytes = &bytes[written..];
    }
    rustix::fs::seek(fd, SeekFrom::Start(0)).map(drop)
}

/// Has a descriptor under this number after an exec, too.
fn give_number(fd: BorrowedFd<'_>, number: RawFd) -> Result<(), Errno> {
    // SAFETY: takes numbers only. What had the number is this process's launcher's, which this process is no more.
    match unsafe { libc::dup2(fd.as_raw_fd(), number) } {
        -1 => Err(signals::last_error()),
        _ => Ok(()),
    }
}

fn exec(program: &Path) -> Errno {
    let words =
        ["bwrap", "--args", &ARGUMENTS.to_string(), "--", &format!("/proc/self/fd/{PROGRAM}"), "reaper"]
            .map(|word| CString::new(word).unwrap_or_default());
    let Ok(path) = CString::new(program.as_os_str().as_bytes()) else { return Errno::INVAL };
    let pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
    let environment = [std::ptr::null()];
    // SAFETY: both lists end with a null pointer, and what they point to outlives the call.
    unsafe { libc::execve(path.as_ptr(), pointers.as_ptr(), environment.as_ptr()) };
    signals::last_error()
}
