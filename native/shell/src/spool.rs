//! The file for output that does not fit into a result.

use beamai_base::{Result, ToolError, describe, temp_dir};
use beamai_workspace::{Workspace, WorkspacePath, encode_path};
use rustix::fs::Mode;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What is said where no file is kept.
const NONE_KEPT: &str = "no file has the rest, because this call keeps none; redirect the command's output into a file of the workspace";

/// Everything that a command prints, both streams in order of arrival: in memory at first, in a file once there is
/// more.
#[derive(Debug)]
pub(super) struct Spool {
    /// The directory for the file; `None` for this program's own.
    dir: Option<WorkspacePath>,
    memory: Vec<u8>,
    file: Option<File>,
    path: Option<String>,
    written: u64,
    /// Maximum bytes of the file; with 0 there is no file.
    most: u64,
    /// Why the file is incomplete.
    lacks: Option<String>,
}

impl Spool {
    /// A spool for a command in this workspace. The file is created in the session's temporary directory, if there is
    /// one: the session's file tools can read it there, and it is removed with the session.
    pub(super) fn new(workspace: &Workspace, most: u64) -> Self {
        let dir = workspace.temp();
        Self { dir, memory: Vec::new(), file: None, path: None, written: 0, most, lacks: None }
    }

    /// Appends bytes. `needs_file` says that results omit some of the bytes so far.
    pub(super) fn take(&mut self, bytes: &[u8], needs_file: bool) {
        if self.lacks.is_some() {
            return;
        }
        if self.file.is_some() {
            return self.write(bytes);
        }
        self.memory.extend_from_slice(bytes);
        if needs_file {
            self.begin();
        }
    }

    /// Whether a file would be removed with a session.
    pub(super) fn is_in_session(&self) -> bool {
        self.dir.is_some() && self.most > 0
    }

    /// The path of the file, if there is one.
    pub(super) fn path(&self) -> Option<String> {
        self.path.clone()
    }

    /// Why the file is incomplete or missing, if it is.
    pub(super) fn lacks(&self) -> Option<String> {
        self.lacks.clone()
    }

    /// Releases file, directory and memory. Nothing may be appended afterwards.
    pub(super) fn close(&mut self) {
        self.memory = Vec::new();
        self.file = None;
        self.dir = None;
    }

    fn begin(&mut self) {
        if self.most == 0 {
            self.lacks = Some(NONE_KEPT.to_owned());
            return self.close();
        }
        let memory = std::mem::take(&mut self.memory);
        match create(self.dir.as_ref()) {
            Ok((file, path)) => {
                (self.file, self.path) = (Some(file), Some(path));
                self.write(&memory);
            }
            Err(error) => self.lacks = Some(format!("there is no file: {error}")),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.most - self.written).unwrap_or(usize::MAX).min(bytes.len());
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(&bytes[..room]));
        self.written += room as u64;
        self.lacks = match written {
            Err(error) => Some(format!("the file could not be written to its end: {}", describe(&error))),
            Ok(()) if room < bytes.len() => {
                Some(format!("the file ends after {} bytes, the most that it may have", self.most))
            }
            Ok(()) => None,
        };
        if self.lacks.is_some() {
            self.close();
        }
    }
}

fn create(dir: Option<&WorkspacePath>) -> Result<(File, String)> {
    let dir = match dir {
        Some(dir) => dir.clone(),
        None => own_directory()?,
    };
    let file = dir.join(format!("output-{}.txt", super::random_name()?).as_ref());
    let path: PathBuf = file.absolute().components().collect();
    Ok((file.create_private()?, encode_path(&path)))
}

/// A directory of this process for the output of commands without a session. It is not removed: the caller has no other
/// access to the output.
fn own_directory() -> Result<WorkspacePath> {
    static OWN: Mutex<Option<Workspace>> = Mutex::new(None);
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let workspace = match own.take() {
        Some(workspace) => workspace,
        None => make_directory()?,
    };
    Ok(own.insert(workspace).top())
}

fn make_directory() -> Result<Workspace> {
    let path = temp_dir().join(format!("beamai-{}", super::random_name()?));
    rustix::fs::mkdir(&path, Mode::RWXU)
        .map_err(|errno| ToolError::io("create the directory", encode_path(&path), errno))?;
    Workspace::open(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool(most: u64) -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap().with_temp(dir.path()).unwrap();
        (dir, Spool::new(&workspace, most))
    }

    fn content(spool: &Spool) -> String {
        std::fs::read_to_string(spool.path().unwrap()).unwrap()
    }

    #[test]
    fn the_file_has_everything_from_the_start_and_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, mut spool) = spool(100);
        spool.take(b"one ", false);
        assert_eq!((spool.path(), std::fs::read_dir(&dir).unwrap().count()), (None, 0));
        spool.take(b"two ", true);
        spool.take(b"three", true);
        assert_eq!((content(&spool).as_str(), spool.lacks()), ("one two three", None));
        let mode = std::fs::metadata(spool.path().unwrap()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_file_has_a_largest_size_and_says_so() {
        let (_dir, mut spool) = spool(6);
        spool.take(b"123456", true);
        assert_eq!(spool.lacks(), None);
        spool.take(b"78", true);
        spool.take(b"9", true);
        assert_eq!(content(&spool), "123456");
        assert!(spool.lacks().unwrap().contains("after 6 bytes"));
    }

    #[test]
    fn where_no_file_can_be_made_the_answer_says_why() {
        let (dir, mut spool) = spool(6);
        dir.close().unwrap();
        spool.take(b"x", true);
        assert_eq!(spool.path(), None);
        assert!(spool.lacks().unwrap().starts_with("there is no file"), "{:?}", spool.lacks());
    }

    #[test]
    fn without_a_session_the_file_is_in_a_directory_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(&Workspace::open(dir.path()).unwrap(), 100);
        spool.take(b"x", true);
        assert_eq!(content(&spool), "x");
        std::fs::remove_file(spool.path().unwrap()).unwrap();
        std::fs::remove_dir(std::path::Path::new(&spool.path().unwrap()).parent().unwrap()).unwrap();
    }
}
