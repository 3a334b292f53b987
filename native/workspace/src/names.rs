//! Every change of a name that workspace code makes.
//!
//! One file, so that tests can have the process die before each of them.

use super::write::look;
use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A name in a directory.
pub(super) type NameAt<'a> = (BorrowedFd<'a>, &'a OsStr);

/// Where Linux shows a process its own open files, by which a nameless one gets a name.
pub(super) const OWN_FILES: &str = "/proc/self/fd";

/// Gives a nameless file a name.
pub(super) fn name_file(file: impl AsFd, (dir, name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    let own = format!("{OWN_FILES}/{}", file.as_fd().as_raw_fd());
    rustix::fs::linkat(rustix::fs::CWD, &own, dir, name, AtFlags::SYMLINK_FOLLOW)
}

/// Gives a file a second name.
pub(super) fn link((dir, name): NameAt<'_>, (new_dir, new_name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    rustix::fs::linkat(dir, name, new_dir, new_name, AtFlags::empty())
}

/// Renames, over whatever has the new name.
pub(super) fn rename((dir, name): NameAt<'_>, (new_dir, new_name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    rustix::fs::renameat(dir, name, new_dir, new_name)
}

/// Renames, unless something has the new name. `INVAL` and the like where the file system cannot tell.
pub(super) fn rename_alone((dir, name): NameAt<'_>, (new_dir, new_name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    #[cfg(test)]
    plain()?;
    rustix::fs::renameat_with(dir, name, new_dir, new_name, RenameFlags::NOREPLACE)
}

/// As [`rename_alone`]; where the file system cannot tell, after a look.
pub(super) fn rename_to_nothing(old: NameAt<'_>, new: NameAt<'_>) -> Result<(), Errno> {
    match rename_alone(old, new) {
        Err(error) if is_unknown(error) => match look(new.0, new.1)? {
            Some(_) => Err(Errno::EXIST),
            None => rename(old, new),
        },
        other => other,
    }
}

/// Exchanges two names. `INVAL` and the like where the file system cannot.
pub(super) fn exchange((dir, name): NameAt<'_>, (other_dir, other_name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    #[cfg(test)]
    plain()?;
    rustix::fs::renameat_with(dir, name, other_dir, other_name, RenameFlags::EXCHANGE)
}

/// Whether an error says that the file system does not know a kind of renaming.
pub(super) fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Removes a file's name.
pub(super) fn unlink((dir, name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    rustix::fs::unlinkat(dir, name, AtFlags::empty())
}

/// Makes a directory.
pub(super) fn make_dir((dir, name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))
}

/// Removes an empty directory.
pub(super) fn remove_dir((dir, name): NameAt<'_>) -> Result<(), Errno> {
    moment();
    rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
}

/// A moment at which the process may be killed; between two of these nothing changes on disk that anybody sees.
#[cfg(not(test))]
pub(super) const fn moment() {}

/// The same, at which a test has had itself killed.
#[cfg(test)]
pub(super) fn moment() {
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

/// The variable that says before which of its changes a test program is killed.
#[cfg(test)]
pub(super) const DIES_AT: &str = "BEAMAI_TEST_DIES_AT";

/// The variable that has a test program's file systems know plain renames only.
#[cfg(test)]
pub(super) const IS_PLAIN: &str = "BEAMAI_TEST_IS_PLAIN";

/// What a file system answers that knows plain renames only, if this one is to be such.
#[cfg(test)]
pub(super) fn plain() -> Result<(), Errno> {
    static IS: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| std::env::var_os(IS_PLAIN).is_some());
    if *IS { Err(Errno::INVAL) } else { Ok(()) }
}
