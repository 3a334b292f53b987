//! Reads data that the operating system has in memory, without ever blocking.
//!
//! On Linux, a lookup or a read can be made to fail instead of waiting: `RESOLVE_CACHED` (openat2(2)) resolves a path
//! from the dentry cache only, `RWF_NOWAIT` (preadv2(2)) reads from the page cache only. Network and FUSE file systems,
//! and anything mounted below the workspace, are left out.

use super::{Access, WorkspacePath, location};
use rustix::fs::Stat;
use std::fs::File;
use std::os::fd::AsFd;

impl WorkspacePath {
    /// The content of a regular file of at most `most` bytes, if it can be opened and read without waiting; `None` in
    /// every other case, errors included.
    pub fn cached(&self, most: u64) -> Option<(File, Stat, Vec<u8>)> {
        if !self.root.is_local {
            return None;
        }
        let (file, stat) = imp::open(self.root.dir.as_fd(), &self.relative, most)?;
        if self.is_guarded() {
            // A refusal is reported by the blocking call that follows.
            let real = location::of(&self.root.anchor(), file.as_fd()).ok()?;
            self.check_real(Access::Read, &real).ok()?;
        }
        let content = imp::read(&file, &stat)?;
        Some((file, stat, content))
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
    use rustix::io::{ReadWriteFlags, preadv2};
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::os::fd::BorrowedFd;
    use std::path::Path;

    pub(super) fn open(dir: BorrowedFd<'_>, path: &Path, most: u64) -> Option<(File, Stat)> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV
            | ResolveFlags::CACHED;
        let fd = openat2(dir, path, flags, Mode::empty(), resolve).ok()?;
        let stat = fstat(&fd).ok()?;
        let size = u64::try_from(stat.st_size).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        // Files that report size 0 may be generated on read, as in procfs.
        (is_file && size > 0 && size <= most).then(|| (File::from(fd), stat))
    }

    pub(super) fn read(file: &File, stat: &Stat) -> Option<Vec<u8>> {
        let mut content = vec![0; usize::try_from(stat.st_size).ok()?];
        let slices = &mut [IoSliceMut::new(&mut content)];
        let read = preadv2(file, slices, 0, ReadWriteFlags::NOWAIT).ok()?;
        (read == content.len()).then_some(content)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use rustix::fs::Stat;
    use std::fs::File;
    use std::os::fd::BorrowedFd;
    use std::path::Path;

    pub(super) fn open(_: BorrowedFd<'_>, _: &Path, _: u64) -> Option<(File, Stat)> {
        None
    }

    pub(super) fn read(_: &File, _: &Stat) -> Option<Vec<u8>> {
        None
    }
}
