//! How a directory spells the names in it. Some file systems find a file by other spellings than the one that they list: in another
//! case (NTFS, APFS, exFAT, SMB), in another Unicode form, or by a short name. Rules are about the name that is listed.

use super::cached::is_local;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name under which the directory lists what it finds by `name`. It stays as it is if nothing is found, or if nothing that is listed
/// can be meant.
pub(super) fn listed(dir: BorrowedFd<'_>, name: &OsStr) -> OsString {
    if has_one_spelling(dir, name) {
        return name.to_owned();
    }
    match names_of(dir, name) {
        Ok(names) => meant(name, names, |other| is_same(dir, name, other)),
        Err(_) => name.to_owned(),
    }
}

/// Whether a directory surely finds a name by one spelling only: nothing by the other case, where there are only letters that have one.
/// It takes a look-up instead of a listing.
fn has_one_spelling(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    let other = other_case(name);
    name.is_ascii()
        && other != name
        && statat(dir, &other, AtFlags::SYMLINK_NOFOLLOW).err() == Some(Errno::NOENT)
}

/// Whether a file can also be opened by its name in another case, so that a mount over this name leaves the other one open.
pub fn ignores_case(file: &Path) -> bool {
    let (Some(above), Some(name)) = (file.parent(), file.file_name()) else { return false };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(dir) = rustix::fs::openat(CWD, above, flags, Mode::empty()) else { return false };
    let other = other_case(name);
    !is_local(&dir) && other != name && listed(dir.as_fd(), &other) != other
}

/// What a directory lists, if it finds something by this name.
fn names_of(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Vec<OsString>, Errno> {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = Dir::new(rustix::fs::openat(dir, ".", flags, Mode::empty())?)?;
    entries.map(|entry| Ok(OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned())).collect()
}

/// The one of these names that `name` stands for: itself, the same file, or the same letters.
fn meant(name: &OsStr, names: Vec<OsString>, is_same: impl Fn(&OsStr) -> bool) -> OsString {
    if names.iter().any(|other| other == name) {
        return name.to_owned();
    }
    let same = names.iter().find(|other| is_same(other));
    let alike = || names.iter().find(|other| folded(other) == folded(name));
    same.or_else(alike).cloned().unwrap_or_else(|| name.to_owned())
}

fn is_same(dir: BorrowedFd<'_>, name: &OsStr, other: &OsStr) -> bool {
    let identity = |name| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| (stat.st_dev, stat.st_ino));
    !matches!(other.as_bytes(), b"." | b"..") && identity(name).is_ok_and(|own| identity(other) == Ok(own))
}

/// A name whose letters have one case.
fn folded(name: &OsStr) -> String {
    let upper: String = name.to_string_lossy().chars().flat_map(char::to_uppercase).collect();
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
            ("key", "other", "key"),
            ("KEY", "", "key"),
            ("K\u{212a}Y", "", "K\u{212a}Y"),
            ("\u{212a}EY", "", "key"),
            ("STRASSE", "", "Straße"),
            ("OTHER~1", "other", "other"),
            ("KEY", "other", "other"),
            (".snapshot", "", ".snapshot"),
        ] {
            assert_eq!(meant(name.as_ref(), names(), |other| other == same), expected, "{name}");
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
            assert_eq!(listed(open.as_fd(), name.as_ref()), name);
        }
        assert!(!ignores_case(&dir.path().join("key")) && !ignores_case(&dir.path().join("link")));
        assert_eq!(["a1", "A1", "aB", "1"].map(|name| other_case(name.as_ref())), ["A1", "a1", "ab", "1"]);
    }
}
