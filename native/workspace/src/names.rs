//! All renames, links and removals of this crate.
//!
//! In one file, so that tests can kill the process before each of them.

use super::write::look;
use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A name in a directory.
pub(super) type NameAt<'a> = (BorrowedFd<'a>, &'a OsStr);

/// procfs directory of the process's open files, through which a nameless file gets a name.
pub(super) const OWN_FILES: &str = "/proc/self/fd";

/// Gives a nameless file a name.
pub(super) fn name_file(file: impl AsFd, (dir, name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    let own = format!("{OWN_FILES}/{}", file.as_fd().as_raw_fd());
    rustix::fs::linkat(rustix::fs::CWD, &own, dir, name, AtFlags::SYMLINK_FOLLOW)
}

/// Gives a file a second name.
pub(super) fn link((dir, name): NameAt<'_>, (new_dir, new_name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    rustix::fs::linkat(dir, name, new_dir, new_name, AtFlags::empty())
}

/// Renames, replacing the target.
pub(super) fn rename((dir, name): NameAt<'_>, (new_dir, new_name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    rustix::fs::renameat(dir, name, new_dir, new_name)
}

/// Renames without replacing. `INVAL` or similar if the file system does not support it.
pub(super) fn rename_alone((dir, name): NameAt<'_>, (new_dir, new_name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    #[cfg(test)]
    plain()?;
    rustix::fs::renameat_with(dir, name, new_dir, new_name, RenameFlags::NOREPLACE)
}

/// As [`rename_alone`]; if the file system does not support it, checks first and then renames.
pub(super) fn rename_to_nothing(old: NameAt<'_>, new: NameAt<'_>) -> Result<(), Errno> {
    match rename_alone(old, new) {
        Err(error) if is_unknown(error) => match look(new.0, new.1)? {
            Some(_) => Err(Errno::EXIST),
            None => rename(old, new),
        },
        other => other,
    }
}

/// Exchanges two names. `INVAL` or similar if the file system does not support it.
pub(super) fn exchange((dir, name): NameAt<'_>, (other_dir, other_name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    #[cfg(test)]
    plain()?;
    rustix::fs::renameat_with(dir, name, other_dir, other_name, RenameFlags::EXCHANGE)
}

/// Whether an error means that the file system does not support the kind of rename.
pub(super) fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Removes a file's name.
pub(super) fn unlink((dir, name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    rustix::fs::unlinkat(dir, name, AtFlags::empty())
}

/// Makes a directory.
pub(super) fn make_dir((dir, name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))
}

/// Removes an empty directory.
pub(super) fn remove_dir((dir, name): NameAt<'_>) -> Result<(), Errno> {
    kill_point();
    rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
}

/// A point where the process may be killed; between two of these nothing visible changes on disk.
#[cfg(not(test))]
pub(super) const fn kill_point() {}

/// The same point, where a test kills its own process.
#[cfg(test)]
pub(super) fn kill_point() {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicI64, Ordering};
    static LEFT: LazyLock<AtomicI64> = LazyLock::new(|| {
        let wanted = std::env::var(DIES_AT).ok().and_then(|text| text.parse().ok());
        AtomicI64::new(wanted.unwrap_or(i64::MAX))
    });
    if LEFT.fetch_sub(1, Ordering::SeqCst) == 0 {
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        // The signal may reach another thread first.
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

/// Environment variable: the number of the change before which a test program is killed.
#[cfg(test)]
pub(super) const DIES_AT: &str = "BEAMAI_TEST_DIES_AT";

/// Environment variable: simulate file systems that support plain renames only.
#[cfg(test)]
pub(super) const IS_PLAIN: &str = "BEAMAI_TEST_IS_PLAIN";

/// The error of a file system that supports plain renames only, if one is being simulated.
#[cfg(test)]
pub(super) fn plain() -> Result<(), Errno> {
    static IS: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| std::env::var_os(IS_PLAIN).is_some());
    if *IS { Err(Errno::INVAL) } else { Ok(()) }
}
