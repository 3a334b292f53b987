//! How a directory spells the names in it. Some file systems find a file by other spellings than the one that they
//! list: in another case (NTFS, APFS, exFAT, SMB), in another Unicode form, or by a short name. Rules are about the
//! name that is listed.

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether a directory is on a local file system of Linux, where a file has the spelling that is listed and no other.
/// Never told on other systems.
pub fn is_local(dir: impl AsFd) -> bool {
    imp::is_local(dir)
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::fs::{StatFs, fstatfs, statfs};
    use std::os::fd::AsFd;
    use std::path::Path;

    /// ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, ramfs and overlayfs, as statfs(2) names them.
    const LOCAL: [u64; 7] =
        [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x8584_58F6, 0x794C_7630];

    pub(super) fn is_local(dir: impl AsFd) -> bool {
        fstatfs(dir).is_ok_and(is_one)
    }

    pub(super) fn is_local_at(dir: &Path) -> bool {
        statfs(dir).is_ok_and(is_one)
    }

    fn is_one(stat: StatFs) -> bool {
        #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
        LOCAL.contains(&(stat.f_type as u64))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::os::fd::AsFd;
    use std::path::Path;

    pub(super) fn is_local(_: impl AsFd) -> bool {
        false
    }

    pub(super) fn is_local_at(_: &Path) -> bool {
        false
    }
}

/// The name under which a directory lists what it finds by `name`. It stays as it is if nothing is found.
///
/// # Errors
/// `EACCES` if it is found by other spellings too, and cannot be told from the listing. Otherwise those of the
/// operating system.
pub fn listed_name(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OsString, Errno> {
    if is_local(dir) || has_one_spelling(dir, name) {
        return Ok(name.to_owned());
    }
    let own = match identity(dir, name) {
        Err(Errno::NOENT) => return Ok(name.to_owned()),
        own => own?,
    };
    meant(name, names_in(dir)?, |other| identity(dir, other) == Ok(own)).ok_or(Errno::ACCESS)
}

/// As [`listed_name`], for a name in the directory at a path, as far as it can be told.
pub(super) fn listed_at(dir: &Path, name: &OsStr) -> OsString {
    let listed = || listed_name(open(dir).ok()?.as_fd(), name).ok();
    let listed = if imp::is_local_at(dir) { None } else { listed() };
    listed.unwrap_or_else(|| name.to_owned())
}

/// Whether a path can also be opened by its last name with letters in another case, so that a mount may leave that one open.
pub fn ignores_case(path: &Path) -> bool {
    let with_letters = path.ancestors().find_map(|path| {
        let name = path.file_name()?;
        let other = other_case(name);
        (other != name).then_some((path.parent()?, [name.to_owned(), other]))
    });
    let Some((above, names)) = with_letters else { return false };
    // Where case matters, each of them is listed, or there is nothing by its name.
    let is_alias = |dir: &OwnedFd, name: &OsString| listed_name(dir.as_fd(), name).as_ref() != Ok(name);
    open(above).is_ok_and(|dir| names.iter().any(|name| is_alias(&dir, name)))
}

fn open(dir: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Whether a directory surely finds a name by one spelling only: nothing by the other case, where there are only
/// letters that have one, and no dot or space at the end, which some leave out. It takes a look-up instead of a
/// listing.
fn has_one_spelling(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    let other = other_case(name);
    name.is_ascii()
        && !matches!(name.as_bytes(), [.., b'.' | b' '])
        && other != name
        && statat(dir, &other, AtFlags::SYMLINK_NOFOLLOW).err() == Some(Errno::NOENT)
}

/// What a directory lists.
fn names_in(dir: BorrowedFd<'_>) -> Result<Vec<OsString>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = Dir::new(rustix::fs::openat(dir, ".", flags, Mode::empty())?)?;
    let name = |entry: &rustix::fs::DirEntry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
    entries
        .map(|entry| Ok(name(&entry?)))
        .filter(|name| !matches!(name, Ok(name) if name == "." || name == ".."))
        .collect()
}

/// Device and inode number of what a directory finds by a name.
fn identity(dir: BorrowedFd<'_>, name: &OsStr) -> Result<(u64, u64), Errno> {
    let found = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok((found.st_dev as u64, found.st_ino as u64))
}

/// The one of these names that `name` stands for: itself, the same letters, or the same file, which may have several names.
fn meant(name: &OsStr, names: Vec<OsString>, is_same: impl Fn(&OsStr) -> bool) -> Option<OsString> {
    let own = folded(name);
    let find = |is_it: &dyn Fn(&OsStr) -> bool| names.iter().find(|other| is_it(other)).cloned();
    find(&|other| other == name).or_else(|| find(&|other| folded(other) == own)).or_else(|| find(&is_same))
}

/// A name whose letters have one case. The capital of `ß` is `SS` as well as `ẞ`.
fn folded(name: &OsStr) -> String {
    let lower = name.to_string_lossy().to_lowercase();
    let upper: String = lower.chars().flat_map(char::to_uppercase).collect();
    upper.to_lowercase()
}

/// A name with its letters in the other case.
fn other_case(name: &OsStr) -> OsString {
    let lower = name.to_ascii_lowercase();
    if lower == name { name.to_ascii_uppercase() } else { lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_the_listed_one_that_finds_the_same() {
        let names = || ["key", "Straße", "other"].map(OsString::from).to_vec();
        for (name, same, expected) in [
            ("key", "other", Some("key")),
            ("KEY", "", Some("key")),
            ("\u{212a}EY", "", Some("key")),
            ("STRASSE", "", Some("Straße")),
            ("STRAẞE", "", Some("Straße")),
            ("OTHER~1", "other", Some("other")),
            ("KEY", "other", Some("key")),
            ("OTHER~1", "", None),
        ] {
            let found = meant(name.as_ref(), names(), |other| other == same);
            assert_eq!(found, expected.map(Into::into), "{name}");
        }
    }

    #[test]
    fn where_case_matters_a_name_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["key", "KEY"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::fs::hard_link(dir.path().join("key"), dir.path().join("link")).unwrap();
        let open = std::fs::File::open(dir.path()).unwrap();
        for name in ["key", "KEY", "Key", "link", "new"] {
            assert_eq!(listed_name(open.as_fd(), name.as_ref()).unwrap(), name);
            assert_eq!(listed_at(dir.path(), name.as_ref()), name);
        }
        assert!(!["key", "link", "123", "gone/x"].iter().any(|name| ignores_case(&dir.path().join(name))));
        assert_eq!(["a1", "A1", "aB", "1"].map(|name| other_case(name.as_ref())), ["A1", "a1", "ab", "1"]);
    }
}
