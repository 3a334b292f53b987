//! What a process notes about a directory for later ones of this user, beside the journals, where no command can read or
//! write.

use super::ledger::{Ledger, StateDir, outside_first};
use crate::{draft::fresh_name, names};
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// Suffix of a note.
const SUFFIX: &str = ".note";
/// Maximum size of a note, in bytes.
const MOST: u64 = 16 << 20;

/// The note about a directory.
pub fn read_note(directory: &Path) -> Option<Vec<u8>> {
    let (state_dir, name) = place(directory)?;
    state_dir.open().ok()?.read_note(&name).ok()
}

/// Replaces the note about a directory; an empty one is removed.
///
/// # Errors
/// If it cannot be kept, as where the user's state directory lies in that directory.
pub fn write_note(directory: &Path, text: &[u8]) -> io::Result<()> {
    let (state_dir, name) = place(directory).ok_or(io::ErrorKind::NotFound)?;
    state_dir.make()?.write_note(&name, text)
}

fn place(directory: &Path) -> Option<(&'static StateDir, OsString)> {
    let real = directory.canonicalize().ok()?;
    let stat = rustix::fs::stat(&real).ok()?;
    let [state_dir, _] = outside_first(std::slice::from_ref(&real));
    let name = format!("{:x}-{:x}{SUFFIX}", stat.st_dev, stat.st_ino);
    (!state_dir.real().starts_with(&real)).then(|| (state_dir, name.into()))
}

impl Ledger {
    fn read_note(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.dir, name, flags, Mode::empty())?);
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text)?;
        Ok(text)
    }

    fn write_note(&self, name: &OsStr, text: &[u8]) -> io::Result<()> {
        let dir = self.dir.as_fd();
        if text.is_empty() {
            return Ok(names::unlink((dir, name))?);
        }
        let mut draft = OsString::from(fresh_name());
        draft.push(super::ledger::UNFINISHED);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(dir, &draft, flags, Mode::from_raw_mode(0o600))?);
        let written = file.write_all(text).and_then(|()| Ok(names::rename((dir, &draft), (dir, name))?));
        if written.is_err() {
            _ = names::unlink((dir, &draft));
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = StateDir::new(dir.path().to_owned(), "own").make().unwrap();
        let read = || ledger.read_note("n".as_ref()).ok();
        assert_eq!(read(), None);
        for text in ["a", "bc"] {
            ledger.write_note("n".as_ref(), text.as_bytes()).unwrap();
            assert_eq!(read().as_deref(), Some(text.as_bytes()));
        }
        assert_eq!(dir.path().join("own/journals").read_dir().unwrap().count(), 1);
        ledger.write_note("n".as_ref(), b"").unwrap();
        assert_eq!(read(), None);
    }

    #[test]
    fn no_note_is_in_the_directory_that_it_is_about() {
        assert!(place(Path::new("/")).is_none());
    }
}
