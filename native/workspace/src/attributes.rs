//! A file's metadata: owner, mode, access control list, extended attributes.

use rustix::fs::{Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::BorrowedFd;

/// The bits that let a program run as the file's owner or group.
const SET_ID: u32 = 0o6000;

/// Copies owner, mode and attributes of the file `name` in `parent` to `draft`, as far as the operating system permits.
/// Nobody gains access: whoever could not read or change the old file cannot read or change the new one.
pub(super) fn copy(parent: BorrowedFd<'_>, name: &OsStr, stat: &Stat, draft: &File) -> Result<(), Errno> {
    copy_extended(parent, name, draft);
    let mode = keep_owner(draft, stat);
    rustix::fs::fchmod(draft, Mode::from_raw_mode(mode))
}

/// Keeps owner and group, and as a write by a plain user does, no set-id bits. Returns the mode to set, which depends
/// on the owner and group that the draft ended up with.
fn keep_owner(draft: &File, stat: &Stat) -> u32 {
    let mode = stat.st_mode & !SET_ID;
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    if [Some(owner), None].into_iter().any(|owner| rustix::fs::fchown(draft, owner, Some(group)).is_ok()) {
        return mode;
    }
    // The group could not be kept: the draft's group gets only the permissions of "other".
    let everybody = (mode & 0o007) << 3;
    (mode & !0o070) | (mode & everybody)
}

/// Copies extended attributes, including the access control list. Best effort: many file systems have no attributes,
/// and some may not be set by this process; the write goes on without them.
#[cfg(target_os = "linux")]
fn copy_extended(parent: BorrowedFd<'_>, name: &OsStr, draft: &File) {
    const ACCESS_LIST: &str = "system.posix_acl_access";
    // The directory's default ACL may have given the new file an access control list that the old one does not have.
    _ = rustix::fs::fremovexattr(draft, ACCESS_LIST);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(old) = rustix::fs::openat(parent, name, flags, Mode::empty()) else { return };
    let mut names = Vec::with_capacity(rustix::fs::flistxattr_query(&old).unwrap_or(0));
    if names.capacity() == 0
        || rustix::fs::flistxattr(&old, rustix::buffer::spare_capacity(&mut names)).is_err()
    {
        return;
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty() && survives_a_change(name)) {
        let mut value = Vec::with_capacity(rustix::fs::fgetxattr_query(&old, name).unwrap_or(0));
        if rustix::fs::fgetxattr(&old, name, rustix::buffer::spare_capacity(&mut value)).is_ok() {
            _ = rustix::fs::fsetxattr(draft, name, &value, rustix::fs::XattrFlags::empty());
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn copy_extended(_: BorrowedFd<'_>, _: &OsStr, _: &File) {}

/// Capabilities and signatures vouch for the old content; the Linux kernel also drops them on a write.
fn survives_a_change(attribute: &[u8]) -> bool {
    !matches!(attribute, b"security.capability" | b"security.ima" | b"security.evm")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn mode_owner_and_extended_attributes_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old");
        std::fs::write(&old, "x").unwrap();
        std::fs::set_permissions(&old, PermissionsExt::from_mode(0o751)).unwrap();
        let has_attributes =
            rustix::fs::setxattr(&old, "user.note", b"kept", rustix::fs::XattrFlags::empty()).is_ok();
        let draft = File::create(dir.path().join("new")).unwrap();
        let parent = File::open(dir.path()).unwrap();
        let stat = rustix::fs::stat(&old).unwrap();
        copy(parent.as_fd(), OsStr::new("old"), &stat, &draft).unwrap();
        let now = draft.metadata().unwrap();
        assert_eq!(now.mode() & 0o7777, 0o751);
        assert_eq!((now.uid(), now.gid()), (stat.st_uid, stat.st_gid));
        let mut value = Vec::with_capacity(16);
        let got = rustix::fs::fgetxattr(&draft, "user.note", rustix::buffer::spare_capacity(&mut value));
        assert_eq!(got.is_ok().then_some(value.as_slice()), has_attributes.then_some(b"kept".as_slice()));
    }
}
