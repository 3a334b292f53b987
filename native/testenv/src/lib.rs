//! A workspace for one test, and calls in it.

use beamai_base::ToolError;
use beamai_tool::{CallContext, Interrupt, Operation, Tool, ToolBinding};
use beamai_workspace::Workspace;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A workspace for one test.
pub struct TestEnv {
    /// Its directory.
    pub dir: tempfile::TempDir,
    /// The context of calls.
    pub cx: CallContext,
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl TestEnv {
    /// An empty workspace.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        Self { dir, cx }
    }

    /// A workspace with these files; parent directories are created.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let env = Self::new();
        files.iter().for_each(|(path, content)| env.file(path, content));
        env
    }

    /// Absolute path of a path in the workspace.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a file and creates its parent directories.
    pub fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Makes a symbolic link in the workspace.
    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    /// Makes a named pipe.
    pub fn fifo(&self, path: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, self.path(path), kind, mode, 0).unwrap();
    }

    /// Runs an operation as a tool with these arguments.
    pub fn try_call<O>(&self, args: Value) -> Result<Value, ToolError>
    where
        O: Operation + DeserializeOwned + JsonSchema,
    {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        ToolBinding::<O>::new("tool_under_test", "").execute(args, &self.cx).map_err(|stop| match stop {
            Interrupt::Failed(error) => error,
            Interrupt::Defer | Interrupt::Question(_) | Interrupt::Delegate(_) | Interrupt::Consult(_) => {
                panic!("a search neither moves nor asks")
            }
        })
    }

    /// Runs an operation that must succeed.
    pub fn call<O>(&self, args: Value) -> Value
    where
        O: Operation + DeserializeOwned + JsonSchema,
    {
        self.try_call::<O>(args).unwrap()
    }
}

/// Encodings: label, a text that makes the detection certain, and letters that the encoding has.
pub const ENCODINGS: [(&str, &str, &str); 9] = [
    ("utf-8", "", "aä漢😀\\+- @"),
    ("utf-8", "\u{FEFF}", "aä漢\\"),
    ("utf-16le", "\u{FEFF}", "aä漢😀\u{A0A}\u{D00}"),
    ("utf-16be", "\u{FEFF}", "aä漢😀\u{A0A}\u{A00}"),
    ("windows-1252", "un été à la plage, où les élèves français rêvent déjà de Noël\n", "aéàü\\"),
    ("gbk", "中华人民共和国的首都是北京，这是一个中文文件，内容是文字。\n", "a中文汉字啊\\"),
    ("shift_jis", "これは日本語のテキストです。漢字とカタカナもあります。\n", "aソ表能あア\\"),
    ("big5", "這是一個繁體中文的文件，內容是文字，台灣的首都是台北。\n", "a功許蓋文字\\"),
    ("euc-kr", "이것은 한국어로 쓰여진 문서입니다. 내용은 글자입니다.\n", "a한국어가나\\"),
];
