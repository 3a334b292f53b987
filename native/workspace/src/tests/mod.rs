//! The guarantees of the workspace, tested on a real file system.

mod batch;
mod confinement;
mod journal;
mod race;
mod replacement;

use super::{Expected, Workspace, WorkspacePath};
use beamai_base::{Reason, Result};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A workspace `ws` with a file `in.txt`, beside a directory `ws-evil` with a file `secret`.
struct Fixture {
    dir: TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["ws", "ws-evil"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("ws/in.txt"), "inside").unwrap();
        fs::write(dir.path().join("ws-evil/secret"), "outside").unwrap();
        let workspace = Workspace::open(&dir.path().join("ws")).unwrap();
        Self { dir, workspace }
    }

    /// A path in the workspace, links resolved.
    fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.workspace.path().with_file_name("ws-evil").join(name)
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    fn parse_path(&self, text: &str) -> WorkspacePath {
        self.workspace.parse_path(text).unwrap()
    }

    fn read(&self, text: &str) -> Result<String> {
        let (mut file, _) = self.workspace.parse_path(text)?.open_file()?;
        let mut content = String::new();
        file.read_to_string(&mut content).unwrap();
        Ok(content)
    }

    fn write(&self, text: &str, content: &str) -> Result<()> {
        let path = self.workspace.parse_path(text)?;
        let mut replacement = path.replace()?;
        replacement.file().write_all(content.as_bytes()).unwrap();
        replacement.commit(Expected::Anything)
    }

    fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T>) -> Reason {
    result.unwrap_err().reason
}
