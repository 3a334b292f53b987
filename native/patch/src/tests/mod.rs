//! The tool as it is called.

mod apply;
mod begin_patch;
mod large;
mod placeholder;
mod policy;
mod property;
mod refuse;

use crate::FilePatch;
use beamai_base::{Reason, ToolError};
use beamai_tool::{CallContext, Interrupt, Tool, ToolBinding};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A workspace and what calls in it may use.
struct Fixture {
    dir: TempDir,
    cx: CallContext,
}

/// What stands in a directory: content, mode and kind of everything in it.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn tree(dir: &Path) -> Tree {
    let mut tree = Tree::new();
    for entry in walkdir::WalkDir::new(dir).min_depth(1) {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().mode();
        let content = match () {
            () if entry.path_is_symlink() => {
                std::fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes()
            }
            () if entry.file_type().is_file() => std::fs::read(entry.path()).unwrap(),
            () => vec![],
        };
        tree.insert(entry.path().strip_prefix(dir).unwrap().to_owned(), (mode, content));
    }
    tree
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        Self { dir, cx }
    }

    /// A scene with these files.
    fn with<const N: usize>(files: [(&str, &str); N]) -> Self {
        let fixture = Self::new();
        for (name, content) in files {
            fixture.put(name, content);
        }
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn get(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    fn mode(&self, name: &str) -> u32 {
        self.path(name).metadata().unwrap().mode() & 0o7777
    }

    fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    /// Paths of everything there is.
    fn names(&self) -> Vec<String> {
        self.tree().into_keys().map(|path| path.into_os_string().into_string().unwrap()).collect()
    }

    fn tree(&self) -> Tree {
        tree(self.dir.path())
    }

    fn call(&self, args: Value) -> Result<Value, ToolError> {
        let args = args.as_object().unwrap().clone();
        match ToolBinding::<FilePatch>::new("file_patch", "").execute(args, &self.cx) {
            Ok(value) => Ok(value),
            Err(Interrupt::Failed(error)) => Err(error),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Applies a patch, after a dry run that must say the same and change nothing.
    fn apply(&self, patch: &str) -> Value {
        let before = self.tree();
        let dry =
            self.call(json!({"patch": patch, "dry_run": true})).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(self.tree(), before, "a dry run changed something");
        let mut value = self.call(json!({"patch": patch})).unwrap();
        assert_eq!((&dry["applied"], &value["applied"]), (&json!(false), &json!(true)));
        value["applied"] = json!(false);
        assert_eq!(dry, value);
        value
    }

    /// The error of a patch that must fail and change nothing.
    fn refused(&self, patch: &str) -> ToolError {
        let before = self.tree();
        let error = self.call(json!({"patch": patch})).unwrap_err();
        assert_eq!(self.tree(), before, "it changed something");
        let dry = self.call(json!({"patch": patch, "dry_run": true})).unwrap_err();
        assert_eq!(dry.reason, error.reason);
        error
    }
}
