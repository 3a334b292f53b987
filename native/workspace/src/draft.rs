//! New content of a file before it is renamed into place.

use super::{attributes, names};
use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A temporary file with new content.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) file: File,
    /// Directory and temporary name, once it has one; the name is removed with the draft.
    name: Option<(OwnedFd, String)>,
    /// The temporary name to use if one is needed, and the one for the replaced file where that is set aside.
    pub(super) names: [String; 2],
}

/// The file whose attributes a draft copies.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttributeSource<'a> {
    pub(super) parent: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
    pub(super) stat: &'a Stat,
}

impl Draft {
    pub(super) fn create(parent: BorrowedFd<'_>, like: Option<AttributeSource<'_>>) -> Result<Self, Errno> {
        // Without a source of attributes, the usual mode of a new file: 0666 less the umask.
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let draft = match nameless(parent, mode) {
            Some(fd) => Self { file: File::from(fd), name: None, names: [fresh_name(), fresh_name()] },
            None => Self::named(parent, mode)?,
        };
        if let Some(like) = like {
            attributes::copy(like.parent, like.name, like.stat, &draft.file)?;
        }
        Ok(draft)
    }

    fn named(parent: BorrowedFd<'_>, mode: Mode) -> Result<Self, Errno> {
        let names = [fresh_name(), fresh_name()];
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let holder = rustix::io::fcntl_dupfd_cloexec(parent, 3)?;
        let fd = rustix::fs::openat(parent, &names[0], flags, mode)?;
        Ok(Self { file: File::from(fd), name: Some((holder, names[0].clone())), names })
    }

    /// Gives the draft a name in the target's directory, if it has none.
    pub(super) fn name_in(&mut self, parent: BorrowedFd<'_>) -> Result<&str, Errno> {
        if self.name.is_none() {
            let name = self.names[0].clone();
            let holder = rustix::io::fcntl_dupfd_cloexec(parent, 3)?;
            names::name_file(&self.file, (parent, OsStr::new(&name)))?;
            self.name = Some((holder, name));
        }
        Ok(self.name.as_ref().map_or("", |(_, name)| name))
    }

    /// Moves the draft to a path where nothing exists; `EXIST` when something does.
    pub(super) fn place_anew(&mut self, parent: BorrowedFd<'_>, target: &OsStr) -> Result<(), Errno> {
        let Some((holder, name)) = &self.name else { return names::name_file(&self.file, (parent, target)) };
        let named = (holder.as_fd(), OsStr::new(name));
        match names::rename_alone(named, (parent, target)) {
            // Not every file system knows the flag. A hard link does the same; the temporary name is removed later.
            Err(error) if names::is_unknown(error) => names::link(named, (parent, target)),
            Ok(()) => {
                self.name = None;
                Ok(())
            }
            other => other,
        }
    }

    /// Moves the draft over whatever is at the target.
    pub(super) fn rename_over(&mut self, parent: BorrowedFd<'_>, target: &OsStr) -> Result<(), Errno> {
        let name = self.name_in(parent)?;
        names::rename((parent, OsStr::new(name)), (parent, target))?;
        self.name = None;
        Ok(())
    }

    /// Moves the draft over the target, whose file gets the draft's temporary name and is removed with the draft. For
    /// file systems that cannot exchange two names.
    pub(super) fn set_aside_and_replace(
        &mut self,
        parent: BorrowedFd<'_>,
        target: &OsStr,
    ) -> Result<(), Errno> {
        let old = self.names[1].clone();
        let (aside, holder) = (OsStr::new(&old), rustix::io::fcntl_dupfd_cloexec(parent, 3)?);
        let is_linked = names::link((parent, target), (parent, aside)).is_ok();
        if !is_linked {
            names::rename((parent, target), (parent, aside))?;
        }
        if let Err(error) = self.rename_over(parent, target) {
            _ = match is_linked {
                true => names::unlink((parent, aside)),
                false => names::rename((parent, aside), (parent, target)),
            };
            return Err(error);
        }
        self.name = Some((holder, old));
        Ok(())
    }

    /// Moves the file that was set aside back to the target.
    pub(super) fn restore(&mut self, parent: BorrowedFd<'_>, target: &OsStr) -> Result<(), Errno> {
        if let Some((_, old)) = &self.name {
            names::rename((parent, OsStr::new(old)), (parent, target))?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some((parent, name)) = &self.name {
            _ = names::unlink((parent.as_fd(), OsStr::new(name)));
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) fn nameless(parent: BorrowedFd<'_>, mode: Mode) -> Option<OwnedFd> {
    static CAN_BE_NAMED: LazyLock<bool> = LazyLock::new(|| rustix::fs::stat(names::OWN_FILES).is_ok());
    if !*CAN_BE_NAMED {
        return None;
    }
    #[cfg(test)]
    names::plain().ok()?;
    // openat(2) with O_TMPFILE fails on an O_PATH handle with an empty path; with "." it works.
    rustix::fs::openat(parent, ".", OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, mode).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn nameless(_: BorrowedFd<'_>, _: Mode) -> Option<OwnedFd> {
    None
}

/// A name that no other file in the directory has.
pub(super) fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!(".beamai-{random:016x}-{}.tmp", COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    /// A directory and a draft in it that has a name from the start, as on file systems without O_TMPFILE.
    fn named() -> (tempfile::TempDir, File, Draft) {
        let dir = tempfile::tempdir().unwrap();
        let parent = File::open(dir.path()).unwrap();
        let mut draft = Draft::named(parent.as_fd(), Mode::from_raw_mode(0o600)).unwrap();
        draft.file.write_all(b"new").unwrap();
        (dir, parent, draft)
    }

    fn names(dir: &tempfile::TempDir) -> Vec<String> {
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_draft_with_a_name_takes_a_free_place() {
        let (dir, parent, mut draft) = named();
        draft.place_anew(parent.as_fd(), OsStr::new("f")).unwrap();
        drop(draft);
        assert_eq!(names(&dir), ["f"]);
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"new");
    }

    #[test]
    fn a_draft_with_a_name_leaves_a_taken_place_alone_and_goes_away() {
        let (dir, parent, mut draft) = named();
        fs::write(dir.path().join("f"), "old").unwrap();
        assert_eq!(draft.place_anew(parent.as_fd(), OsStr::new("f")), Err(Errno::EXIST));
        drop(draft);
        assert_eq!(names(&dir), ["f"]);
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"old");
    }

    #[test]
    fn a_draft_with_a_name_replaces_a_file() {
        let (dir, parent, mut draft) = named();
        fs::write(dir.path().join("f"), "old").unwrap();
        draft.rename_over(parent.as_fd(), OsStr::new("f")).unwrap();
        drop(draft);
        assert_eq!(names(&dir), ["f"]);
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"new");
    }
}
