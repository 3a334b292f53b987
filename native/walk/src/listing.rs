//! The names in a directory, read at once into a buffer that is reused for the next directory.

use beamai_base::ToolError;
use beamai_tool::CallContext;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;

/// Entries read between two checks of deadline and cancel token.
const CHECK_EVERY: usize = 4096;

/// Names with their types.
#[derive(Default)]
pub(super) struct Listing {
    /// The names, each followed by a NUL.
    names: Vec<u8>,
    entries: Vec<ListedName>,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy)]
struct ListedName {
    start: usize,
    end: usize,
    kind: FileType,
}

impl ListedName {
    fn name(self, names: &[u8]) -> &[u8] {
        &names[self.start..self.end - 1]
    }
}

/// Why a directory could not be listed.
pub(super) enum Unlisted {
    /// The operating system refused.
    Io(Errno),
    /// The call has ended.
    Stopped(ToolError),
}

impl From<Errno> for Unlisted {
    fn from(error: Errno) -> Self {
        Self::Io(error)
    }
}

impl Listing {
    /// Replaces the content by the names in `dir`, without `.` and `..`.
    pub(super) fn read(&mut self, dir: BorrowedFd<'_>, cx: &CallContext) -> Result<(), Unlisted> {
        self.names.clear();
        self.entries.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.fill(dir, &mut buffer, cx);
        self.buffer = buffer;
        read
    }

    #[cfg(target_os = "linux")]
    fn fill(&mut self, dir: BorrowedFd<'_>, buffer: &mut Vec<u8>, cx: &CallContext) -> Result<(), Unlisted> {
        buffer.reserve(32 << 10);
        let mut entries = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            self.add(dir, entry.file_name(), entry.file_type());
            self.check(cx)?;
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn fill(&mut self, dir: BorrowedFd<'_>, _: &mut Vec<u8>, cx: &CallContext) -> Result<(), Unlisted> {
        for entry in rustix::fs::Dir::read_from(dir)? {
            let entry = entry?;
            self.add(dir, entry.file_name(), entry.file_type());
            self.check(cx)?;
        }
        Ok(())
    }

    fn check(&self, cx: &CallContext) -> Result<(), Unlisted> {
        match self.entries.len() % CHECK_EVERY {
            0 => cx.check().map_err(Unlisted::Stopped),
            _ => Ok(()),
        }
    }

    fn add(&mut self, dir: BorrowedFd<'_>, name: &CStr, kind: FileType) {
        if name == c"." || name == c".." {
            return;
        }
        let kind = match kind {
            // Some file systems do not report the type in a listing.
            FileType::Unknown => rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        self.push(name, kind);
    }

    fn push(&mut self, name: &CStr, kind: FileType) {
        let start = self.names.len();
        self.names.extend_from_slice(name.to_bytes_with_nul());
        self.entries.push(ListedName { start, end: self.names.len(), kind });
    }

    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The name at an index, for a system call.
    pub(super) fn name(&self, at: usize) -> &CStr {
        let ListedName { start, end, .. } = self.entries[at];
        CStr::from_bytes_with_nul(&self.names[start..end]).unwrap_or_default()
    }

    /// The type at an index.
    pub(super) fn kind(&self, at: usize) -> FileType {
        self.entries[at].kind
    }

    /// Every name with its type.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        self.entries.iter().map(|entry| (entry.name(&self.names), entry.kind))
    }

    /// Keeps the names for which `wanted` returns true.
    pub(super) fn retain(&mut self, mut wanted: impl FnMut(&[u8], FileType) -> bool) {
        let names = &self.names;
        self.entries.retain(|entry| wanted(entry.name(names), entry.kind));
    }

    /// Moves the names from an index on into a new listing.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let mut rest = Self::default();
        for position in at..self.len() {
            rest.push(self.name(position), self.kind(position));
        }
        self.entries.truncate(at);
        rest
    }
}
