//! Notices changes of the mounts beneath a directory. Inotify does not report them. The Linux kernel does so to a
//! process that polls `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the changes that were seen.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// The mounts beneath a directory, the one that it is itself included.
pub(super) struct Mounts {
    /// `None` without `/proc`.
    table: Option<File>,
    directory: PathBuf,
    is_any: bool,
    /// A number that differs from an earlier one if other mounts may be there now.
    pub(super) change: u64,
}

impl Mounts {
    pub(super) fn beneath(directory: &Path) -> Self {
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let table = File::open("/proc/self/mountinfo").ok();
        let mut mounts = Self { table, directory, is_any: false, change: CHANGES.load(Ordering::Relaxed) };
        mounts.is_any = mounts.look();
        mounts
    }

    /// Whether they may have changed since the last look. What is mounted in place of another may have the same line in
    /// the table, so lines are not compared.
    pub(super) fn may_have_changed(&mut self) -> bool {
        if !self.table.as_ref().is_some_and(is_changed) {
            return false;
        }
        let was_any = self.is_any;
        self.is_any = self.look();
        let may_have = was_any || self.is_any;
        if may_have {
            self.change = CHANGES.fetch_add(1, Ordering::Relaxed) + 1;
        }
        may_have
    }

    /// Whether there is any mount.
    fn look(&mut self) -> bool {
        let mut text = Vec::new();
        let mut read = |table: &mut File| table.rewind().and_then(|()| table.read_to_end(&mut text));
        // A table that cannot be read is like an empty one.
        _ = self.table.as_mut().map(&mut read);
        text.split(|byte| *byte == b'\n').filter_map(point).any(|point| point.starts_with(&self.directory))
    }
}

/// Whether the Linux kernel says that the table has changed since it was asked last, or opened.
fn is_changed(table: &File) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::new(table, PollFlags::PRI)];
    // If it cannot tell, it is looked at.
    poll(&mut polled, Some(&now)).is_err() || polled[0].revents().intersects(PollFlags::PRI | PollFlags::ERR)
}

/// Where a line says that something is mounted. Blanks and backslashes are octal numbers in it.
fn point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let octal =
            more.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let (byte, taken) = match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => (byte, 4),
            None => (*first, 1),
        };
        path.push(byte);
        rest = &rest[taken..];
    }
    Some(OsString::from_vec(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_as_the_kernel_writes_them() {
        let line = br"36 35 98:0 /mnt1 /srv/a\040b\134c rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(point(line), Some(PathBuf::from(r"/srv/a b\c")));
        assert_eq!(point(b"36 35"), None);
    }
}
