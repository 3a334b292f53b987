//! The file tools as they are called.

mod cached;
mod edit;
mod large;
mod placeholder;
mod property;
mod read;
mod seen_files;
mod together;
mod write;

use crate::{FileEdit, FileRead, FileWrite};
use beamai_base::{Reason, ToolError};
use beamai_tool::{CallContext, Interrupt, Tool, ToolBinding};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

/// The tool of a name.
fn tool(name: &str) -> Box<dyn Tool> {
    match name {
        "file_read" => Box::new(ToolBinding::<FileRead>::new("file_read", "")),
        "file_write" => Box::new(ToolBinding::<FileWrite>::new("file_write", "")),
        "file_edit" => Box::new(ToolBinding::<FileEdit>::new("file_edit", "")),
        "file_patch" => Box::new(ToolBinding::<beamai_patch::FilePatch>::new("file_patch", "")),
        other => panic!("there is no tool {other} here"),
    }
}

/// A workspace and what calls in it may use.
struct Fixture {
    dir: TempDir,
    cx: CallContext,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        Self { dir, cx }
    }

    /// A scene with one file `f`.
    fn with(content: impl AsRef<[u8]>) -> Self {
        let fixture = Self::new();
        fixture.put("f", content);
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn call(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        let args = args.as_object().unwrap().clone();
        match self::tool(tool).execute(args, &self.cx) {
            Ok(value) => Ok(value),
            Err(Interrupt::Failed(error)) => Err(error),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn read(&self, args: Value) -> Value {
        self.call("file_read", args).unwrap()
    }

    fn write(&self, args: Value) -> Value {
        self.call("file_write", args).unwrap()
    }

    fn edit(&self, args: Value) -> Value {
        self.call("file_edit", args).unwrap()
    }

    /// The error of a call that must fail and change nothing of `f`.
    fn refused(&self, tool: &str, args: Value) -> ToolError {
        let before = std::fs::read(self.path("f")).ok();
        let error = self.call(tool, args).unwrap_err();
        assert_eq!(std::fs::read(self.path("f")).ok(), before, "it changed the file");
        let names = std::fs::read_dir(self.dir.path()).unwrap();
        assert!(names.flatten().all(|name| !name.file_name().to_string_lossy().contains("beamai")));
        error
    }

    /// The reason and the message of a refused edit of `f`.
    fn refused_edit(&self, old: &str, new: &str) -> (Reason, String) {
        let error = self.refused("file_edit", json!({"path": "f", "old_string": old, "new_string": new}));
        (error.reason, error.message)
    }
}

/// Some text in an encoding, with a mark if one is written in it.
fn encoded(label: &str, text: &str) -> Vec<u8> {
    beamai_text::Charset::labelled(label, b"").unwrap().encode(text).unwrap().into_owned()
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
