//! A directory tree made for one test, and calls on it.

use crate::catalogue;
use crate::context::{CallContext, Stop};
use crate::error::ToolError;
use crate::workspace::Workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(crate) struct TestEnv {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) cx: CallContext,
}

impl TestEnv {
    /// An empty workspace.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        Self { dir, cx }
    }

    /// A workspace with these files; directories on the way are made.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let env = Self::new();
        files.iter().for_each(|(path, content)| env.file(path, content));
        env
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn fifo(&self, path: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, self.path(path), kind, mode, 0).unwrap();
    }

    /// Calls a tool of the dialect `beamai`.
    pub(crate) fn try_call(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        let tool = catalogue::find(tool, Some("beamai")).unwrap();
        let Value::Object(args) = args else { panic!("arguments are an object") };
        tool.execute(args, &self.cx).map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::Defer | Stop::Question(_) | Stop::Delegate(_) | Stop::Consult(_) => {
                panic!("a search neither moves nor asks")
            }
        })
    }

    /// Calls a tool that must succeed.
    pub(crate) fn call(&self, tool: &str, args: Value) -> Value {
        self.try_call(tool, args).unwrap()
    }
}

/// Encodings: the label, a beginning that makes the text certain to be detected, and letters that it holds.
pub(crate) const ENCODINGS: [(&str, &str, &str); 9] = [
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
